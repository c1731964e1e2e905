/**
 * What tenon's tools say and do, the same in every host: a description, their
 * arguments, and the request that they are. How a host is asked, told and
 * stopped is each plugin's own.
 */

import type {
  CallResult,
  Catalog,
  Image,
  Origin,
  RuleList,
  RunDone,
  SearchItem,
  SearchResult,
  Types,
} from "@tenon/proto"
import { argumentsOf, type Arguments } from "./arguments.ts"
import type { Bridge } from "./bridge.ts"
import { explain, isFailure, type Failure } from "./failure.ts"
import { abortGrace, text } from "./limits.ts"

/** One call of a tool by a host's model. */
export interface ToolCall {
  origin: Origin
  directory: string
  /** The list that holds for this call. */
  rules?: RuleList
  signal: AbortSignal
}

/** What a tool came to. The text is the model's; the rest is for whoever reads the transcript. */
export interface ToolOutput {
  title: string
  output: string
  metadata: Record<string, unknown>
  /** Pictures for the model to look at. */
  images?: readonly Image[]
}

/** The ids of the tools. */
export type ToolID = keyof typeof argumentsOf

/** One tool. */
export interface ToolSpec {
  description: string
  args: Arguments
  /** The part of the arguments that a question about the call shows. */
  summary(args: any): Record<string, unknown>
  /** Does it; `args` have been read by readArguments. Rejects with a Failure. */
  work(bridge: Bridge, args: any, call: ToolCall): Promise<ToolOutput>
}

interface ExecArguments {
  code: string
  timeout?: number
  engine?: string
  input?: unknown
}

interface CallArguments {
  server: string
  tool: string
  arguments?: Record<string, unknown>
}

interface SearchArguments {
  query: string
  namespace?: string
  limit?: number
  offset?: number
}

/** The tools by their ids. */
export const tools: Record<ToolID, ToolSpec> = {
  tenon_exec: {
    description:
      "Runs a program that calls the project's MCP tools; only its result enters the conversation. Use it for several " +
      "calls, loops, filtering or joining. Names live inside the program (`await tools.<namespace>.<tool>({...})`), " +
      "never as direct tools; find them with tenon_search. State of session-scoped servers (a browser) lasts between runs.",
    args: argumentsOf.tenon_exec,
    summary: (args: ExecArguments) => ({ code: args.code }),
    work: async (bridge, args: ExecArguments, call) =>
      runOutput(
        await bridge.request(
          "run/start",
          {
            origin: call.origin,
            directory: call.directory,
            code: args.code,
            ...(args.engine === undefined ? {} : { engine: args.engine }),
            ...(args.timeout === undefined ? {} : { timeoutMs: Math.round(args.timeout * 1000) }),
            ...(args.input === undefined ? {} : { input: args.input }),
            ...(call.rules ? { rules: call.rules } : {}),
            text,
          },
          { signal: call.signal, grace: abortGrace },
        ),
      ),
  },
  tenon_call: {
    description:
      "Calls one tool of one MCP server and gives its unwrapped result. For more than one call write a program with tenon_exec.",
    args: argumentsOf.tenon_call,
    summary: (args: CallArguments) => ({ server: args.server, tool: args.tool }),
    work: async (bridge, args: CallArguments, call) =>
      callOutput(
        args,
        await bridge.request(
          "call/start",
          {
            origin: call.origin,
            directory: call.directory,
            server: args.server,
            tool: args.tool,
            ...(args.arguments === undefined ? {} : { arguments: args.arguments }),
            ...(call.rules ? { rules: call.rules } : {}),
            text,
          },
          { signal: call.signal, grace: abortGrace },
        ),
      ),
  },
  tenon_search: {
    description:
      "Finds tools of the project's MCP servers, and saved scripts. Answers with signatures as they are called inside tenon_exec.",
    args: argumentsOf.tenon_search,
    summary: (args: SearchArguments) => ({ query: args.query }),
    work: async (bridge, args: SearchArguments, call) =>
      searchOutput(
        args,
        await bridge.request("catalog/search", { ...args, ...whereOf(call) }, { signal: call.signal }),
      ),
  },
  tenon_types: {
    description:
      "TypeScript declarations of the project's MCP tools, exact where tenon_search is short. Read them before a program " +
      "with arguments or results that are not plain.",
    args: argumentsOf.tenon_types,
    summary: (args: { paths?: string[] }) => ({ ...args }),
    work: async (bridge, args: { paths?: string[] }, call) =>
      typesOutput(await bridge.request("catalog/types", { ...args, ...whereOf(call) }, { signal: call.signal })),
  },
  tenon_catalog: {
    description:
      "Lists what the project's MCP servers offer, within a budget of tokens; with `since`, only what changed. The names " +
      "are for programs (tenon_exec) and tenon_call.",
    args: argumentsOf.tenon_catalog,
    summary: (args: { budget?: number; since?: string }) => ({ ...args }),
    work: async (bridge, args: { budget?: number; since?: string }, call) =>
      catalogOutput(await bridge.request("catalog/get", { ...args, ...whereOf(call) }, { signal: call.signal })),
  },
  tenon_status: {
    description: "Shows what this session holds: server instances, running programs, questions that wait for the user.",
    args: argumentsOf.tenon_status,
    summary: () => ({}),
    work: async (bridge, _, call) => {
      const status = await bridge.request("status/get", { session: call.origin.session }, { signal: call.signal })
      return { title: "tenon status", output: status.text, metadata: { session: status.session.id } }
    },
  },
}

