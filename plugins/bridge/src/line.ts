/**
 * The line from a plugin to tenon's entry in its host's TUI, as the plugin sees
 * it: a question goes out to whoever listens, who says that it is shown and then
 * what the user said. Nobody listening is noticed at once.
 */

import { within } from "./within.ts"

/** What a TUI answers: a decision, or a form's values. */
export interface LineAnswer {
  reply?: "once" | "always" | "reject"
  feedback?: string
  action?: "accept" | "decline" | "cancel"
  values?: Record<string, unknown>
}

/** Something that is shown until it is answered. */
export interface Waiting {
  shown(): void
  answer(given: LineAnswer): void
}

/** The line. */
export interface Line {
  /** Asks. Undefined when no TUI shows it, or `signal` took it back. */
  put(data: { id: string }, signal: AbortSignal, shown: () => void): Promise<LineAnswer | undefined>
  /** Shows a message. False when no TUI does. */
  notice(data: { id: string }): Promise<boolean>
  /** A TUI shows something. False when nobody waits for that any more. */
  shown(id: string): boolean
  /** A TUI has an answer. False when nobody waits for it any more. */
  answer(id: string, given: LineAnswer): boolean
}

/** A TUI that has not said so within this time shows nothing (milliseconds). */
const shownTimeout = 500

/**
 * Makes the line. `emit` sends an event to all TUIs and says whether it could;
 * `waiting` is given where several instances share what TUIs answer.
 */
export function askLine(
  emit: (event: "ask" | "withdraw" | "notice", data: { id: string }) => Promise<boolean>,
  waiting = new Map<string, Waiting>(),
): Line {
  const tell = (id: string, use: (entry: Waiting) => void): boolean => {
    const entry = waiting.get(id)
    if (entry) use(entry)
    return entry !== undefined
  }
  return {
    shown: (id) => tell(id, (entry) => entry.shown()),
    answer: (id, given) => tell(id, (entry) => entry.answer(given)),
    async put(data, signal, shown) {
      if (signal.aborted) return undefined
      let see = () => {}
      let settle: Waiting["answer"] = () => {}
      let stop = () => {}
      const seen = new Promise<true>((resolve) => (see = () => resolve(true)))
      const answered = new Promise<LineAnswer>((resolve) => (settle = resolve))
      const stopped = new Promise<undefined>((resolve) => (stop = () => resolve(undefined)))
      signal.addEventListener("abort", stop, { once: true })
      waiting.set(data.id, { shown: see, answer: settle })
      try {
        if (!(await emit("ask", data))) return undefined
        if (!(await within(Promise.race([seen, answered, stopped]), shownTimeout))) return undefined
        shown()
        return await Promise.race([answered, stopped])
      } finally {
        signal.removeEventListener("abort", stop)
        waiting.delete(data.id)
        await emit("withdraw", { id: data.id }) // also for the other TUIs, which show it too
      }
    },
    async notice(data) {
      let see = () => {}
      const seen = new Promise<true>((resolve) => (see = () => resolve(true)))
      waiting.set(data.id, { shown: see, answer: () => {} })
      try {
        return (await emit("notice", data)) && ((await within(seen, shownTimeout)) ?? false)
      } finally {
        waiting.delete(data.id)
      }
    },
  }
}
