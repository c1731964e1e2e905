/**
 * What a v2 server plugin is given: the types of opencode 2.0.x, Promise flavour, transcribed as facts. A member that
 * not every 2.0.x has is optional, so that a plugin is made to look before it uses it.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type JsonSchema = { [key: string]: unknown }

/** A standard schema that can also say itself as JSON schema. */
export interface StandardSchema {
  readonly "~standard": {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>
    readonly jsonSchema: {
      input(options: { target: string }): JsonSchema
      output(options: { target: string }): JsonSchema
    }
  }
}
export type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] }
export type ValueSchema = JsonSchema | StandardSchema

export type Cleanup = () => Promise<void> | void
export interface Plugin {
  readonly id: string
  readonly setup: (context: Context) => Promise<Cleanup | void> | Cleanup | void
}

export interface Registration {
  dispose(): Promise<void>
}
export type Hooks<Spec> = <N extends keyof Spec>(
  name: N,
  callback: (event: Spec[N]) => Promise<void> | void,
  options?: { providerID?: string },
) => Promise<Registration>
export type Transform<Editor> = (callback: (editor: Editor) => void) => Promise<Registration>

export interface LocationInfo {
  readonly directory: string
  readonly workspaceID?: string
  readonly project: { readonly id: string; readonly directory: string; readonly canonical?: string }
}
export interface LocationResponse<T> {
  readonly location: LocationInfo
  readonly data: T
}

export type Content = { type: "text"; text: string } | { type: "file"; uri: string; mime: string; name?: string }
export type Metadata = Record<string, any>
export interface ToolResult {
  output?: unknown
  content?: string | ReadonlyArray<Content>
  metadata?: Metadata
}
export interface ToolContext {
  readonly sessionID: string
  readonly agent: string
  readonly messageID: string
  readonly id: string
  readonly progress: (metadata: Metadata) => Promise<void>
  readonly signal?: AbortSignal
}
export interface ToolOptions {
  namespace?: string
  permission?: string
  codemode?: boolean
  pinned?: boolean
}
export interface ToolInfo {
  readonly name: string
  readonly description: string
  readonly input: ValueSchema
  readonly output?: ValueSchema
  readonly options?: ToolOptions
  readonly execute: (input: any, context: ToolContext) => Promise<ToolResult>
}
export type Mutable<T> = { -readonly [K in keyof T]: T[K] }
export type IdentifiedTool = Mutable<ToolInfo> & { readonly id: string }
export interface ToolEditor {
  list(): readonly IdentifiedTool[]
  get(id: string): IdentifiedTool | undefined
  namespace(namespace: { name: string; description: string }): void
  add(tool: ToolInfo): void
  update(id: string, update: (tool: Mutable<ToolInfo>) => void): void
  remove(id: string): void
}
export interface ToolBeforeEvent {
  tool: string
  readonly sessionID: string
  readonly agent: string
  readonly messageID: string
  readonly id: string
  input: any
}
export type ToolAfterEvent = {
  readonly tool: string
  readonly sessionID: string
  readonly agent: string
  readonly messageID: string
  readonly id: string
  readonly input: any
} & (
  | { readonly status: "completed"; result: ToolResult; error?: undefined }
  | { readonly status: "error"; error: { message: string; metadata?: Metadata }; result?: undefined }
)
export interface ToolDomain {
  readonly transform: Transform<ToolEditor>
  readonly reload: () => Promise<void>
  readonly list?: () => Promise<readonly IdentifiedTool[]>
  readonly hook: Hooks<{ "execute.before": ToolBeforeEvent; "execute.after": ToolAfterEvent }>
}

export interface ShellCreateEvent {
  command: string
  cwd: string
  timeout?: number
  shell: string
  env: Record<string, string | undefined>
}
export interface ShellDomain {
  readonly hook: Hooks<{ "create.before": ShellCreateEvent }>
}

