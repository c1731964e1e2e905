/**
 * The tools that the model sees. Each asks for its own id first, makes sure that
 * the daemon knows the session, and gives back the text that the daemon made for
 * the model. None keeps a turn: no daemon is one sentence, an abort is an answer
 * within 250 ms.
 */

import { explain, Failure, isFailure, type Bridge } from "@tenon/bridge"
import type { CallResult, Origin, RunDone, SearchResult } from "@tenon/proto"
import { unlessAborted } from "./abort.ts"
import { argumentsOf, readArguments, type Arguments } from "./arguments.ts"
import type { Tool, ToolContext, ToolResult } from "./host.ts"
import { abortGrace, text, toolWait } from "./limits.ts"
import type { Call, Permissions } from "./permission.ts"
import type { Attached, Sessions } from "./session.ts"

/** What the tools work with. */
export interface ToolRoom {
  bridge(): Bridge
  sessions: Sessions
  permissions: Permissions
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
export function toolsOf(room: ToolRoom): Record<string, Tool> {
  return {
    tenon_exec: tool<ExecArguments>(
      room,
      "tenon_exec",
      "Runs a program that calls the project's MCP tools; only its result enters the conversation. Use it for several " +
        "calls, loops, filtering or joining. Names live inside the program (`await tools.<namespace>.<tool>({...})`), " +
        "never as direct tools; find them with tenon_search. State of session-scoped servers (a browser) lasts between runs.",
      async (args, ctx, attached) => {
        const done = await room.bridge().request(
          "run/start",
          {
            origin: originOf(ctx),
            directory: ctx.directory,
            code: args.code,
            ...(args.engine === undefined ? {} : { engine: args.engine }),
            ...(args.timeout === undefined ? {} : { timeoutMs: Math.round(args.timeout * 1000) }),
            ...(args.input === undefined ? {} : { input: args.input }),
            ...(attached.rules ? { rules: attached.rules } : {}),
            text,
          },
          { signal: ctx.abort, grace: abortGrace },
        )
        return runResult(done)
      },
      (args) => ({ code: args.code }),
    ),
    tenon_call: tool<CallArguments>(
      room,
      "tenon_call",
      "Calls one tool of one MCP server and gives its unwrapped result. For more than one call write a program with tenon_exec.",
      async (args, ctx, attached) => {
        const result = await room.bridge().request(
          "call/start",
          {
            origin: originOf(ctx),
            directory: ctx.directory,
            server: args.server,
            tool: args.tool,
            ...(args.arguments === undefined ? {} : { arguments: args.arguments }),
            ...(attached.rules ? { rules: attached.rules } : {}),
            text,
          },
          { signal: ctx.abort, grace: abortGrace },
        )
        return callResult(args, result)
      },
      (args) => ({ server: args.server, tool: args.tool }),
    ),
    tenon_search: tool<SearchArguments>(
      room,
      "tenon_search",
      "Finds tools of the project's MCP servers. Answers with signatures as they are called inside tenon_exec.",
      async (args, ctx) => {
        const found = await room
          .bridge()
          .request(
            "catalog/search",
            { ...args, session: ctx.sessionID, directory: ctx.directory },
            { signal: ctx.abort },
          )
        return searchResult(args, found)
      },
      (args) => ({ query: args.query }),
    ),
    tenon_status: tool<Record<string, never>>(
      room,
      "tenon_status",
      "Shows what this session holds: server instances, running programs, questions that wait for the user.",
      async (_, ctx) => {
        const status = await room.bridge().request("status/get", { session: ctx.sessionID }, { signal: ctx.abort })
        return { title: "tenon status", output: status.text, metadata: { session: status.session.id } }
      },
      () => ({}),
    ),
  }
}

/** What all tools have in common, around `work`. */
function tool<A>(
  room: ToolRoom,
  id: keyof typeof argumentsOf,
  description: string,
  work: (args: A, ctx: ToolContext, attached: Attached) => Promise<ToolResult>,
  summary: (args: A) => Record<string, unknown>,
): Tool {
  const args: Arguments = argumentsOf[id]
  return {
    description,
    args: Object.fromEntries(Object.entries(args).map(([name, { schema }]) => [name, schema])),
    async execute(given, ctx) {
      const read = readArguments<A>(id, args, given)
      const call = room.permissions.enter(ctx) // left in finally
      try {
        await room.permissions.own(call, id, summary(read))
        const attached = await unlessAborted(ctx.abort, ready(room, ctx))
        return await work(read, ctx, attached)
      } catch (error) {
        return failed(id, call, error)
      } finally {
        room.permissions.leave(call)
      }
    },
  }
}

/** Connected, and the daemon knows the session with its present rules. */
async function ready(room: ToolRoom, ctx: ToolContext): Promise<Attached> {
  if (!(await room.bridge().opened(toolWait))) throw room.bridge().problem()
  return room.sessions.attach(ctx.sessionID, ctx.agent)
}

/**
 * What a failure becomes. The turn ends only when the very object leaves that the
 * host threw at a refusal, as it would for a direct call; a program has already
 * seen its refusals as exceptions, so tenon_exec never passes one on.
 */
function failed(id: string, call: Call, error: unknown): ToolResult {
  if (call.ctx.abort.aborted) return { title: id, output: "Cancelled by the user.", metadata: { cancelled: true } }
  if (id === "tenon_call" && call.refusal !== undefined && isDenial(error)) throw call.refusal
  if (isFailure(error)) throw new Error(sentence(error))
  throw error
}

function isDenial(error: unknown): boolean {
  return isFailure(error) && (error.kind === "PermissionDenied" || error.kind === "ApprovalRequired")
}

function sentence(error: Failure): string {
  if (error.kind === "DaemonUnavailable" || error.kind === "ProtocolMismatch")
    return `tenon is not available: ${explain(error)}`
  return `${error.kind}: ${explain(error)}`
}

function originOf(ctx: ToolContext): Origin {
  return {
    session: ctx.sessionID,
    message: ctx.messageID,
    ...(ctx.callID === undefined ? {} : { call: ctx.callID }),
    agent: ctx.agent,
  }
}

/** The text is the model's; what happened besides is for whoever reads the transcript. */
function runResult({ result, text: output }: RunDone): ToolResult {
  return {
    title: title(result.calls.length),
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

function title(calls: number): string {
  return calls === 1 ? "1 call" : `${calls} calls`
}

function callResult(args: CallArguments, result: CallResult): ToolResult {
  return {
    title: `${args.server} ${args.tool}`,
    output: result.text,
    metadata: { timing: result.timing, warnings: result.warnings },
  }
}

function searchResult(args: SearchArguments, found: SearchResult): ToolResult {
  const lines = found.items.map((item) => {
    const about = item.description ? ` — ${item.description.split("\n")[0]}` : ""
    return `${item.signature}${about} [server "${item.server}", tool "${item.tool}"]`
  })
  if (lines.length === 0) lines.push(`No tool matches "${args.query}".`)
  if (found.next) lines.push(`${found.remaining} more: offset ${found.next.offset}`)
  return {
    title: `${found.items.length} of ${found.total}`,
    output: lines.join("\n"),
    metadata: { total: found.total },
  }
}
