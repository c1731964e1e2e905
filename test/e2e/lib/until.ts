/** Waiting for conditions instead of sleeping. */

import { setTimeout as pause } from "node:timers/promises"

/** How long anything may take before a test gives up; machines of CI are slow. */
export const patience = 60_000

/** Polls until `condition` gives something other than undefined or false. */
export async function until<T>(what: string, condition: () => T | Promise<T>, ms = patience): Promise<NonNullable<T>> {
  const deadline = Date.now() + ms
  for (;;) {
    const value = await condition()
    if (value !== undefined && value !== false && value !== null) return value as NonNullable<T>
    if (Date.now() > deadline) throw new Error(`never: ${what}`)
    await pause(15)
  }
}
