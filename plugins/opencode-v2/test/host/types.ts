/** How a test drives the contract host. */

import type {
  Content,
  HostEvent,
  LocationInfo,
  McpServerConfig,
  McpServerInfo,
  McpTimeout,
  Metadata,
  PermissionDecision,
  PermissionEffect,
  PermissionRequest,
  PermissionRule,
  PluginState,
  RpcClient,
  RpcDefinition,
  SessionInfo,
} from "./contract.ts"
import type { Release, Switches } from "./switches.ts"
import type { Tui, TuiOptions } from "./tui.ts"

/**
 * A plugin to load. A string or `package` is a configuration entry: a path (`./x`, `../x`, `file://…`, absolute; against
 * `directory`), the name of a package in `packages`, or a removal (`-name`, `-*`, `-prefix.*`). `module` is what an import
 * of the entry gives, `{default: …}`; a function is called anew for every (re)load, as a module is evaluated anew.
 */
export type PluginSource =
  | string
  | { package: string; options?: Record<string, any> }
  | { module: object | (() => object | Promise<object>); name?: string; options?: Record<string, any> }

export interface AgentConfig {
  permissions?: PermissionRule[]
  /** False: without the built-in rules (`*` allow, `external_directory` ask, `.env` files ask). Default true. */
  defaults?: boolean
}

export interface McpConfig {
  servers?: Record<string, McpServerConfig>
  /** Sits between the defaults and a server's own. */
  timeout?: McpTimeout
}

export interface HostConfig {
  /** Rules of every agent, after the built-in ones. */
  permissions?: PermissionRule[]
  /** Agents besides `build`, which is always there and the default. */
  agents?: Record<string, AgentConfig>
  /** One document, or several from low to high precedence: a later one replaces a server's whole entry. */
  mcp?: McpConfig | McpConfig[]
}

export interface HostOptions {
  /** Default 2.0.23. */
  version?: Release
  /** Overrides of single switches. */
  switches?: Partial<Switches>
  /** Absolute. The first location, and what relative plugin paths are relative to. */
  directory: string
  /** The roots of projects: a directory belongs to the longest that holds it, else it is its own project. */
  projects?: string[]
  /** Configuration entries, in order. */
  plugins?: PluginSource[]
  /** Config roots whose `plugin/` and `plugins/` folders are searched, before the entries. */
  roots?: string[]
  /** The folder whose `node_modules` has named packages. */
  packages?: string
  config?: HostConfig
  /** The environment of the host's process. Default: that of the test, without OPENCODE_* and TENON_*. */
  env?: Record<string, string | undefined>
  /** Serve HTTP on a loopback port with Basic auth (user `opencode`). Default false. */
  http?: boolean
}

/** One call of the model. In Code Mode `tool` is `execute` and `input` is `{code}`. */
export interface Call {
  tool: string
  input?: unknown
  /** The call id of the provider. Default: made up. */
  id?: string
}

/** What came of a call: as the model sees it, and what the host keeps. */
export interface CallResult {
  id: string
  messageID: string
  tool: string
  status: "completed" | "error"
  /** The text that the model sees: the text parts, or the message of the error. */
  text: string
  content: Content[]
  output?: unknown
  metadata?: Metadata
  error?: { type: string; message: string }
  /** The value of a program, when the tool was `execute`. */
  value?: unknown
  /** The calls of a program, when the tool was `execute`. */
  toolCalls?: { tool: string; status: string; input?: unknown }[]
  /** The metadata of each `progress`, in order. */
  progress: Metadata[]
}

export interface StepOptions {
  /** The request whose tools are called. Default: a request made now. */
  request?: ModelRequest
  /**
   * The order in which the calls' hooks run, by index of the call: `before:0`, `before:1`, `create:1`, `create:0`.
   * A hook that is not named runs when it comes.
   */
  order?: `${"before" | "create"}:${number}`[]
}