export interface ModelRef {
  providerID: string
  id: string
  variant?: string
}
export interface SessionInfo {
  id: string
  parentID?: string
  projectID: string
  agent?: string
  model?: ModelRef
  title: string
  metadata?: Record<string, any>
  permissions?: PermissionRule[]
  location: { directory: string; workspaceID?: string }
  subpath?: string
  cost: number
  tokens: { input: number; output: number; reasoning: number; cache: { read: number; write: number } }
  time: { created: number; updated: number; archived?: number }
}
export interface ContextEvent {
  readonly sessionID: string
  readonly agent: string
  readonly model: ModelRef
  readonly kind: string
  system: { type: "text"; text: string }[]
  messages: unknown[]
  options: Record<string, any>
  tools: Record<string, { description: string; input: JsonSchema }>
}
export interface PromptEvent {
  readonly sessionID: string
  readonly messageID: string
  prompt: { text: string; files: unknown[]; agents: unknown[]; skills: unknown[] }
  metadata?: Record<string, any>
  delivery: "steer" | "queue"
}
export interface ModelRequestEvent {
  headers: Record<string, string>
  baseURL?: string
}
export interface SessionHooks {
  prompt: PromptEvent
  context: ContextEvent
  generate: any
  title: any
  compaction: any
  "model.request": ModelRequestEvent
  "http.request": any
  "http.response": any
  "experimental.ws.handshake": any
  "experimental.ws.send": any
  "experimental.ws.receive": any
  retry: any
}
export interface SessionDomain {
  create(input?: {
    id?: string
    title?: string
    agent?: string
    model?: ModelRef
    metadata?: Record<string, any>
    permissions?: PermissionRule[]
    location?: { directory: string; workspaceID?: string }
  }): Promise<SessionInfo>
  get(input: { sessionID: string }): Promise<SessionInfo>
  switchAgent(input: { sessionID: string; agent: string }): Promise<void>
  switchModel(input: { sessionID: string; model: ModelRef }): Promise<void>
  prompt(input: { sessionID: string; text: string; [more: string]: unknown }): Promise<unknown>
  generate(input: { sessionID: string; prompt: string; [more: string]: unknown }): Promise<{ text: string }>
  command(input: { sessionID: string; name: string; arguments?: string }): Promise<unknown>
  synthetic(input: { sessionID: string; text: string }): Promise<unknown>
  interrupt(input: { sessionID: string; resume?: boolean; continue?: boolean }): Promise<{ interrupted: boolean }>
  move(input: { sessionID: string; directory: string; workspaceID?: string }): Promise<unknown>
  wait(input: { sessionID: string }): Promise<void>
  context(input: { sessionID: string }): Promise<readonly unknown[]>
  update?(input: {
    sessionID: string
    title?: string
    metadata?: Record<string, any>
    permissions?: PermissionRule[]
  }): Promise<void>
  remove?(input: { sessionID: string }): Promise<void>
  compact?(input: { sessionID: string }): Promise<void>
  readonly hook: Hooks<SessionHooks>
}

export type PermissionEffect = "allow" | "ask" | "deny"
export interface PermissionRule {
  action: string
  resource: string
  effect: PermissionEffect
}
export interface PermissionSource {
  type: "tool"
  messageID: string
  id: string
}
export interface PermissionRequest {
  id: string
  sessionID: string
  action: string
  resources: readonly string[]
  save?: readonly string[]
  metadata?: Record<string, any>
  message?: string
  /** The text's name in 2.0.3. */
  reason?: string
  source?: PermissionSource
}
export type PermissionDecision = "once" | "always" | "reject"
export interface PermissionEvaluateEvent {
  readonly sessionID: string
  readonly agent?: string
  readonly action: string
  readonly resources: readonly string[]
  readonly metadata?: Record<string, any>
  readonly source?: PermissionSource
  effect: PermissionEffect
  message?: string
}
export interface PermissionDomain {
  list(input: { sessionID: string }): Promise<readonly PermissionRequest[]>
  get(input: { sessionID: string; requestID: string }): Promise<PermissionRequest>
  /** The answer's key is `decision` from 2.0.18 on and `reply` before. */
  reply(input: {
    sessionID: string
    requestID: string
    decision?: PermissionDecision
    reply?: PermissionDecision
    message?: string
  }): Promise<void>
  /** 2.0.3 only. */
  rules?(input: { sessionID: string; permissions: PermissionRule[] }): Promise<void>
  readonly hook: Hooks<{ evaluate: PermissionEvaluateEvent }>
}

