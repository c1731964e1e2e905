/**
 * Carries a session from the hook that knows it to the hook that does not: the
 * model's shell command gets a mark in `execute.before`, and loses it in
 * `create.before`, before the host parses it, asks about it or starts it. A mark
 * is 128 random bits and used once, so that no command can be taken for another
 * session's, whatever the order in which the hooks of several calls run. A seal
 * tells the process's own marks from anybody's text, also those that are over: a
 * command with one is an agent's, and never the user's.
 */

import { createHmac, randomBytes } from "node:crypto"

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
  /**
   * Finds the mark in a command, and gives the command as it was. Without `mark`
   * it is a command of an agent, but whose cannot be told: its mark is over, or it
   * has those of two calls.
   */
  take(command: string): { mark?: Mark; command: string } | undefined
  /** Whether a command of an agent in this directory is still on its way: one without a mark may be it. */
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
const pattern = new RegExp(`${prefix}([0-9a-f]{32})([0-9a-f]{16})${suffix}`, "g")

/** What the tables of one process share: a reload between the two hooks of a command loses nothing. */
export interface Shelf {
  key: Buffer
  marks: Map<string, Mark & { since: number; directory: string }>
}

/** Makes a shelf of its own. */
export function newShelf(): Shelf {
  return { key: randomBytes(32), marks: new Map() }
}

/** The shelf of the process; by the symbol's name, every copy of the code finds the same one. */
export function processShelf(): Shelf {
  const shared = globalThis as { [shelfName]?: Shelf }
  return (shared[shelfName] ??= newShelf())
}

const shelfName = Symbol.for("opencode-tenon.v2.marks")

/** Makes the table of one directory; `now` is a clock in milliseconds. */
export function markTable(now: () => number = Date.now, shelf: Shelf = newShelf(), directory = ""): Marks {
  const { key, marks } = shelf
  const seal = (token: string) => createHmac("sha256", key).update(token).digest("hex").slice(0, 16)

  const expire = () => {
    for (const [token, { since }] of marks) {
      if (now() - since < lifetime && marks.size <= most) return // in order of age
      marks.delete(token)
    }
  }

  return {
    put(mark, command) {
      const token = randomBytes(16).toString("hex")
      marks.set(token, { ...mark, since: now(), directory })
      expire()
      return { token, text: `${prefix}${token}${seal(token)}${suffix}${command}` }
    },
    drop: (token) => void marks.delete(token),
    take(command) {
      const calls = new Map<string, Mark | undefined>()
      // All of them: another plugin may have doubled the command.
      const clean = command.replace(pattern, (text, token: string, given: string) => {
        if (seal(token) !== given) return text // somebody's own
        const mark = marks.get(token)
        if (!calls.has(token)) calls.set(token, mark && { session: mark.session, call: mark.call })
        marks.delete(token)
        return ""
      })
      if (calls.size === 0) return undefined
      const [mark] = calls.values()
      return mark && calls.size === 1 ? { mark, command: clean } : { command: clean }
    },
    underway() {
      expire()
      return [...marks.values()].some((mark) => mark.directory === directory)
    },
    ended({ session, call }) {
      for (const [token, mark] of marks) if (mark.session === session && mark.call === call) marks.delete(token)
    },
    forget(session) {
      for (const [token, mark] of marks) if (mark.session === session) marks.delete(token)
    },
  }
}