export interface StepResult {
  messageID: string
  results: CallResult[]
  /** The turn is over: the user declined without a message, or interrupted. */
  ended: boolean
  interrupted: boolean
}

/** What the host sends to a model. */
export interface ModelRequest {
  sessionID: string
  agent: string
  /** The system parts: the host's own, the catalogue of Code Mode, then what `context` hooks add. */
  system: string[]
  /** The direct tools, as named in this request, in order. */
  tools: { name: string; description: string; input: unknown }[]
  /** The text that lists the tools of Code Mode; empty when there is none. */
  catalogue: string
  messages: unknown[]
  options: Record<string, any>
  headers: Record<string, string>
}

export interface Turn {
  /** One model step. @throws when the turn has ended. */
  step(calls: Call[], options?: StepOptions): Promise<StepResult>
}

export interface SessionInput {
  directory?: string
  workspaceID?: string
  /** A child has the rules and, unless said otherwise, the location and agent of its parent. */
  parentID?: string
  agent?: string
  permissions?: PermissionRule[]
  title?: string
  id?: string
}

export type SessionRef = string | { id: string }

export interface Sessions {
  create(input?: SessionInput): Promise<SessionInfo>
  get(session: SessionRef): SessionInfo
  /** Publishes `session.moved`; from then on the session is served by the plugins of its new location. */
  move(session: SessionRef, directory: string): Promise<void>
  /** Publishes `session.deleted`. */
  remove(session: SessionRef): Promise<void>
  /** As a client does with the environment route: replaces the whole environment of the session's shells. */
  environment(session: SessionRef, variables: Record<string, string>): void
  /** The calls as the transcript has them. */
  transcript(session: SessionRef): { id: string; tool: string; input: unknown; result?: CallResult }[]
}

export interface ShellResult {
  command: string
  cwd: string
  /** The environment that the process was started with. */
  env: Record<string, string>
  output: string
  exit: number | null
}

export interface Shells {
  /** `!command`: fires `create.before`, no tool hook and no permission. */
  user(session: SessionRef, command: string): Promise<ShellResult>
  /** A terminal: fires no hook, knows no session. */
  pty(directory: string, command: string): Promise<ShellResult>
  /** Every shell that was spawned, in order. */
  readonly spawned: readonly ShellResult[]
}

/** What the user does with a permission request: an answer now, or nothing (it waits for `reply`). */
export type Answer = { decision: PermissionDecision; message?: string } | PermissionDecision | undefined | void

export interface Form {
  id: string
  /** `global` for the questions of a location's MCP servers. */
  sessionID: string
  title: string
  message: string
  mode: "form" | "url" | "question"
  /** The schema, the url or the questions. */
  fields: any
}
export type FormAnswer = { accept: any } | "dismiss" | undefined | void

export interface User {
  /** Answers every request from now on (and those that wait). Default: nobody answers. */
  answers(script: (request: PermissionRequest) => Answer | Promise<Answer>): void
  /** Answers every form from now on (and those that wait). Default: nobody answers. */
  fills(script: (form: Form) => FormAnswer | Promise<FormAnswer>): void
  /** Requests that wait. */
  pending(): readonly PermissionRequest[]
  forms(): readonly Form[]
  /** The next request that waits, now or within 10 s. */
  asked(matches?: (request: PermissionRequest) => boolean): Promise<PermissionRequest>
  /** The next form that waits, now or within 10 s. */
  shown(matches?: (form: Form) => boolean): Promise<Form>
  reply(request: string | PermissionRequest, decision: PermissionDecision, message?: string): Promise<void>
  fill(form: string | Form, answer: { accept: any } | "dismiss"): void
}

export interface EventLog {
  /** Everything that was published, in order. */
  readonly all: readonly HostEvent[]
  of(type: string): HostEvent[]
  /** The first event that matches, past or within 10 s. */
  waitFor(type: string, matches?: (event: HostEvent) => boolean): Promise<HostEvent>
  /** As a client hears them. */
  listen(listener: (event: HostEvent) => void): () => void
}

