/**
 * Messages between a host's plugin and the daemon (JSON-RPC 2.0 over WebSocket at /v1/bridge).
 * Twin of bridge.go; both are held against schema/bridge.json by their tests.
 */

import type { Catalog, CatalogQuery, Search, SearchResult, SessionStatus, Types, TypesQuery } from "./rest.ts"
import type { CallResult, Frame, RunResult } from "./result.ts"
import type { Done } from "./rpc.ts"
import type { Build } from "./version.ts"

/**
 * Hello opens a bridge; the daemon answers HelloResult. Either side that cannot speak the other's
 * Protocol answers a ProtocolMismatch error naming both.
 */
export interface Hello {
  protocol: number
  build: Build
  /** opencode-tenon, opencode-tenon-v2 */
  plugin: string
  /** opencode-v1, opencode-v2 */
  host: string
  hostVersion?: string
  /** "bun 1.3.14" */
  runtime?: string
  pid: number
  directory: string
  worktree?: string
  /** somebody sees questions here */
  interactive: boolean
  config?: string
  /** send run/event */
  events?: boolean
  /** allow-listed variables of the host */
  env: Record<string, string>
}

/** HelloResult answers Hello. */
export interface HelloResult {
  protocol: number
  build: Build
  pid: number
  /** id of this bridge, for logs */
  connection: string
  socket: string
  hostTicket: string
  /** environment variables this directory's view names */
  wants: string[]
  /** the directory's terminal session, "dir:<hash>" */
  session: string
  /** its ticket */
  ticket: string
}

/** Rule is one of the host's permission rules, as the host orders them: the last one that matches wins. */
export interface Rule {
  permission: string
  pattern: string
  action: "allow" | "deny" | "ask"
}

/**
 * RuleList is the host's ordered list for one leaf session and agent. A list not confirmed current
 * (Confirmed false) counts as "ask".
 */
export interface RuleList {
  /** changes whenever the list does */
  version: string
  agent: string
  confirmed: boolean
  rules: Rule[]
}

/** Attach tells the daemon about a session. Sending it again with the same content changes nothing. */
export interface Attach {
  session: string
  parent?: string
  directory: string
  agent?: string
  title?: string
  env?: Record<string, string>
  rules?: RuleList
}

/** AttachResult answers Attach. */
export interface AttachResult {
  session: string
  root: string
  ticket: string
  socket: string
}

/**
 * Detach ends this bridge's claim on a session. Deleted means the host deleted it: bindings end at
 * once; otherwise they keep their grace.
 */
export interface Detach {
  session: string
  deleted: boolean
}

/** Origin is the host's own name of the tool call a run or call belongs to. */
export interface Origin {
  session: string
  message?: string
  call?: string
  agent?: string
}

/** TextLimits bounds the text made for a model; the marker is included. */
export interface TextLimits {
  bytes?: number
  lines?: number
}

/**
 * RunStart starts a program and is answered with RunStarted when it ends. Cancel it with
 * $/cancelRequest.
 */
export interface RunStart {
  origin: Origin
  directory: string
  code: string
  engine?: string
  timeoutMs?: number
  input?: unknown
  rules?: RuleList
  text: TextLimits
}

/** RunDone answers RunStart. */
export interface RunDone {
  result: RunResult
  /** what the model sees */
  text: string
}

/** RunCancel cancels somebody else's run (one's own: $/cancelRequest). */
export interface RunCancel {
  run: string
  reason?: string
}

/** CallStart makes one call and is answered with CallResult. */
export interface CallStart {
  origin: Origin
  directory: string
  server: string
  tool: string
  arguments?: unknown
  rules?: RuleList
  text: TextLimits
}

/** StatusGet asks for one session's state; answered with SessionStatus. */
export interface StatusGet {
  session: string
}

/** RulesChanged replaces the rules of one attached session. */
export interface RulesChanged {
  session: string
  rules: RuleList
}

/** ToolOutcome records the outcome of one of the host's own tools. */
export interface ToolOutcome {
  origin: Origin
  tool: string
  status: "ok" | "error"
  ms?: number
  title?: string
}

