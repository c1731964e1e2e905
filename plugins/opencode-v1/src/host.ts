/**
 * The parts of opencode v1 that this plugin uses, as 1.18.31 really behaves;
 * where the published types say otherwise, these are what the end-to-end tests
 * have seen.
 */

/** One rule of an agent or session; the last that matches wins. */
export interface HostRule {
  permission: string
  pattern: string
  action: "allow" | "deny" | "ask"
}

/** A session as the host knows it. */
export interface HostSession {
  id: string
  parentID?: string
  directory: string
  title?: string
  agent?: string
  permission?: HostRule[]
}

/** What the host's client answers; failures come as `error`, not as exceptions. */
export interface Answer<T> {
  data?: T
  error?: unknown
}

/** The host's client; every call is in process. */
export interface Client {
  session: {
    get(request: { path: { id: string }; query?: { directory?: string } }): Promise<Answer<HostSession>>
  }
  app: {
    agents(request?: { query?: { directory?: string } }): Promise<Answer<{ name: string; permission?: HostRule[] }[]>>
    log?(request: { body: { service: string; level: string; message: string } }): Promise<unknown>
  }
  tui: {
    showToast(request: {
      body: { title?: string; message: string; variant: string; duration?: number }
    }): Promise<unknown>
  }
  postSessionIdPermissionsPermissionId(request: {
    path: { id: string; permissionID: string }
    body: { response: "once" | "always" | "reject" }
  }): Promise<unknown>
}

/** What the host gives a plugin. */
export interface PluginInput {
  client: Client
  directory: string
  worktree: string
}

/** What `ctx.ask` takes. All four must be there: one `undefined` breaks the host's list of requests for everybody. */
export interface AskInput {
  permission: string
  patterns: string[]
  always: string[]
  metadata: Record<string, unknown>
}

/** What a tool is called with. */
export interface ToolContext {
  sessionID: string
  messageID: string
  /** Present, though not in the published types. */
  callID?: string
  agent: string
  directory: string
  abort: AbortSignal
  ask(input: AskInput): Promise<void>
}

/** What a tool gives back. */
export interface ToolResult {
  title?: string
  output: string
  metadata?: Record<string, unknown>
  /** Files that the model is shown after the output; the host gives them ids. */
  attachments?: { type: "file"; mime: string; url: string }[]
}

/** A tool. The host validates nothing: `args` only describes. */
export interface Tool {
  description: string
  args: Record<string, object>
  execute(args: unknown, ctx: ToolContext): Promise<ToolResult>
}

/** One event of the host's bus. */
export interface HostEvent {
  type: string
  properties: Record<string, unknown>
}

/** The hooks this plugin has. Those that the host never fires are not here. */
export interface Hooks {
  tool?: Record<string, Tool>
  event?(input: { event: HostEvent }): Promise<void>
  dispose?(): Promise<void>
  "chat.message"?(input: { sessionID: string; agent?: string }, output: { message?: { agent?: string } }): Promise<void>
  "experimental.chat.system.transform"?(input: { sessionID?: string }, output: { system: string[] }): Promise<void>
  "tool.definition"?(input: { toolID: string }, output: { description: string; jsonSchema?: object }): Promise<void>
  "tool.execute.after"?(
    input: { tool: string; sessionID: string; callID: string },
    output: { title?: string },
  ): Promise<void>
  "shell.env"?(input: { cwd: string; sessionID?: string }, output: { env: Record<string, string> }): Promise<void>
}
