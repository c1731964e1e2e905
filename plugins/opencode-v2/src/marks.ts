/**
 * Carries a session from the hook that knows it to the hook that does not: the
 * model's shell command gets a mark in `execute.before`, and loses it in
 * `create.before`, before the host parses it, asks about it or starts it. A mark
 * is 128 random bits and used once, so that no command can be taken for another
 * session's, whatever the order in which the hooks of several calls run.
 */

import { randomBytes } from "node:crypto"

/** A shell command between its two hooks. */
export interface Mark {
  session: string
  /** The host's id of the call. */
  call: string
}

/** The marks that are on their way. */
export interface Marks {
  /** The command with a mark in front. */
  put(mark: Mark, command: string): { text: string; token: string }
  /** Takes a mark back that never left. */
  drop(token: string): void
  /** Finds the mark in a command, and gives the command as it was. */
  take(command: string): { mark: Mark; command: string } | undefined
  /** Whether a command of an agent is still on its way: one without a mark may be it. */
  underway(): boolean
  /** The call is over. */
  ended(mark: Mark): void
  /** Nothing of the session is on its way any more. */
  forget(session: string): void
}

/** A mark that has not arrived after so long never will (milliseconds); other plugins' hooks may ask the user between. */
const lifetime = 600_000
/** So many are remembered; the oldest goes first. */
const most = 1_024

/** Still a command when it should ever stay: `:` does nothing. */
const prefix = ": tenon_"
const suffix = "; "
const pattern = new RegExp(`${prefix}([0-9a-f]{32})${suffix}`, "g")

/** Makes the table; `now` is a clock in milliseconds. */
export function markTable(now: () => number = Date.now): Marks {
  const marks = new Map<string, Mark & { since: number }>()

  const expire = () => {
    for (const [token, { since }] of marks) {
      if (now() - since < lifetime && marks.size <= most) return // in order of age
      marks.delete(token)
    }
  }

  return {
    put(mark, command) {
      const token = randomBytes(16).toString("hex")
      marks.set(token, { ...mark, since: now() })
      expire()
      return { token, text: `${prefix}${token}${suffix}${command}` }
    },
    drop: (token) => void marks.delete(token),
    take(command) {
      for (const match of command.matchAll(pattern)) {
        const mark = marks.get(match[1]!)
        if (!mark) continue // somebody's own text
        marks.delete(match[1]!)
        return {
          mark: { session: mark.session, call: mark.call },
          command: command.slice(0, match.index) + command.slice(match.index + match[0].length),
        }
      }
      return undefined
    },
    underway() {
      expire()
      return marks.size > 0
    },
    ended({ session, call }) {
      for (const [token, mark] of marks) if (mark.session === session && mark.call === call) marks.delete(token)
    },
    forget(session) {
      for (const [token, mark] of marks) if (mark.session === session) marks.delete(token)
    },
  }
}