/** A failure as a model should read it. */
export function sentence(error: Failure): string {
  if (error.kind === "DaemonUnavailable" || error.kind === "ProtocolMismatch") {
    return `tenon is not available: ${explain(error)}`
  }
  return `${error.kind}: ${explain(error)}`
}

/** Whether a call failed because somebody, or a rule, said no. */
export function isDenial(error: unknown): boolean {
  return isFailure(error) && (error.kind === "PermissionDenied" || error.kind === "ApprovalRequired")
}

function whereOf(call: ToolCall) {
  return { session: call.origin.session, directory: call.directory }
}

function runOutput({ result, text: output }: RunDone): ToolOutput {
  return {
    title: result.calls.length === 1 ? "1 call" : `${result.calls.length} calls`,
    output,
    metadata: {
      run: result.id,
      ok: result.ok,
      ...(result.error ? { error: { kind: result.error.kind, message: result.error.message } } : {}),
      calls: result.calls,
      timing: result.timing,
    },
  }
}

function callOutput(args: CallArguments, result: CallResult): ToolOutput {
  return {
    title: `${args.server} ${args.tool}`,
    output: result.text,
    metadata: { timing: result.timing, warnings: result.warnings },
    ...(result.images?.length ? { images: result.images } : {}),
  }
}

/** A picture as the address that hosts take it by. */
export const dataURL = (image: Image) => `data:${image.mimeType};base64,${image.data}`

function searchOutput(args: SearchArguments, found: SearchResult): ToolOutput {
  const lines = found.items.map(foundLine)
  if (lines.length === 0) lines.push(`No tool matches "${args.query}".`)
  if (found.next) lines.push(`${found.remaining} more: offset ${found.next.offset}`)
  return {
    title: `${found.items.length} of ${found.total}`,
    output: lines.join("\n"),
    metadata: { total: found.total },
  }
}

/**
 * One thing found as a model reads it. What it knows from the line already is not said again: that a result is of no
 * known type, and the names of server and tool where the path has them.
 */
function foundLine({ kind, path, server, tool, signature, description }: SearchItem): string {
  const about = description ? ` — ${description.split("\n")[0]}` : ""
  const line = signature.replace(/: Promise<unknown>$/, "") + about
  if (kind === "script") return `${line} [saved script]`
  return path === `tools.${server}.${tool}` ? line : `${line} [server "${server}", tool "${tool}"]`
}

function typesOutput({ text: types, warnings = [] }: Types): ToolOutput {
  return { title: "types", output: fitting(types, "name namespaces or tools in `paths`"), metadata: { warnings } }
}

/** The beginning of a text that a host would cut without a word about what is missing. */
function fitting(whole: string, hint: string): string {
  const lines = whole.split("\n")
  let [kept, bytes] = [0, 200] // of the last line
  while (kept < lines.length && kept < text.lines - 1) {
    bytes += Buffer.byteLength(lines[kept]!) + 1
    if (bytes > text.bytes) break
    kept++
  }
  if (kept === lines.length) return whole
  return [...lines.slice(0, kept), `… [truncated: ${kept} of ${lines.length} lines; ${hint}]`].join("\n")
}

function catalogOutput(catalog: Catalog): ToolOutput {
  const { fingerprint, partial, delta, tokens, total, shown } = catalog
  return {
    title: `${shown} of ${total} tools`,
    output: `${catalog.text}\nfingerprint: ${fingerprint}`,
    metadata: { fingerprint, partial, delta, tokens, total, shown },
  }
}