/** Resolve asks the host who a session is; answered with Resolved within 1 s. */
export interface Resolve {
  session: string
}

/** Resolved answers Resolve. Known false means the host does not know it. */
export interface Resolved {
  known: boolean
  session: string
  parent?: string
  root?: string
  directory?: string
  agent?: string
  rules?: RuleList
}

/** Ask puts one call to the host's user; answered with AskReply. */
export interface Ask {
  id: string
  origin: Origin
  run?: string
  /** <server>_<tool>, exact; webfetch for a request of fetch */
  key: string
  /** what the host's patterns are matched against, the URL of a request of fetch; absent: * */
  resource?: string
  server: string
  tool: string
  /** shortened, secrets masked */
  arguments?: unknown
  /** RFC 3339 */
  deadline?: string
}

/** AskReply answers Ask. "always" is for tenon to remember; a host that remembers by itself says "once". */
export interface AskReply {
  reply: "once" | "always" | "reject" | "unavailable"
  feedback?: string
  /** a rule of the host denied it; nobody was asked */
  denied?: boolean
}

/**
 * Question is what a server asks in the middle of a call; answered with Answer. The host validates
 * nothing: the daemon holds the result against what was asked. Like an Ask it is acknowledged with
 * permission/shown within 2 s, or the next who could answer is asked, and is taken back with
 * permission/withdraw.
 */
export interface Question {
  id: string
  origin: Origin
  run?: string
  server: string
  tool: string
  kind: "elicitation" | "sampling"
  /** of MCP's elicitation/create or sampling/createMessage; upstream text, never to be printed raw */
  params: unknown
  /** RFC 3339 */
  deadline?: string
}

/** Answer answers Question: either the result, or why nobody could be asked. */
export interface Answer {
  /** of the same MCP method */
  result?: unknown
  unavailable?: string
}

/** AskShown says that the question is before the user. */
export interface AskShown {
  id: string
}

/** Withdraw takes a question back; idempotent. */
export interface Withdraw {
  id: string
  reason: string
}

/** Notice shows a short message to the user. */
export interface Notice {
  level: "info" | "success" | "warning" | "error"
  message: string
  session?: string
}

/** CancelRequest is the parameter of $/cancelRequest. */
export interface CancelRequest {
  id: number | string
  /** user, timeout, … */
  reason?: string
}

/** What each method takes and gives; the same list as x-methods of the schema. */
export interface Methods {
  /** plugin */
  "bridge/hello": { params: Hello; result: HelloResult }
  /** plugin */
  "session/attach": { params: Attach; result: AttachResult }
  /** plugin */
  "session/detach": { params: Detach; result: Done }
  /** plugin */
  "run/start": { params: RunStart; result: RunDone }
  /** plugin */
  "run/cancel": { params: RunCancel; result: Done }
  /** plugin */
  "call/start": { params: CallStart; result: CallResult }
  /** plugin */
  "status/get": { params: StatusGet; result: SessionStatus }
  /** plugin */
  "catalog/search": { params: Search; result: SearchResult }
  /** plugin */
  "catalog/get": { params: CatalogQuery; result: Catalog }
  /** plugin */
  "catalog/types": { params: TypesQuery; result: Types }
  /** plugin */
  "rules/changed": { params: RulesChanged; result: Done }
  /** plugin, notification */
  "tool/outcome": { params: ToolOutcome; result: void }
  /** plugin, notification */
  "permission/shown": { params: AskShown; result: void }
  /** daemon */
  "session/resolve": { params: Resolve; result: Resolved }
  /** daemon */
  "permission/ask": { params: Ask; result: AskReply }
  /** daemon */
  "permission/withdraw": { params: Withdraw; result: Done }
  /** daemon */
  "elicitation/ask": { params: Question; result: Answer }
  /** daemon */
  "notice/show": { params: Notice; result: Done }
  /** daemon, notification */
  "run/event": { params: Frame; result: void }
  /** daemon, notification: a list of tools that this host could see has changed */
  "catalog/changed": { params: Done; result: void }
  /** both, notification */
  "$/cancelRequest": { params: CancelRequest; result: void }
}
