/**
 * Messages of a program that is executed beside its caller.
 * Twin of program.go; both are held against schema/program.json by their tests.
 */

import type { Error, Log, Warning } from "./result.ts"

/** AttachedProgram is a program to execute beside its caller: the parameters of program/run. */
export interface AttachedProgram {
  /** deno, bun or node */
  engine: string
  script: ProgramScript
  /** file name for messages */
  name: string
  args: string[]
  /** absent: none */
  input?: unknown
  /** what it reads as stdin; absent: nothing was piped */
  stdin?: string
  namespaces: ProgramSpace[]
  session: ProgramSession
  limits: ProgramLimits
  /** read-only, workspace-write or full */
  sandbox: string
  cwd: string
  /** what workspace-write may write to; empty: cwd */
  workspace: string
  /** the engine's program; empty: searched for in the caller's PATH */
  runtime: string
}

/** ProgramScript is a compiled program with the way back to its source. */
export interface ProgramScript {
  code: string
  /** of a source map, version 3 */
  mappings: string
  /** lines of code before the mapped ones */
  above: number
  /** lines of the mapped source before the author's first */
  skip: number
  edits: ProgramEdit[]
  /** files of the mappings, the program's own as ""; absent: only that */
  sources?: string[]
}

/** ProgramEdit is a piece of one line of the code that was replaced after it was mapped; all numbers from 0. */
export interface ProgramEdit {
  line: number
  column: number
  /** bytes before */
  old: number
  /** bytes after */
  new: number
}

/** ProgramSpace gives the tools of one server their names in a program. */
export interface ProgramSpace {
  name: string
  global: boolean
  server: string
  /** from identifier to name; absent: not known */
  tools?: Record<string, string>
}

/** ProgramSession is the global session of a program. */
export interface ProgramSession {
  id: string
  cwd: string
  runId: string
}

/** ProgramLimits bound what a program uses; 0 means the default, less means none. */
export interface ProgramLimits {
  cpuMs: number
  memoryBytes: number
  depth: number
  concurrency: number
  captureBytes: number
  logs: number
  timers: number
  floatMs: number
}

/** ProgramOutcome is how an attached program ended: the answer to program/run. */
export interface ProgramOutcome {
  /** absent: none */
  value?: unknown
  stdout: string
  stderr: string
  logs: Log[]
  emits: unknown[]
  warnings: Warning[]
  error?: Error
  dropped: ProgramDropped
  cpuMs: number
  memoryBytes: number
}

/** ProgramDropped counts what was not kept of an attached program. */
export interface ProgramDropped {
  logRecords: number
  logBytes: number
  emitBytes: number
  valueBytes: number
  outputBytes: number
}

/** ProgramCall is one tool call of an attached program: the parameters of tool/call. */
export interface ProgramCall {
  server: string
  tool: string
  /** a JSON object */
  args: unknown
  raw: boolean
  /** 0: the tool's own limit */
  timeoutMs: number
}

/** ProgramValue is the answer to tool/call. */
export interface ProgramValue {
  /** what the program gets */
  value: unknown
  /** the CallToolResult; absent: value is it */
  raw?: unknown
}

/** ProgramDescribe is the parameters of catalog/describe. */
export interface ProgramDescribe {
  path: string
}

/** ProgramMaterial is what a program asks of the globals resources and prompts: the parameters of material/ask, whose answer is what the program gets. */
export interface ProgramMaterial {
  /** resources.list, resources.templates, resources.read, prompts.list or prompts.get */
  method: string
  /** a JSON object */
  params: unknown
}

/** ProgramScriptRun is the parameters of script/run, answered with the value of the saved script. */
export interface ProgramScriptRun {
  name: string
  /** absent: none */
  input?: unknown
}

/** ProgramArtifact is what a program asks to keep: the parameters of artifact/keep, answered with the handle. */
export interface ProgramArtifact {
  name: string
  /** absent: told from the data */
  mimeType?: string
  /** as base64 */
  data: string
}

/** ProgramEmit is a value that an attached program emitted. */
export interface ProgramEmit {
  /** any JSON */
  value: unknown
}

/** ProgramStop ends an attached program with that reason. */
export interface ProgramStop {
  error: Error
}
