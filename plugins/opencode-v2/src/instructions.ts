/** tenon's part of the system prompt. */

import { instructionsFor, type Bridge, type Instructions, type Sessions } from "@tenon/bridge"
import type { Context } from "./host.ts"

/** Registers the hook. */
export async function instruct(ctx: Context, bridge: () => Bridge, sessions: Sessions): Promise<Instructions> {
  const instructions = instructionsFor(bridge, sessions)
  await ctx.session.hook("context", async (event) => {
    try {
      event.system.push({ type: "text", text: await instructions.text(event.sessionID, event.agent) })
    } catch {
      // The request goes out without a word about tenon.
    }
  })
  return instructions
}
