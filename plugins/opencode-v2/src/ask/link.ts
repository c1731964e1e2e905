/**
 * Route 2: tenon's own entry in the TUI, over the host's rpc. It reaches the
 * user also for scripts from bash, without an address or password, wherever a TUI
 * has the entry loaded.
 */

import { askLine, plain, plainJSON, valuesOf, type LineAnswer, type Waiting } from "@tenon/bridge"
import type { Notice } from "@tenon/proto"
import type { Context } from "../host.ts"
import definition from "../rpc.ts"
import type { Filled, Form, Prompt, Route } from "./route.ts"

/** The route, and toasts. */
export interface Link extends Required<Route> {
  /** False when no TUI shows it. */
  notice(notice: Notice): Promise<boolean>
  close(): Promise<void>
}

/** Makes the link. The host may lack rpc: then it reaches nobody. */
export async function tuiLink(ctx: Context): Promise<Link> {
  const line = askLine(async (event, data) => {
    if (!registered) return false
    return registered.events.emit(event, data).then(
      () => true,
      () => false,
    )
  }, table())
  const registered = await ctx.rpc
    ?.register(definition, {
      shown: async ({ id }) => ({ known: line.shown(id) }),
      answer: async ({ id, ...given }) => ({ known: line.answer(id, given) }),
    })
    .catch(() => undefined)
  let notices = 0

  return {
    name: "tui",
    async ask(prompt, signal, shown) {
      const given = await line.put(askOf(prompt), signal, shown)
      if (!given?.reply) return undefined
      if (given.feedback) return { reply: given.reply, feedback: plain(given.feedback, 2_000) }
      return { reply: given.reply === "always" && !prompt.always ? "once" : given.reply }
    },
    async fill(form, signal, shown) {
      const given = await line.put(formOf(form), signal, shown)
      return given && filledOf(given)
    },
    notice: ({ level, message }) => {
      const id = `notice-${process.pid}-${++notices}`
      return line.notice({ id, ...{ level, message: plain(message) } })
    },
    close: async () => registered?.dispose().catch(() => {}),
  }
}

function askOf({ id, session, title, details, always }: Prompt) {
  return { id, session, title: plain(title, 200), message: plainJSON(details), always }
}

function formOf({ id, session, title, message, url, fields }: Form) {
  return { id, session, title: plain(title, 200), message: plain(message), fields, ...(url ? { url } : {}) }
}

function filledOf({ action, values }: LineAnswer): Filled | undefined {
  return action === "accept" ? { action, values: valuesOf(values) } : action && { action }
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
