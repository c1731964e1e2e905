/**
 * The parts of opencode v2 that this plugin uses, as 2.0.x gives them to a
 * Promise plugin. What not every release has is optional: it is looked for, the
 * version is never asked.
 */

/** Undoes one registration; may be called twice. */
export interface Registration {
  dispose(): Promise<void>
}

type Hook<Spec> = <N extends keyof Spec>(
  name: N,
  callback: (event: Spec[N]) => Promise<void> | void,
) => Promise<Registration>

/** Its callback is replayed whenever the host rebuilds the domain: synchronous, repeatable, without side effects. */
type Transform<Editor> = (callback: (editor: Editor) => void) => Promise<Registration>

/** One rule of an agent or session; the last that matches wins. */
export interface HostRule {
  action: string
  resource: string
  effect: "allow" | "ask" | "deny"
}

/** A session as the host knows it. */
export interface HostSession {
  id: string
  parentID?: string
  agent?: string
  title?: string
  permissions?: HostRule[]
  location: { directory: string }
}

/** An agent; its rules are merged with the configuration's. */
export interface HostAgent {
  id?: string
  name?: string
  permissions?: HostRule[]
}

/** What a tool is called with. `signal` is absent in early releases; nothing else is ever there. */
export interface ToolContext {
  readonly sessionID: string
  readonly agent: string
  readonly messageID: string
  readonly id: string
  readonly progress: (metadata: Record<string, unknown>) => Promise<void>
  readonly signal?: AbortSignal
}

/** What a tool gives back. */
export interface ToolResult {
  content?: string | readonly unknown[]
  output?: unknown
  metadata?: Record<string, unknown>
}

/** A tool. With a plain JSON Schema the host validates nothing. */
export interface Tool {
  name: string
  description: string
  input: object
  options?: { codemode?: boolean; permission?: string }
  execute(input: any, context: ToolContext): Promise<ToolResult>
}

/** What hooks of a tool call have in common. Fields but `input` are the host's alone. */
interface ToolEvent {
  readonly tool: string
  readonly sessionID: string
  readonly messageID: string
  readonly id: string
}

/** execute.before: `input` is what executes, and is replaced, never changed in place. */
export interface BeforeEvent extends ToolEvent {
  input: unknown
}

/** execute.after; it does not come after a Promise tool has rejected. */
export interface AfterEvent extends ToolEvent {
  readonly status: "completed" | "error"
}

/** create.before: no session, no call, no signal. */
export interface ShellEvent {
  command: string
  readonly cwd: string
  env: Record<string, string | undefined>
}

/** One permission check of the host. */
export interface EvaluateEvent {
  readonly sessionID: string
  readonly agent?: string
  readonly action: string
  readonly resources: readonly string[]
  readonly metadata?: Record<string, unknown>
  effect: "allow" | "ask" | "deny"
  message?: string
}

/** One model request. */
export interface ContextEvent {
  readonly sessionID: string
  readonly agent?: string
  system: { type: "text"; text: string }[]
}

/** One event of the host's bus, which spans all of its directories. */
export interface HostEvent {
  type: string
  data?: any
}

/** The configuration of a local MCP server. */
export interface McpServer {
  type: "local"
  command: string[]
  environment?: Record<string, string>
  codemode?: boolean
}

/** A definition for rpc; the schemas are JSON Schemas. */
export interface RpcDefinition {
  id: string
  methods: Record<string, { input: object; output: object }>
  events: Record<string, { schema: object }>
}

/** What `setup` is given. */
export interface Context {
  readonly app: { readonly version: string }
  readonly location: { readonly directory: string; readonly project: { readonly directory: string } }
  readonly options: Record<string, unknown>
  readonly agent: { list(): Promise<{ data: HostAgent[] }> }
  readonly event: { subscribe(options?: { signal?: AbortSignal }): AsyncIterable<HostEvent> }
  readonly generate: { text(input: { prompt: string }): Promise<{ text: string }> }
  readonly mcp: {
    reload(): Promise<void>
    transform: Transform<{ set(name: string, config: McpServer): void }>
  }
  readonly permission: {
    reply(input: {
      sessionID: string
      requestID: string
      decision: "once" | "always" | "reject"
      /** The name of `decision` before 2.0.18. */
      reply: "once" | "always" | "reject"
      message?: string
    }): Promise<void>
    readonly hook: Hook<{ evaluate: EvaluateEvent }>
  }
  readonly rpc: {
    register(
      definition: RpcDefinition,
      handlers: Record<string, (input: any) => Promise<unknown>>,
    ): Promise<Registration & { events: { emit(name: string, data: unknown): Promise<void> } }>
  }
  readonly session: {
    get(input: { sessionID: string }): Promise<HostSession>
    interrupt(input: { sessionID: string }): Promise<unknown>
    readonly hook: Hook<{ prompt: { readonly sessionID: string }; context: ContextEvent }>
  }
  readonly shell: { readonly hook: Hook<{ "create.before": ShellEvent }> }
  readonly tool: {
    readonly transform: Transform<{ add(tool: Tool): void; get(id: string): Tool | undefined }>
    readonly hook: Hook<{ "execute.before": BeforeEvent; "execute.after": AfterEvent }>
  }
}

/** What the host calls when it unloads the plugin, and waits for. */
export type Cleanup = () => Promise<void>
