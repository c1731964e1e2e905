/** Shells: the model's, the user's, and terminals, which no hook sees. */

import { isAbsolute, relative, resolve } from "node:path"
import { hookEvent } from "./strict.ts"
import { hostTool } from "./toolset.ts"
import { newID } from "./core.ts"
import { Defect, Interrupted, ToolFailure, type Caller, type HostTool } from "./tool.ts"
import type { Core } from "./core.ts"
import type { LocationHost } from "./location.ts"
import type { Session } from "./session.ts"
import type { ShellCreateEvent } from "./contract.ts"
import type { ShellResult } from "./types.ts"

/** Milliseconds. */
const defaultTimeout = 120_000

export interface ShellInput {
  command: string
  workdir?: string
  timeout?: number
  background?: boolean
}

/** Every shell of a host, in the order of their start. */
export const spawned = new WeakMap<Core, ShellResult[]>()

export function shellTool(core: Core, location: LocationHost): HostTool {
  const info = {
    name: "shell",
    description: "Runs a command in a shell.",
    input: {
      type: "object",
      properties: {
        command: { type: "string" },
        workdir: { type: "string" },
        timeout: { type: "number" },
        background: { type: "boolean" },
      },
      required: ["command"],
    },
    options: { codemode: false },
  }
  return hostTool(info, (input, caller) => runTool(core, location, shellInput(input), caller), core.switches)
}

/** Keys that the tool does not have are dropped. */
function shellInput(input: any): ShellInput {
  const { command, workdir, timeout, background } = input ?? {}
  if (typeof command !== "string") throw new ToolFailure("Invalid tool input: command is not a string")
  return { command, workdir, timeout, background }
}

async function runTool(core: Core, location: LocationHost, input: ShellInput, caller: Caller) {
  const session = core.sessions.get(caller.sessionID)
  const base = session.info.location.directory
  const cwd = input.workdir === undefined ? base : resolve(base, input.workdir)
  const event = await core.turns.gate(caller, "create", () =>
    prepare(core, location, session, input.command, cwd, input.timeout ?? defaultTimeout),
  )
  // Asked about is what the hooks have left in the event, not what the model has sent.
  const source = { type: "tool" as const, messageID: caller.messageID, id: caller.id }
  const asked = { sessionID: caller.sessionID, agent: caller.agent, source }
  if (isOutside(location.info.project.directory, event.cwd)) {
    const resources = [`${event.cwd}/*`]
    await core.permissions.assert(
      { ...asked, action: "external_directory", resources, save: resources, metadata: {} },
      caller.signal,
    )
  }
  const commands = commandsOf(event.command)
  const save = commands.map((command) => `${command.split(/\s+/)[0]} *`)
  const metadata = { command: event.command }
  await core.permissions.assert({ ...asked, action: "shell", resources: commands, save, metadata }, caller.signal)
  if (caller.signal.aborted) throw new Interrupted()
  if (input.background) {
    void spawnShell(core, event, new AbortController().signal)
    return { content: "Started in the background.", metadata: {} }
  }
  const result = await spawnShell(core, event, caller.signal)
  const exit = result.exit === 0 ? "" : `\n(exit code ${result.exit ?? "none: ended by a signal"})`
  return { content: `${result.output}${exit}` || "(no output)", metadata: { exit: result.exit } }
}

/** `!command` of the user: the hook, but no question and no tool hooks. */
export async function userShell(core: Core, location: LocationHost, session: Session, command: string) {
  const event = await prepare(core, location, session, command, session.info.location.directory, undefined)
  const data = { sessionID: session.info.id, id: newID("call"), command }
  core.events.publish("session.shell.started", data, session.info.location)
  const result = await spawnShell(core, event, new AbortController().signal)
  core.events.publish("session.shell.ended", { ...data, output: result.output }, session.info.location)
  return result
}

/** A terminal has the host's environment and nothing of a session's. */
export function terminal(core: Core, directory: string, command: string): Promise<ShellResult> {
  const event = { command, cwd: directory, shell: shellOf(core), env: { ...core.env, ...terminalVariables } }
  return spawnShell(core, event, new AbortController().signal)
}

const terminalVariables = { TERM: "xterm-256color", OPENCODE_TERMINAL: "1" }

async function prepare(
  core: Core,
  location: LocationHost,
  session: Session,
  command: string,
  cwd: string,
  timeout: number | undefined,
): Promise<ShellCreateEvent> {
  const inherited = location.info.workspaceID ? {} : (session.environment ?? core.env)
  const native = core.switches.nativeSessionVariable ? { OPENCODE_SESSION_ID: session.info.id } : {}
  const fields = { command, cwd, timeout, shell: shellOf(core), env: { ...inherited, ...terminalVariables, ...native } }
  const event: ShellCreateEvent = hookEvent(fields, {}, core.switches.readonlyWrites, core.switches.frozenHookArguments)
  try {
    await location.hooks.fire("create.before", event)
  } catch (error) {
    throw new Defect(error)
  }
  return event
}

async function spawnShell(core: Core, event: ShellCreateEvent, signal: AbortSignal): Promise<ShellResult> {
  const { command, cwd, shell, timeout } = event
  const env = Object.fromEntries(
    Object.entries(event.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  const result: ShellResult = { command, cwd, env, output: "", exit: null }
  const all = spawned.get(core) ?? []
  all.push(result)
  spawned.set(core, all)
  try {
    return Object.assign(result, await core.processes.run(command, { shell, cwd, env, timeout, signal }))
  } catch {
    throw new ToolFailure(`Unable to execute command: ${command}`)
  }
}

function shellOf(core: Core): string {
  return core.env["SHELL"] ?? "/bin/sh"
}

function isOutside(root: string, directory: string): boolean {
  const path = relative(root, directory)
  return isAbsolute(path) || path.split("/")[0] === ".."
}

/** The simple commands of a line, split at operators outside of quotes. */
export function commandsOf(line: string): string[] {
  const commands: string[] = [""]
  let quote = ""
  for (let at = 0; at < line.length; at++) {
    const char = line[at] as string
    if (char === "\\" && quote !== "'") {
      commands[commands.length - 1] += line.slice(at, ++at + 1)
      continue
    }
    if (quote ? char === quote : char === "'" || char === '"') quote = quote ? "" : char
    const operator = !quote && /^(&&|\|\||[;|&\n])/.exec(line.slice(at))?.[0]
    if (operator) {
      commands.push("")
      at += operator.length - 1
      continue
    }
    commands[commands.length - 1] += char
  }
  return commands.map((command) => command.trim()).filter((command) => command !== "")
}
