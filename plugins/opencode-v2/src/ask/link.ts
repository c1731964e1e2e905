/**
 * Route 2: tenon's own entry in the TUI, over the host's rpc. It reaches the
 * user also for scripts from bash, without an address or password, wherever a TUI
 * has the entry loaded.
 */

import { within } from "@tenon/bridge"
import type { Notice } from "@tenon/proto"
import type { Context } from "../host.ts"
import { plain, plainJSON } from "../plain.ts"
import definition from "../rpc.ts"
import type { Filled, Form, Prompt, Route } from "./route.ts"

/** The route, and toasts. */
export interface Link extends Required<Route> {
  /** False when no TUI shows it. */
  notice(notice: Notice): Promise<boolean>
  close(): Promise<void>
}

/** What a TUI answers. */
interface Answer {
  reply?: "once" | "always" | "reject"
  feedback?: string
  action?: "accept" | "decline" | "cancel"
  values?: Record<string, unknown>
}

interface Waiting {
  shown(): void
  answer(given: Answer): void
}

/** A TUI that has not said so within this time shows nothing (milliseconds). */
const shownTimeout = 500

/** Makes the link. The host may lack rpc: then it reaches nobody. */
export async function tuiLink(ctx: Context): Promise<Link> {
  const waiting = table()
  const answer = (id: unknown, use: (entry: Waiting) => void) => {
    const entry = waiting.get(String(id))
    if (entry) use(entry)
    return { known: entry !== undefined }
  }
  const registered = await ctx.rpc
    ?.register(definition, {
      shown: async ({ id }) => answer(id, (entry) => entry.shown()),
      answer: async ({ id, ...given }) => answer(id, (entry) => entry.answer(given)),
    })
    .catch(() => undefined)

  const emit = async (name: string, data: unknown) => {
    if (!registered) return false
    return registered.events.emit(name, data).then(
      () => true,
      () => false,
    )
  }

  /** Shows something and waits for the answer; undefined when no TUI does, or it was withdrawn. */
  const put = async (data: { id: string }, signal: AbortSignal, shown: () => void): Promise<Answer | undefined> => {
    if (signal.aborted) return undefined
    let entry!: Waiting
    const seen = new Promise<true>((resolve) => {
      entry = { shown: () => resolve(true), answer: () => {} }
    })
    const answered = new Promise<Answer>((resolve) => (entry.answer = resolve))
    let stop = () => {}
    const stopped = new Promise<undefined>((resolve) => {
      stop = () => resolve(undefined)
      signal.addEventListener("abort", stop, { once: true })
    })
    waiting.set(data.id, entry)
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
  }

  return {
    name: "tui",
    async ask(prompt, signal, shown) {
      const given = await put(askOf(prompt), signal, shown)
      if (!given?.reply) return undefined
      return given.feedback
        ? { reply: given.reply, feedback: plain(given.feedback, 2_000) }
        : { reply: given.reply === "always" && !prompt.always ? "once" : given.reply }
    },
    async fill(form, signal, shown) {
      const given = await put(formOf(form), signal, shown)
      return given?.action && filledOf(given.action, given.values)
    },
    async notice({ level, message }) {
      const id = `notice-${++last}`
      let entry!: Waiting
      const seen = new Promise<true>((resolve) => (entry = { shown: () => resolve(true), answer: () => {} }))
      waiting.set(id, entry)
      try {
        if (!(await emit("notice", { id, level, message: plain(message) }))) return false
        return (await within(seen, shownTimeout)) ?? false
      } finally {
        waiting.delete(id)
      }
    },
    close: async () => registered?.dispose().catch(() => {}),
  }
}

let last = 0

function askOf({ id, session, title, details, always }: Prompt) {
  return { id, session, title: plain(title, 200), message: plainJSON(details), always }
}

function formOf({ id, session, title, message, url, fields }: Form) {
  return { id, session, title: plain(title, 200), message: plain(message), fields, ...(url ? { url } : {}) }
}

function filledOf(action: "accept" | "decline" | "cancel", values: Record<string, unknown> = {}): Filled {
  if (action !== "accept") return { action }
  const clean: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "string") clean[name] = value
    else if (Array.isArray(value)) clean[name] = value.filter((each): each is string => typeof each === "string")
  }
  return { action, values: clean }
}

/**
 * Of the process: a TUI's answer reaches the instance that registered last, which
 * need not be the one that asks.
 */
function table(): Map<string, Waiting> {
  const shared = globalThis as { [shelf]?: Map<string, Waiting> }
  return (shared[shelf] ??= new Map())
}

const shelf = Symbol.for("opencode-tenon.v2.questions")
