/**
 * What a run or a call comes to, the frames of a run's stream, and problem documents.
 * Twin of result.go; both are held against schema/result.json by their tests.
 */

/**
 * RunResult is the one result of a run: CLI --json, HTTP and bridge give exactly this, on success and
 * on failure.
 */
export interface RunResult {
  id: string
  session: string
  ok: boolean
  /** JSON null when there is none */
  value: unknown
  stdout: string
  stderr: string
  logs: Log[]
  emits: unknown[]
  warnings: Warning[]
  calls: CallSummary[]
  artifacts: Artifact[]
  /** saved scripts and hooks that ran within it */
  scripts?: ScriptRun[]
  error?: Error
  truncated: boolean
  timing: Timing
}

/**
 * ScriptRun is one saved script that a program ran with run(name, input), or one hook: a part of its
 * run, whose calls, logs and emits are the run's.
 */
export interface ScriptRun {
  /** as run was given it, or "hook before" */
  name: string
  /** those that ran it, outermost first: a > b; absent: the program itself */
  path?: string
  engine: string
  /** in frames also running */
  status: "ok" | "failed" | "cancelled" | "running"
  kind?: string
  ms: number
}

/** Log is one record of log.* or console.*. */
export interface Log {
  level: "debug" | "info" | "warn" | "error"
  message: string
  /** a JSON object */
  attrs?: unknown
  position?: Position
  /** RFC 3339, UTC */
  time?: string
  /** the saved script or hook within the run that said it */
  script?: string
}

/** Position is a place in a program as written; line and column start at 1. */
export interface Position {
  /** that a saved script imported; absent: the program's own */
  file?: string
  line: number
  column: number
}

/**
 * Warning is something the caller should know that did not fail the run, such as UnhandledRejection or
 * StateLost.
 */
export interface Warning {
  kind: string
  message: string
}

/** CallSummary is one call of a run. */
export interface CallSummary {
  server: string
  tool: string
  status: "ok" | "error" | "denied" | "cancelled" | "unknown"
  ms: number
  /** the saved script or hook within the run that made it */
  script?: string
}

/** Artifact is a handle to bytes kept by the daemon. */
export interface Artifact {
  id: string
  name?: string
  mimeType?: string
  bytes: number
}

/** Error is a failure as a caller sees it. Kind is one of the closed list. */
export interface Error {
  kind:
    | "UsageError"
    | "ConfigError"
    | "DaemonUnavailable"
    | "ProtocolMismatch"
    | "Unauthorized"
    | "NotFound"
    | "ParseError"
    | "TypeCheckError"
    | "UnknownTool"
    | "InvalidToolInput"
    | "InvalidToolOutput"
    | "ToolFailure"
    | "PermissionDenied"
    | "ApprovalRequired"
    | "ToolCallLimitExceeded"
    | "TimeoutExceeded"
    | "MemoryLimitExceeded"
    | "CpuLimitExceeded"
    | "PoolExhausted"
    | "ServerUnavailable"
    | "ScriptError"
    | "Cancelled"
    | "EngineUnavailable"
    | "InternalError"
  message: string
  server?: string
  tool?: string
  pointer?: string
  position?: Position
  stack?: string
  hint: string
  content?: unknown
  feedback?: string
  data?: unknown
}

/** Timing splits a run's time; all in milliseconds. Human time counts against no limit of the run. */
export interface Timing {
  compute: number
  tools: number
  human: number
  queue: number
  total: number
}

/** CallResult is the answer to one call outside a program. */
export interface CallResult {
  /** unwrapped, interface §3 */
  value: unknown
  /** the CallToolResult as the server sent it */
  raw?: unknown
  /** what a model sees */
  text: string
  /** pictures among the artifacts, for a host that shows them to its model */
  images?: Image[]
  artifacts: Artifact[]
  warnings: Warning[]
  truncated: boolean
  timing: Timing
  session: string
}

/** Image is a picture with its bytes. */
export interface Image {
  artifact: string
  /** image/png, image/jpeg, image/gif */
  mimeType: string
  /** as base64 */
  data: string
}

/** Problem is an RFC 9457 problem document (application/problem+json). */
export interface Problem {
  /** docs/errors/<Kind>.md */
  type: string
  title: string
  status: number
  detail: string
  kind: Error["kind"]
  message: string
  server?: string
  tool?: string
  pointer?: string
  position?: Position
  stack?: string
  hint: string
  content?: unknown
  feedback?: string
  data?: unknown
}

/** Frame is one event of a run's stream, in order of Seq. */
export interface Frame {
  seq: number
  type:
    | "start"
    | "log"
    | "emit"
    | "call"
    | "script"
    | "progress"
    | "ask"
    | "question"
    | "withdraw"
    | "login"
    | "artifact"
    | "result"
    | "error"
    | "end"
  run: string
  /** on a bridge: the host's tool call that started the run */
  call?: string
  /** by type: Log, any JSON, CallEvent, ScriptRun, Progress, Ask, Question, Withdraw, Artifact, RunResult, Error */
  data?: unknown
}

/** CallEvent is the data of a "call" frame: once when it starts, once when it ends. */
export interface CallEvent {
  /** within the run */
  id: number
  server: string
  tool: string
  /** running, then as CallSummary.Status */
  status: string
  input?: string
  ms?: number
  /** as CallSummary.Script */
  script?: string
}

/** Progress is the data of a "progress" frame. */
export interface Progress {
  call: number
  progress: number
  total?: number
  message?: string
}
