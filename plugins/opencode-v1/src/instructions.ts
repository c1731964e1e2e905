/** tenon's part of the system prompt. */

import { about, type Instructions } from "@tenon/bridge"

/** Adds the part, once, except to the side jobs of the host (titles, generated agents). */
export async function instruct(
  sessionID: string | undefined,
  system: string[],
  instructions: Instructions,
): Promise<void> {
  if (!sessionID || system[0]?.startsWith("You are a title generator")) return
  if (!system.some((part) => part.startsWith(about))) system.push(await instructions.text(sessionID))
}
