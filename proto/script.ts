/**
 * Programs, as they are asked for, and as they are kept.
 * Twin of script.go; both are held against schema/script.json by their tests.
 */

/** ExecRequest is POST /v1/exec, answered with RunResult, or with frames. */
export interface ExecRequest {
  /** of the program; absent: the one that script names */
  code?: string
  args?: string[]
  input?: unknown
  engine?: string
  cwd?: string
  /** 0 = none; absent = the setting */
  timeoutMs?: number
  callTimeoutMs?: number
  maxOutputBytes?: number
  maxToolCalls?: number
  memoryBytes?: number
  /** file name for messages */
  name?: string
  /** absent: permissions.sandbox */
  sandbox?: "confined" | "read-only" | "workspace-write" | "full"
  /** absent: the setting */
  typecheck?: "off" | "warn" | "strict"
  /** see HeaderAttach; absent: remote */
  where?: "auto" | "local" | "remote"
  /** name of a saved script to run in place of code */
  script?: string
  /** the export to run in place of the default one */
  export?: string
  /** parameters of a saved script as words, read by their types; they win over input */
  params?: Record<string, string>
  /** what the program reads as stdin; without input it is the input as well */
  stdin?: string
}

/** Script is one saved script: GET /v1/scripts lists them, GET /v1/scripts/{name} gives one with its code. */
export interface Script {
  /** with slashes for folders, without the file's extension */
  name: string
  description?: string
  params: ScriptParam[]
  examples: string[]
  /** that its header asks for; absent: the setting */
  engine?: string
  file: string
  where: "project" | "user"
  /** the nearer file of the same name, which runs in its place */
  shadowed?: string
  /** what is wrong with its header */
  problem?: string
  /** run("name", {…}) as a program writes it */
  signature: string
  /** only where one script is asked for */
  code?: string
}

/** ScriptParam is one @param of a saved script. */
export interface ScriptParam {
  name: string
  /** in TypeScript */
  type: string
  required: boolean
  default?: unknown
  description?: string
}

/**
 * ScriptSave is POST /v1/scripts, answered with Script: keeps a program under a name. Exactly one of
 * code and run is given.
 */
export interface ScriptSave {
  name: string
  code?: string
  /** the run whose program is kept */
  run?: string
  /** absent: project */
  where?: "project" | "user"
  /** replace what is there */
  force?: boolean
}
