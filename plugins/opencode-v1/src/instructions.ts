/** The one line about tenon in the system prompt. */

import { about } from "@tenon/bridge"

/** Adds the line, once, except to the side jobs of the host (titles, generated agents). */
export function instruct(sessionID: string | undefined, system: string[]): void {
  if (!sessionID || system[0]?.startsWith("You are a title generator")) return
  if (!system.includes(about)) system.push(about)
}
