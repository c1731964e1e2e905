/**
 * The tools that the model sees, each of them a tool of its own rather than a
 * name inside opencode's programs. What goes wrong as it may is content: to the
 * host a rejection is a defect. None keeps a turn: no daemon is one sentence, an
 * abort is an answer within 250 ms.
 */

import {
  dataURL,
  explain,
  Failure,
  isDenial,
  isFailure,
  readArguments,
  schemaOf,
  sentence,
  tools,
  toolWait,
  unlessAborted,
  type Attached,
  type Bridge,
  type Sessions,
  type ToolID,
} from "@tenon/bridge"
import { randomUUID } from "node:crypto"
import type { Asks } from "./ask/asks.ts"
import type { Call, Calls } from "./calls.ts"
import type { Context, Tool, ToolContext, ToolResult } from "./host.ts"
import type { Reports } from "./progress.ts"
import type { Source } from "./session.ts"
import { ownVerdict } from "./verdict.ts"

/** What the tools work with. */
export interface ToolRoom {
  ctx: Context
  bridge(): Bridge
  source: Source
  sessions: Sessions
  calls: Calls
  asks: Asks
  reports: Reports
}

/** The tools. */
export function toolsOf(room: ToolRoom): Tool[] {
  return (Object.keys(tools) as ToolID[]).map((id) => tool(room, id))
}

function tool(room: ToolRoom, id: ToolID): Tool {
  const { description, args, summary, work } = tools[id]
  return {
    name: id,
    description,
    input: schemaOf(args),
    options: { codemode: false, permission: id },
    async execute(given, ctx) {
      const call = room.calls.enter(ctx) // left in finally
      const closeReport = room.reports.open(call)
      try {
        const read = readArguments<Record<string, unknown>>(id, args, given)
        const { rules, directory } = await unlessAborted(call.signal, ready(room, ctx))
        const list = rules ? { rules } : {}
        await permitted(room, id, call, summary(read), rules)
        const { title, output, metadata, images } = await work(room.bridge(), read, {
          origin: { session: ctx.sessionID, message: ctx.messageID, call: ctx.id, agent: ctx.agent },
          directory,
          ...list,
          signal: call.signal,
        })
        const shown = images?.map((image) => ({ type: "file", uri: dataURL(image), mime: image.mimeType }))
        return {
          content: shown ? [{ type: "text", text: output }, ...shown] : output,
          metadata: { title, ...metadata },
        }
      } catch (error) {
        return failed(room, id, call, error)
      } finally {
        closeReport()
        room.calls.leave(call)
      }
    },
  }
}

/** Connected, and the daemon knows the session as it is now. */
async function ready(room: ToolRoom, ctx: ToolContext): Promise<Attached> {
  if (!(await room.bridge().opened(toolWait))) throw room.bridge().problem()
  room.source.forget(ctx.sessionID)
  return room.sessions.attach(ctx.sessionID, ctx.agent)
}

/** Holds the call against the host's rules for the tool itself. */
async function permitted(
  room: ToolRoom,
  id: ToolID,
  call: Call,
  details: Record<string, unknown>,
  rules: Attached["rules"],
): Promise<void> {
  const verdict = ownVerdict(rules, id)
  if (verdict === "allow") return
  if (verdict === "deny") throw Failure("PermissionDenied", `a rule of opencode denies ${id}`)
  const { sessionID, agent } = call.ctx
  const prompt = { id: `own_${randomUUID()}`, session: sessionID, agent, call, key: id, details }
  const decision = await room.asks.decide({ ...prompt, title: `Use ${id}`, always: false }, call.signal)
  if (!decision) {
    throw Failure(
      "ApprovalRequired",
      `${id} must be allowed, and nobody can be asked`,
      "allow it in opencode's permissions",
    )
  }
  if (decision.reply !== "reject") return
  call.declined = !decision.denied && !decision.feedback
  const why = decision.denied ? `a rule of opencode denies ${id}` : `the user declined ${id}`
  throw Failure("PermissionDenied", decision.feedback ? `${why}: ${decision.feedback}` : why)
}

/** The host's own words for it. */
const declined = "The user declined this tool call"

/**
 * What a failure becomes. A refusal without a word ends the turn, as it does for
 * a direct call; a program has seen its refusals as exceptions and goes on.
 */
function failed(room: ToolRoom, id: ToolID, call: Call, error: unknown): ToolResult {
  if (call.signal.aborted) return { content: "Cancelled by the user.", metadata: { title: id, cancelled: true } }
  if (id === "tenon_call" && call.declined && isDenial(error)) {
    const end = async () => room.ctx.session.interrupt({ sessionID: call.ctx.sessionID })
    // After the host has noted the refusal, which would be an interruption otherwise.
    setTimeout(() => void end().catch(() => {}), 0)
    throw new Error(declined)
  }
  const kind = isFailure(error) ? error.kind : "UsageError"
  const content = isFailure(error) ? sentence(error) : explain(error)
  return { content, metadata: { title: id, error: { kind, message: explain(error) } } }
}
