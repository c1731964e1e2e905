/**
 * Route 1: the host's own permission dialog. A request is created over the
 * host's HTTP API, and the plugin's evaluate hook turns exactly that request
 * into a question, since the host's rules would often let it pass. It is the
 * soundest: native, on every client, with nothing between the user and the host.
 */

import { randomBytes } from "node:crypto"
import { plain, within } from "@tenon/bridge"
import type { Events } from "../events.ts"
import type { Context, EvaluateEvent } from "../host.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Decision, Prompt, Route } from "./route.ts"

/** The route, and its part of the evaluate hook. */
export interface DialogRoute extends Route {
  /** Makes a question of the route's own request. True when it was one. */
  evaluate(event: EvaluateEvent): boolean
}

/** One request on its way. */
interface Open {
  request: string
  prompt: Prompt
  /** The host's events have named it. */
  asked(): void
  replied(decision: Decision): void
  lost(): void
}

/** For the host's answer to the request (milliseconds). */
const createTimeout = 800
/** From there to the event that says it is asked: longer, and it is another process's server. */
const askedTimeout = 500
/** How long such a server is left alone. */
const foreignFor = 60_000
/** A request that was given up is still looked for so long. */
const lateFor = 10_000

/** Where the nonce is in a request's metadata. */
const nonceKey = "tenon"

/** Makes the route. */
export function dialogRoute(ctx: Context, events: Events, find: () => Endpoint | undefined): DialogRoute {
  const open = new Map<string, Open>() // by nonce
  /** Requests that were given up before the host had answered: they may still be made. */
  const late = new Map<string, Open>()
  /** Addresses that turned out to be somebody else's, and until when that is believed. */
  const foreign = new Map<string, number>()

  events.on((type, data) => {
    if (type === "permission.asked") {
      const nonce = data.metadata?.[nonceKey]
      open.get(nonce)?.asked()
      const given = late.get(nonce)
      if (given) void clear(given)
    }
    if (type !== "permission.replied") return
    for (const each of open.values()) if (each.request === data.requestID) each.replied(decisionOf(data))
  })
  events.onLost(() => {
    for (const each of open.values()) each.lost()
  })

  /** Takes the host's request back. With a message: a bare reject would reject the session's others too. */
  const clear = ({ request, prompt }: Open) =>
    ctx.permission
      .reply({ sessionID: prompt.session, requestID: request, decision: "reject", reply: "reject", message: withdrawn })
      .catch(() => {}) // answered meanwhile

  return {
    name: "dialog",
    evaluate(event) {
      const nonce = event.metadata?.[nonceKey]
      const mine = typeof nonce === "string" ? open.get(nonce) : undefined
      if (!mine || mine.prompt.session !== event.sessionID || mine.prompt.key !== event.action) return false
      if (event.resources.length !== 1 || event.resources[0] !== resourceOf(mine.prompt)) return false
      if (event.effect === "allow") event.effect = "ask" // never the other way
      event.message = mine.prompt.title
      return true
    },
    async ask(prompt, signal, shown) {
      const endpoint = find()
      if (!endpoint || !events.alive() || signal.aborted) return undefined
      if ((foreign.get(endpoint.url) ?? 0) > Date.now()) return undefined
      const nonce = randomBytes(16).toString("hex")
      let entry!: Open
      const asked = new Promise<true>((resolve) => {
        entry = { request: `per_${nonce}`, prompt, asked: () => resolve(true), replied: () => {}, lost: () => {} }
      })
      const answered = new Promise<Decision | undefined>((resolve) => {
        entry.replied = resolve
        entry.lost = () => resolve(undefined)
      })
      open.set(nonce, entry) // before the request: its events may be faster than its answer
      const stop = () => entry.lost()
      signal.addEventListener("abort", stop, { once: true })
      try {
        const created = await create(endpoint, entry, nonce, signal)
        if (created?.effect === "deny") return { reply: "reject", denied: true }
        if (created?.effect !== "ask") return undefined // refused, or let pass without asking
        entry.request = created.id
        if (!(await within(Promise.race([asked, answered.then(() => true)]), askedTimeout))) {
          foreign.set(endpoint.url, Date.now() + foreignFor)
          return undefined
        }
        shown()
        return await answered
      } finally {
        signal.removeEventListener("abort", stop)
        open.delete(nonce)
        if (!(await settled(answered))) {
          late.set(nonce, entry)
          setTimeout(() => late.delete(nonce), lateFor).unref()
          await within(clear(entry), createTimeout)
        }
      }
    },
  }
}

const withdrawn = "no longer asked by tenon"

const resourceOf = (prompt: Prompt) => prompt.resource ?? "*"

async function create(
  endpoint: Endpoint,
  { request, prompt }: Open,
  nonce: string,
  signal: AbortSignal,
): Promise<{ id: string; effect: string } | undefined> {
  const { session, agent, key, call, details } = prompt
  try {
    const response = await fetch(`${endpoint.url}/api/session/${encodeURIComponent(session)}/permission`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(endpoint.authorization ? { authorization: endpoint.authorization } : {}),
      },
      body: JSON.stringify({
        id: request,
        action: key,
        resources: [resourceOf(prompt)],
        save: [], // "always" is tenon's to remember
        metadata: { ...details, [nonceKey]: nonce },
        ...(call ? { source: { type: "tool", messageID: call.ctx.messageID, id: call.ctx.id } } : {}),
        ...(agent ? { agent } : {}),
      }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(createTimeout)]),
      redirect: "error",
    })
    if (!response.ok) return undefined
    const body = (await response.json()) as any
    const { id, effect } = body?.data ?? body ?? {}
    return typeof id === "string" && typeof effect === "string" ? { id, effect } : undefined
  } catch {
    return undefined
  }
}

function decisionOf(data: any): Decision {
  const reply = data.reply ?? data.decision
  if (reply === "once" || reply === "always") return { reply }
  return typeof data.message === "string" && data.message !== ""
    ? { reply: "reject", feedback: plain(data.message, 2_000) }
    : { reply: "reject" }
}

/** Whether the user, or a rule, has answered. */
async function settled(answered: Promise<Decision | undefined>): Promise<boolean> {
  return (await Promise.race([answered, Promise.resolve(undefined)])) !== undefined
}
