/** Code Mode: the tool `execute`, whose programs call the tools that are not offered directly. */

import { hostTool } from "./toolset.ts"
import { dottedName, lineOf } from "./catalogue.ts"
import { invoke } from "./invoke.ts"
import { messageOf } from "./core.ts"
import { ChildCall, runProgram } from "./program.ts"
import { unlessInterrupted } from "./interrupt.ts"
import { Declined, Interrupted, ToolFailure, type Caller, type HostTool } from "./tool.ts"
import type { Core } from "./core.ts"
import type { LocationHost } from "./location.ts"
import type { Content } from "./contract.ts"

interface ToolCall {
  tool: string
  status: "running" | "completed" | "error"
  input?: unknown
}

interface Program {
  core: Core
  location: LocationHost
  tools: readonly HostTool[]
  caller: Caller
  /** Aborts the children that the program has not awaited. */
  end: AbortController
  calls: ToolCall[]
  files: Content[]
  warnings: string[]
  /** A child that the user has declined: the whole turn is over. */
  declined?: Declined
}

/** @param tools those of the request that are not direct, denied ones left out. */
export function programTool(core: Core, location: LocationHost, tools: readonly HostTool[]): HostTool {
  const info = {
    name: "execute",
    description: "Runs JavaScript that calls the tools of the catalogue as tools.<namespace>.<name>(input).",
    input: { type: "object", properties: { code: { type: "string" } }, required: ["code"] },
    output: {},
  }
  return hostTool(
    info,
    async (input, caller) => {
      if (typeof input?.code !== "string") throw new ToolFailure("Invalid tool input: code is not a string")
      const program: Program = {
        core,
        location,
        tools,
        caller,
        end: new AbortController(),
        calls: [],
        files: [],
        warnings: [],
      }
      return run(program, input.code)
    },
    core.switches,
  )
}

async function run(program: Program, code: string) {
  const { caller, end, calls, files, warnings, core } = program
  const stop = () => end.abort(new Interrupted())
  caller.signal.addEventListener("abort", stop, { once: true })
  if (caller.signal.aborted) stop()
  const outer = core.switches.codemodeFetch
    ? { fetch: (url: string, init?: RequestInit) => fetched(program, url, init) }
    : {}
  let output: unknown = null
  let failure: string | undefined
  try {
    output = await runProgram(
      code,
      { tools: toolTree(program), search: (query: any) => search(program.tools, query), ...outer },
      warnings,
    )
  } catch (error) {
    failure = messageOf(error)
  } finally {
    // Whatever was not awaited ends with the program.
    stop()
    caller.signal.removeEventListener("abort", stop)
  }
  if (program.declined) throw program.declined
  const value = output === undefined ? null : output
  const text = [
    failure ?? (typeof value === "string" ? value : JSON.stringify(value)),
    ...warnings.map((warning) => `warning: ${warning}`),
  ]
  return {
    output: { output: value, toolCalls: calls, files, ...(failure !== undefined && { error: failure }) },
    content: [{ type: "text" as const, text: text.join("\n") }, ...files],
    metadata: { toolCalls: structuredClone(calls), ...(failure !== undefined && { error: true }) },
  }
}

/** The nested object `tools`. */
function toolTree(program: Program): object {
  const root: any = Object.create(null)
  for (const tool of program.tools) {
    let at = root
    for (const part of tool.namespace?.split(".") ?? []) at = at[part] ??= Object.create(null)
    at[tool.name] = (input: unknown = {}) => new ChildCall(child(program, tool, input), program.warnings)
  }
  return unknownAware(root, "")
}

/** A name that is no tool fails when it is called, with its name. */
function unknownAware(tree: any, path: string): object {
  return new Proxy(tree, {
    get(target, key) {
      if (typeof key === "symbol") return undefined
      const member: unknown = target[key]
      const name = path ? `${path}.${key}` : key
      if (typeof member === "function") return member
      if (member !== undefined) return unknownAware(member, name)
      const missing = () => {
        throw new Error(`UnknownTool: ${name}`)
      }
      return new Proxy(missing, {
        get: (_, inner) =>
          typeof inner === "symbol" ? undefined : unknownAware(Object.create(null), name)[inner as never],
      })
    },
  })
}

/** One call of a program: hooks, the tool's own permission, its executor. It carries the ids of the program's call. */
async function child(program: Program, tool: HostTool, given: unknown): Promise<unknown> {
  const { caller, core, location, end } = program
  if (end.signal.aborted) return never()
  const input: unknown = given === undefined ? {} : JSON.parse(JSON.stringify(given))
  const call: ToolCall = { tool: dottedName(tool), status: "running", input }
  program.calls.push(call)
  const report = () => caller.progress({ toolCalls: program.calls }).catch(() => {})
  void report()
  const own = new AbortController()
  const stop = () => own.abort(new Interrupted())
  end.signal.addEventListener("abort", stop, { once: true })
  try {
    const outcome = await invoke({
      tool: tool.id,
      input,
      caller: { ...caller, signal: own.signal, progress: () => unlessInterrupted(own.signal, report()) },
      // Only direct calls can be sent to another tool.
      find: () => tool,
      hooks: location.hooks,
      switches: core.switches,
      gate: (work) => work(),
    })
    if (end.signal.aborted) return never()
    call.status = "completed"
    program.files.push(...outcome.content.filter((part) => part.type === "file"))
    if (tool.output) return outcome.output ?? null
    return outcome.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  } catch (error) {
    if (end.signal.aborted) return never()
    call.status = "error"
    if (error instanceof Declined) program.declined ??= error
    throw new Error(messageOf(error))
  } finally {
    end.signal.removeEventListener("abort", stop)
    void report()
  }
}

/** What an interrupted call comes to: nothing in the program runs after it. */
function never(): Promise<never> {
  return new Promise(() => {})
}

async function fetched(program: Program, url: string, init?: RequestInit): Promise<Response> {
  const call: ToolCall = { tool: "fetch", status: "running", input: { url } }
  program.calls.push(call)
  try {
    const signal = AbortSignal.any([program.end.signal, AbortSignal.timeout(30_000)])
    const response = await fetch(url, { ...init, signal })
    call.status = "completed"
    return response
  } catch (error) {
    call.status = "error"
    throw error
  }
}

/** Synchronous search in the catalogue. */
function search(tools: readonly HostTool[], query: any) {
  const { query: words = "", namespace, limit = 10, offset = 0 } = typeof query === "string" ? { query } : (query ?? {})
  const wanted = String(words).toLowerCase().split(/\s+/).filter(Boolean)
  const found = tools
    .filter((tool) => namespace === undefined || tool.namespace === namespace)
    .map((tool) => ({ path: dottedName(tool), description: tool.description, signature: lineOf(tool) }))
    .filter(({ path, description }) => wanted.every((word) => `${path} ${description}`.toLowerCase().includes(word)))
  const items = found.slice(offset, offset + limit)
  const remaining = Math.max(0, found.length - offset - items.length)
  return { items, remaining, next: remaining > 0 ? { offset: offset + items.length } : null }
}
