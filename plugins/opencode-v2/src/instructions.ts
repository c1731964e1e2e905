/**
 * tenon's part of the system prompt: what it is, and what it offers. A session
 * keeps the catalogue that it began with and gets changes behind it, so that the
 * beginning of its prompt stays what the provider has cached.
 */

import { about, hookWait, within, type Bridge, type Sessions } from "@tenon/bridge"
import type { Catalog } from "@tenon/proto"
import type { Context } from "./host.ts"

/** The part. */
export interface Instructions {
  /** catalog/changed of the daemon. */
  changed(): void
  /** The host deleted the session. */
  forget(session: string): void
}

interface Known {
  base: Catalog
  /** What changed since, as text; empty when nothing did. */
  delta: string
  stale: boolean
}

/** Sessions whose catalogue is remembered; the oldest goes first. */
const most = 256

/** Registers the hook. It waits no longer than 250 ms; what comes later is in the next request. */
export async function instruct(ctx: Context, bridge: () => Bridge, sessions: Sessions): Promise<Instructions> {
  const known = new Map<string, Known>()
  const loading = new Map<string, Promise<void>>()

  const load = async (session: string, agent: string | undefined) => {
    const { directory } = await sessions.attach(session, agent)
    const before = known.get(session)
    const catalog = await bridge().request("catalog/get", {
      session,
      directory,
      ...(before ? { since: before.base.fingerprint } : {}),
    })
    known.delete(session)
    known.set(session, after(before, catalog))
    if (known.size > most) known.delete(known.keys().next().value!)
  }

  const refresh = (session: string, agent: string | undefined): Promise<void> => {
    const running = loading.get(session)
    if (running) return running
    const work = load(session, agent)
      .catch(() => {}) // what was known is said again
      .finally(() => loading.delete(session))
    loading.set(session, work)
    return work
  }

  await ctx.session.hook("context", async (event) => {
    try {
      const now = known.get(event.sessionID)
      if ((!now || now.stale) && bridge().current()) await within(refresh(event.sessionID, event.agent), hookWait)
      event.system.push({ type: "text", text: textOf(known.get(event.sessionID)) })
    } catch {
      // The request goes out without a word about tenon.
    }
  })

  return {
    changed() {
      for (const each of known.values()) each.stale = true
    },
    forget: (session) => void known.delete(session),
  }
}

function after(before: Known | undefined, catalog: Catalog): Known {
  if (!before || !catalog.delta) return { base: catalog, delta: "", stale: false }
  return { base: before.base, delta: catalog.text, stale: false }
}

function textOf(known: Known | undefined): string {
  if (!known?.base.text) return about
  const parts = [about, `Inside programs, as tools.<namespace>.<tool>:\n${known.base.text}`]
  if (known.delta) parts.push(`Changed since:\n${known.delta}`)
  return parts.join("\n\n")
}
