/**
 * Bodies of the REST routes below /v1, where the bridge carries them too.
 * Twin of rest.go; both are held against schema/rest.json by their tests.
 */

import type { RunLimits } from "./history.ts"
import type { Problem, RunResult } from "./result.ts"
import type { Build } from "./version.ts"

/** Health is GET /v1/health: the hello of the REST side. */
export interface Health {
  protocol: number
  build: Build
  pid: number
  /** RFC 3339 */
  started: string
  uid: number
  draining: boolean
}

/** CallRequest is POST /v1/call, answered with CallResult. */
export interface CallRequest {
  server: string
  tool: string
  arguments?: unknown
  cwd?: string
  callTimeoutMs?: number
  raw?: boolean
}

/** Server is one row of GET /v1/servers. */
export interface Server {
  name: string
  namespace: string
  status: "idle" | "starting" | "ready" | "failed" | "crash-loop" | "needs-auth" | "disabled" | "untrusted" | "invalid"
  detail?: string
  scope: string
  kind: "stdio" | "http" | "sse"
  /** file:line */
  origin: string
  /** as written: placeholders unexpanded */
  command?: string[]
  url?: string
  instances: Instance[]
  maxInstances: number
  tools?: Tool[]
  toolCount: number
  restarts: number
  warnings?: string[]
}

/** Instance is one running connection to a server. */
export interface Instance {
  id: string
  server: string
  state: "starting" | "ready" | "busy" | "doubtful" | "draining" | "dying"
  pid?: number
  since: string
  inFlight: number
  calls: number
  spare: boolean
  protocol?: string
  /** a sample of what it printed that is not MCP */
  noise?: string
}

/** Tool is one tool of a server. */
export interface Tool {
  name: string
  /** tools.<ns>.<tool> as a program writes it */
  path: string
  title?: string
  description?: string
  inputSchema?: unknown
  outputSchema?: unknown
  annotations?: unknown
  /** where the type of its results is from: declared, learned, unknown */
  returns: string
  /** in TypeScript, in short; absent: unknown */
  resultType?: string
  /** how many results a learned type was made of */
  results?: number
}

/** Session is one row of GET /v1/sessions. */
export interface Session {
  id: string
  root: string
  parent?: string
  children?: string[]
  /** opencode-v1, cli, mcp, … */
  host: string
  state: "provisional" | "attached" | "named" | "ephemeral" | "directory" | "ending"
  directory?: string
  agent?: string
  title?: string
  since: string
  lastUsed: string
  runs: number
  leases: number
  endsAt?: string
  note?: string
}

/** Lease is one row of GET /v1/leases: a binding, or somebody who waits for one. */
export interface Lease {
  id: string
  server: string
  scope: string
  key: string
  session?: string
  instance?: string
  state: "held" | "in-use" | "waiting"
  uses: number
  since: string
  lastUsed?: string
  /** why it waits, or why it is kept */
  reason?: string
  /** when it would be evicted */
  ends?: string
}

/** Run is one row of GET /v1/runs. */
export interface Run {
  id: string
  session: string
  status: "running" | "ok" | "failed" | "cancelled" | "lost"
  kind?: string
  surface: string
  engine: string
  cwd: string
  /** head only in lists */
  code?: string
  started: string
  ended?: string
  calls: number
  waiting?: string
  options?: RunOptions
  result?: RunResult
}

/** RunOptions is how a run was executed, as its request and the settings had it. */
export interface RunOptions {
  /** the mode that the program was held to */
  sandbox?: "confined" | "read-only" | "workspace-write" | "full"
  typecheck?: "off" | "warn" | "strict"
  /** local: beside its caller; remote: in the daemon */
  where?: "local" | "remote"
  /** the saved script that was run */
  script?: string
  /** the export of it */
  export?: string
  /** what it was given, as far as it is short */
  args?: string[]
  /** the same; absent: none, or a long one */
  input?: unknown
  /** it had standard input, which is not kept */
  piped?: boolean
  /** that it was asked for */
  limits?: RunLimits
  /** what was too long to be kept whole */
  cut?: ("code" | "given")[]
}

/** Approval is one row of GET /v1/approvals: a call, or what a server asks in the middle of one. */
export interface Approval {
  id: string
  session: string
  root: string
  run?: string
  key: string
  server: string
  tool: string
  arguments?: unknown
  since: string
  deadline: string
  /** where it is before a user */
  shown?: string
  /** the rule that asks */
  reason: string
  kind?: "form" | "page" // which a server asks; absent: a call that must be approved
  params?: unknown // of a form or page: those of MCP's elicitation/create, as the server sent them
}

/** ApprovalReply is POST /v1/approvals/{id}. */
export interface ApprovalReply {
  decision: "approve" | "always" | "deny"
  feedback?: string
  content?: unknown // with approve, of a form: an object with the values of its fields
}

