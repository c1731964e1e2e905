/**
 * The plugin's say in the host's permission checks: its own request becomes a
 * question, and tenon's tools that only look need none. Everything else stays as
 * the host has it.
 */

import type { Sessions } from "@tenon/bridge"
import { hookWait, within } from "@tenon/bridge"
import type { DialogRoute } from "./ask/dialog.ts"
import type { Context } from "./host.ts"
import { isReadOnly, ownVerdict } from "./verdict.ts"

/** Registers the hook. `registered`: tenon is in the host as an MCP server, whose tools the host asks about. */
export async function evaluate(
  ctx: Context,
  dialog: DialogRoute,
  sessions: Sessions,
  registered: boolean,
): Promise<void> {
  await ctx.permission.hook("evaluate", async (event) => {
    try {
      if (dialog.evaluate(event) || !registered || event.effect !== "ask" || !isReadOnly(event.action)) return
      const attached = await within(sessions.attach(event.sessionID, event.agent), hookWait)
      if (attached?.rules?.confirmed && ownVerdict(attached.rules, event.action) === "allow") event.effect = "allow"
    } catch {
      // The host's own verdict stands.
    }
  })
}
