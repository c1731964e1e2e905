/**
 * Answers permission/ask: tries the routes in their order until one reaches the
 * user. Whoever is asked and is no longer needed is told so; when no route
 * reaches anybody the daemon's own queue remains.
 */

import type { Bridge } from "@tenon/bridge"
import type { Ask, AskReply } from "@tenon/proto"
import type { Calls } from "../calls.ts"
import type { Decision, Filled, Form, Prompt, Route } from "./route.ts"

/** The questions of one directory's plugin. */
export interface Asks {
  /** Answers permission/ask; `signal` is the daemon's cancel. */
  permission(params: Ask, signal: AbortSignal): Promise<AskReply>
  /** Asks for something of tenon's own. Undefined when nobody can be reached. */
  decide(prompt: Prompt, signal: AbortSignal): Promise<Decision | undefined>
  /** Has a form filled in. Undefined when nobody can be reached. */
  fill(form: Form, signal: AbortSignal): Promise<Filled | undefined>
  /** Takes a question back; one that is over already is left alone. */
  withdraw(id: string): void
  /** Takes all back, and resolves when nothing is before the user any more. */
  close(): Promise<void>
}

interface Open {
  control: AbortController
  over: Promise<unknown>
}

/** Makes the table. `routes` is the order. */
export function askTable(routes: Route[], calls: Calls, bridge: () => Bridge): Asks {
  const open = new Map<string, Open>()

  /** Tries the routes; whichever of the signals fires takes the question back. */
  const run = async <T>(
    id: string,
    signals: (AbortSignal | undefined)[],
    each: (route: Route, signal: AbortSignal, shown: () => void) => Promise<T | undefined>,
  ): Promise<T | undefined> => {
    const control = new AbortController()
    const signal = AbortSignal.any([control.signal, ...signals.filter((one) => one !== undefined)])
    const shown = () => bridge().notify("permission/shown", { id })
    const work = (async () => {
      for (const route of routes) {
        if (signal.aborted) return undefined
        const answer = await each(route, signal, shown).catch(() => undefined)
        if (answer !== undefined) return signal.aborted ? undefined : answer
      }
      return undefined
    })()
    open.set(id, { control, over: work })
    try {
      return await work
    } finally {
      open.delete(id)
    }
  }

  const decide = (prompt: Prompt, signal: AbortSignal) =>
    run(prompt.id, [signal, prompt.call?.signal], (route, stop, shown) => route.ask(prompt, stop, shown))

  return {
    decide,
    async permission(params, signal) {
      const { origin, server, tool } = params
      const call = calls.find(origin.session, origin.call)
      const decision = await decide(
        {
          id: params.id,
          session: origin.session,
          agent: origin.agent,
          call,
          key: params.key,
          ...(params.resource === undefined ? {} : { resource: params.resource }),
          title: params.resource === undefined ? `Call tool ${params.key}` : `Fetch ${params.resource}`,
          details: { server, tool, ...(params.arguments === undefined ? {} : { arguments: params.arguments }) },
          always: true,
        },
        signal,
      )
      if (!decision) return { reply: "unavailable" }
      if (call && isBare(decision)) call.declined = true
      return decision
    },
    fill: (form, signal) =>
      run(form.id, [signal, form.call?.signal], async (route, stop, shown) => route.fill?.(form, stop, shown)),
    withdraw(id) {
      open.get(id)?.control.abort()
    },
    async close() {
      const all = [...open.values()]
      for (const { control } of all) control.abort()
      await Promise.allSettled(all.map(({ over }) => over))
    },
  }
}

/** "No", without a word and without a rule: the user wants the turn to end. */
function isBare(decision: Decision): boolean {
  return decision.reply === "reject" && !decision.denied && !decision.feedback
}