/** SearchResult is GET /v1/search and catalog/search. */
export interface SearchResult {
  items: SearchItem[]
  total: number
  remaining: number
  next: SearchNext | null
}

/**
 * SearchItem is one tool or saved script found. Of a script, path is what a program calls it by, as
 * run("name"), and server and tool are empty.
 */
export interface SearchItem {
  /** absent: tool */
  kind?: "tool" | "script"
  path: string
  server: string
  tool: string
  signature: string
  description?: string
}

/** SearchNext is where the next page starts. */
export interface SearchNext {
  offset: number
}

/** Search is the query of catalog/search. */
export interface Search {
  session?: string
  directory?: string
  query: string
  namespace?: string
  limit?: number
  offset?: number
}

/** CatalogQuery is the query of GET /v1/catalog and catalog/get. */
export interface CatalogQuery {
  session?: string
  directory?: string
  /** tokens that the text may cost; 0: 2000 */
  budget?: number
  /** fingerprint of the catalogue that the asker has */
  since?: string
  /** start no server: one that was never listed is named as such */
  noStart?: boolean
}

/** Catalog is GET /v1/catalog and catalog/get: what tools there are, as a text for a model. */
export interface Catalog {
  text: string
  /** send it as since to get what changed */
  fingerprint: string
  /** the budget did not hold every tool */
  partial: boolean
  /** text is what changed since, not the whole */
  delta: boolean
  /** estimate of what the text costs */
  tokens: number
  /** tools there are */
  total: number
  /** tools whose signature is in the text */
  shown: number
}

/** TypesQuery is the query of GET /v1/types and catalog/types. */
export interface TypesQuery {
  session?: string
  directory?: string
  /** namespaces, or ns.tool; none: all */
  paths?: string[]
}

/** Types is GET /v1/types and catalog/types: TypeScript declarations of tools. */
export interface Types {
  /** always parses */
  text: string
  /** parts of schemas that became unknown: tool, JSON pointer, reason */
  warnings?: string[]
}

/** SessionStatus is what tenon_status shows. */
export interface SessionStatus {
  session: Session
  leases: Lease[]
  runs: Run[]
  approvals: Approval[]
  /** what a model sees */
  text: string
}

/** Status is GET /v1/status. */
export interface Status {
  health: Health
  socket: string
  /** files in effect */
  config: string[]
  problems: Problem[]
  sessions: number
  instances: number
  runs: number
  approvals: number
  bridges: Bridge[]
  engines: Engine[]
  /** what processes can be held to here */
  sandbox?: Sandbox
  rssBytes: number
}

/** Bridge is one connected plugin. */
export interface Bridge {
  connection: string
  plugin: string
  build: Build
  host: string
  pid: number
  directory: string
}

/** Engine is one way to execute a program on this machine. */
export interface Engine {
  name: string
  version?: string
  path?: string
  available: boolean
  reason?: string
}

/** Sandbox is what a process can be held to on this machine. */
export interface Sandbox {
  /** that can be enforced, strictest first */
  modes: string[]
  /** version of the kernel's; 0: none */
  landlock: number
  /** why the others cannot */
  reason?: string
  /** what strict modes leave open on this kernel */
  gaps?: string[]
}

/** Event is one frame of GET /v1/events. */
export interface Event {
  seq: number
  type: "session" | "lease" | "instance" | "run" | "approval" | "config" | "daemon"
  time: string
  data: unknown
}

/** CallerInfo is GET /v1/caller: how the daemon sees the one who asks. */
export interface CallerInfo {
  class: "user" | "session" | "stranger"
  session?: string
  /** actions this caller is allowed */
  may: string[]
}

/** SessionCreate is POST /v1/sessions: makes a named session, or joins it. */
export interface SessionCreate {
  id: string
  directory?: string
}

/** SessionTicket answers SessionCreate. */
export interface SessionTicket {
  session: Session
  ticket: string
}

/** StopRequest is POST /v1/stop. */
export interface StopRequest {
  /** only once no run, question or stateful binding is alive */
  whenIdle?: boolean
  /** cancel what runs instead of waiting for it */
  force?: boolean
  reason?: string
}

/** StopResult answers StopRequest: what the stop ends or waits for. */
export interface StopResult {
  pid: number
  runs: number
  leases: number
  sessions: number
  /** false: it goes on until it is idle */
  stopping: boolean
}

/** TrustRequest is POST /v1/trust: of a directory's files, or of looser permissions of the user's. */
export interface TrustRequest {
  directory?: string
  config?: boolean
  /** only says what a directory's files would start */
  look?: boolean
  /** of what was looked at: anything else is refused */
  digest?: string
}

/** TrustResult answers TrustRequest. */
export interface TrustResult {
  path: string
  trusted: boolean
  /** by this request */
  changed: boolean
  digest?: string
  files: string[]
  /** what is or would be started; status is its kind: server, import or script */
  servers: Server[]
}
