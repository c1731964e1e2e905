/**
 * The tools that the model sees. Each asks for its own id first, makes sure that
 * the daemon knows the session, and gives back the text that the daemon made for
 * the model. None keeps a turn: no daemon is one sentence, an abort is an answer
 * within 250 ms.
 */

import {
  dataURL,
  isDenial,
  isFailure,
  readArguments,
  sentence,
  tools,
  toolWait,
  unlessAborted,
  type Attached,
  type Bridge,
  type Sessions,
  type ToolID,
} from "@tenon/bridge"
import type { Tool, ToolContext, ToolResult } from "./host.ts"
import type { Call, Permissions } from "./permission.ts"

/** What the tools work with. */
export interface ToolRoom {
  bridge(): Bridge
  sessions: Sessions
  permissions: Permissions
}

/** The tools by their ids. */
export function toolsOf(room: ToolRoom): Record<string, Tool> {
  return Object.fromEntries((Object.keys(tools) as ToolID[]).map((id) => [id, tool(room, id)]))
}

function tool(room: ToolRoom, id: ToolID): Tool {
  const { description, args, summary, work } = tools[id]
  return {
    description,
    args: Object.fromEntries(Object.entries(args).map(([name, { schema }]) => [name, schema])),
    async execute(given, ctx) {
      const read = readArguments(id, args, given)
      const call = room.permissions.enter(ctx) // left in finally
      try {
        await room.permissions.own(call, id, summary(read))
        const { rules } = await unlessAborted(ctx.abort, ready(room, ctx))
        const { images, ...told } = await work(room.bridge(), read, {
          origin: {
            session: ctx.sessionID,
            message: ctx.messageID,
            ...(ctx.callID === undefined ? {} : { call: ctx.callID }),
            agent: ctx.agent,
          },
          directory: ctx.directory,
          ...(rules ? { rules } : {}),
          signal: ctx.abort,
        })
        if (!images) return told
        return {
          ...told,
          attachments: images.map((image) => ({ type: "file", mime: image.mimeType, url: dataURL(image) })),
        }
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
