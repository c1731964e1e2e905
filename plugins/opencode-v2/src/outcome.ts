/**
 * Records what the host's own tools came to, so that tenon's history shows a
 * session's work in one place. Tools that died without an outcome are not told of
 * by the host.
 */

import type { Bridge } from "@tenon/bridge"
import type { Context } from "./host.ts"

/** Calls whose start is remembered; the oldest goes first. */
const most = 256

/** Registers the hooks. tenon's own tools have runs and calls of their own there. */
export async function outcomes(ctx: Context, bridge: () => Bridge): Promise<void> {
  const started = new Map<string, number>()
  await ctx.tool.hook("execute.before", ({ tool, sessionID, messageID, id }) => {
    if (tool.startsWith("tenon_")) return
    started.set(JSON.stringify([sessionID, messageID, id, tool]), Date.now())
    if (started.size > most) started.delete(started.keys().next().value!)
  })
  await ctx.tool.hook("execute.after", ({ tool, sessionID, messageID, id, status }) => {
    if (tool.startsWith("tenon_")) return
    // Calls of one program share their id: the time of the latest is the nearest there is.
    const key = JSON.stringify([sessionID, messageID, id, tool])
    const since = started.get(key)
    started.delete(key)
    bridge().notify("tool/outcome", {
      origin: { session: sessionID, message: messageID, call: id },
      tool,
      status: status === "completed" ? "ok" : "error",
      ...(since === undefined ? {} : { ms: Date.now() - since }),
    })
  })
}