/** One directory (and workspace) with its own instance of every plugin. */
export interface Location {
  readonly info: LocationInfo
  plugins(): readonly PluginState[]
  /** The state of one plugin. */
  plugin(id: string): PluginState | undefined
  /** Loads the plugin and those after it anew, as a change of its source does. */
  reload(id: string): Promise<void>
  /** Takes the plugin out of the configuration of this location. */
  unload(id: string): Promise<void>
  /** The configuration changed: activates this list. */
  configure(plugins: PluginSource[]): Promise<void>
  /** The tools that are registered, by effective id. */
  tools(): Promise<{ id: string; name: string; namespace?: string; codemode: boolean; permission: string }[]>
  mcp: {
    servers(): McpServerInfo[]
    /** The configuration with the transforms of plugins applied. */
    configs(): Promise<Record<string, McpServerConfig>>
    /** Every connection is up or failed, and tools are registered. Within 20 s. */
    settled(): Promise<void>
    /** How often the host has connected to the server. */
    connects(name: string): number
  }
  /** A client of RPC, as the TUI has. */
  rpc(definition: RpcDefinition): RpcClient
  shutdown(): Promise<void>
}

export interface LogEntry {
  level: "info" | "warn" | "error"
  message: string
  detail?: unknown
}

export interface Host {
  readonly release: Release
  readonly switches: Readonly<Switches>
  readonly log: readonly LogEntry[]
  /** The location of a directory; made, with its plugins, when it is new. Default: the first. */
  location(directory?: string, workspaceID?: string): Promise<Location>
  locations(): readonly Location[]
  readonly session: Sessions
  /** What would be sent to the model now; runs the hooks `context` and `model.request`. */
  modelRequest(session: SessionRef): Promise<ModelRequest>
  /** A turn of one step. */
  step(session: SessionRef, calls: Call[], options?: StepOptions): Promise<StepResult>
  /** One call: the result of a step of one. */
  call(session: SessionRef, tool: string, input?: unknown): Promise<CallResult>
  /** One program in Code Mode. */
  execute(session: SessionRef, code: string): Promise<CallResult>
  /** A turn of several steps; over when `body` is. */
  turn<T>(session: SessionRef, body: (turn: Turn) => Promise<T>): Promise<T>
  /** The user's prompt: runs the `prompt` hook, gives the prompt as admitted. */
  prompt(session: SessionRef, text: string): Promise<{ text: string }>
  /** The cancel key. False: nothing ran. */
  interrupt(session: SessionRef): Promise<boolean>
  readonly shell: Shells
  readonly user: User
  /** Asserts a permission as an executor of the host's does. @throws when blocked. */
  assert(
    session: SessionRef,
    action: string,
    resources: string[],
    more?: { save?: string[]; metadata?: Metadata },
  ): Promise<void>
  /** Rules and hooks, without asking. */
  evaluate(session: SessionRef, action: string, resources: string[]): Promise<PermissionEffect>
  /** Saved "always" answers, by project id. */
  saved(projectID: string): readonly PermissionRule[]
  readonly events: EventLog
  /** Answers `generate.text` and `session.generate`. Default: an error that says that no model is scripted. */
  generates(script: (input: { prompt: string; sessionID?: string }) => string | Promise<string>): void
  /** Where HTTP is served, when it is. */
  readonly http?: { url: string; username: "opencode"; password: string; authorization: string }
  /** Loads a `./tui` entry (a file, or what its import gives) with a scripted terminal. */
  tui(entry: string | object, options?: TuiOptions): Promise<Tui>
  /** What is still open: processes, timers, sockets, subscriptions. Empty after close. */
  open(): string[]
  /** Unloads everything and ends every process and socket. */
  close(): Promise<void>
}