export type McpProtocol = "legacy" | "auto" | "2026-07-28"
/** Milliseconds. */
export interface McpTimeout {
  startup?: number
  catalog?: number
  execution?: number
}
interface McpCommon {
  disabled?: boolean
  codemode?: boolean
  timeout?: McpTimeout
  protocol?: McpProtocol
}
export interface McpLocalConfig extends McpCommon {
  type: "local"
  command: string[]
  cwd?: string
  environment?: Record<string, string>
}
export interface McpRemoteConfig extends McpCommon {
  type: "remote"
  url: string
  headers?: Record<string, string>
  oauth?: false | Record<string, unknown>
}
export type McpServerConfig = McpLocalConfig | McpRemoteConfig
export type McpStatus =
  | { status: "connected" | "pending" | "disabled" | "needs_auth" | "needs_client_registration" }
  | { status: "failed"; error: string }
export type McpServerInfo = { name: string } & McpStatus
export interface McpEditor {
  list(): [name: string, config: McpServerConfig][]
  get(name: string): McpServerConfig | undefined
  set(name: string, config: McpServerConfig): void
  update(name: string, update: (config: Mutable<McpServerConfig>) => void): void
  remove(name: string): void
}
export interface McpDomain {
  list(): Promise<LocationResponse<McpServerInfo[]>>
  reload(): Promise<void>
  readonly transform: Transform<McpEditor>
}

export interface HostEvent {
  id: string
  created?: number
  type: string
  data: any
  location?: { directory: string; workspaceID?: string }
  metadata?: Record<string, any>
}
export interface EventDomain {
  subscribe(options?: { signal?: AbortSignal }): AsyncIterable<HostEvent>
}
export interface StorageDomain {
  get(key: string): Promise<unknown | undefined>
  set(key: string, value: Json): Promise<void>
  remove(key: string): Promise<void>
  scan(options: { prefix: string; after?: string; limit?: number }): Promise<{
    entries: { key: string; value: unknown }[]
    next?: string
  }>
}

export interface RpcDefinition {
  id: string
  methods: Record<string, { input: ValueSchema; output: ValueSchema; errors?: Record<string, ValueSchema> }>
  events?: Record<string, { schema: ValueSchema }>
}
export type RpcHandler = (
  input: any,
  context: { signal: AbortSignal; error(type: string, message: string, data?: unknown): unknown },
) => Promise<any>
export type RpcClient = { [method: string]: (input?: any, options?: { signal?: AbortSignal }) => Promise<any> } & {
  events: {
    on(name: string, handler: (data: any) => void, options?: { signal?: AbortSignal }): () => void
    subscribe(name: string, options?: { signal?: AbortSignal }): AsyncIterable<any>
  }
}
export interface RpcRegistration extends Registration {
  events: { emit(name: string, data: unknown): Promise<void> }
}
export interface RpcDomain {
  (definition: RpcDefinition): RpcClient
  register(definition: RpcDefinition, handlers: Record<string, RpcHandler>): Promise<RpcRegistration>
}

/** A domain that a plugin reads and edits as named values: agents, commands, skills and the like. */
export interface ValueEditor {
  list(): [name: string, value: any][]
  get(name: string): any
  set(name: string, value: any): void
  update(name: string, update: (value: any) => void): void
  remove(name: string): void
}
export interface ValueDomain {
  list(): Promise<LocationResponse<any[]>>
  reload(): Promise<void>
  readonly transform: Transform<ValueEditor>
  get?(input: { name: string }): Promise<any>
  default?(): Promise<any>
}

export interface Context {
  readonly app: { readonly name?: string; readonly version: string; readonly channel: string }
  readonly location: LocationInfo
  readonly options: Record<string, any>
  readonly agent: ValueDomain
  readonly aisdk: { hook(name: "sdk" | "language", callback: (event: any) => void): Promise<Registration> }
  readonly command: ValueDomain
  readonly event: EventDomain
  readonly generate: { text(input: { prompt: string; model?: ModelRef }): Promise<{ text: string }> }
  readonly integration: ValueDomain
  readonly mcp: McpDomain
  readonly permission: PermissionDomain
  readonly plugin: { list(): Promise<LocationResponse<PluginState[]>> }
  readonly reference: ValueDomain
  readonly rpc: RpcDomain
  readonly session: SessionDomain
  readonly shell: ShellDomain
  readonly skill: ValueDomain
  readonly storage: StorageDomain
  readonly tool: ToolDomain
  readonly vcs: Record<string, unknown>
  readonly websearch: Record<string, unknown>
  readonly model?: ValueDomain
  readonly provider?: ValueDomain
  readonly catalog?: ValueDomain
  readonly worktree?: Record<string, unknown>
}

export type PluginState =
  { id: string; status: "active" } | { id: string; status: "failed"; error: string; ref: string }
