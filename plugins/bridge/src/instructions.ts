/**
 * What the system prompt says about tenon, in every host: what it is, and what
 * it offers. A session keeps the catalogue that it began with and gets changes
 * behind it, so that the beginning of its prompt stays what the provider has
 * cached.
 */

import type { Catalog } from "@tenon/proto"
import type { Bridge } from "./bridge.ts"
import { hookWait, maxSessions } from "./limits.ts"
import type { Sessions } from "./sessions.ts"
import { within } from "./within.ts"

/** What tenon is, where its names live, and one example. */
export const about =
  "MCP servers of this project are reached through tenon. To call several tools, loop or filter, write one program with " +
  "tenon_exec: `const page = await tools.browser.snapshot({})` (names: tools.<namespace>.<tool>; only its result enters " +
  "the conversation). Find names with tenon_search; they exist inside programs and for tenon_call, not as tools of " +
  "their own. In bash, `tenon exec` and `tenon call` are this same session."

/** The words for each session. */
export interface Instructions {
  /** The text for the next request of a session. Waits 250 ms at most; what comes later is in the request after. */
  text(session: string, agent?: string): Promise<string>
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

/** Makes the words; no server is started for them. */
export function instructionsFor(bridge: () => Bridge, sessions: Sessions): Instructions {
  const known = new Map<string, Known>()
  const loading = new Map<string, Promise<void>>()

  const load = async (session: string, agent: string | undefined) => {
    const { directory } = await sessions.attach(session, agent)
    const before = known.get(session)
    if (before) before.stale = false // a change that comes meanwhile makes it stale again
    const catalog = await bridge().request("catalog/get", {
      session,
      directory,
      noStart: true,
      ...(before ? { since: before.base.fingerprint } : {}),
    })
    known.delete(session)
    known.set(session, after(before, catalog))
    if (known.size > maxSessions) known.delete(known.keys().next().value!)
  }

  const refresh = (session: string, agent: string | undefined): Promise<void> => {
    const running = loading.get(session)
    if (running) return running
    const work = load(session, agent)
      .catch(() => {
        const before = known.get(session)
        if (before) before.stale = true // what was known is said again
      })
      .finally(() => loading.delete(session))
    loading.set(session, work)
    return work
  }

  return {
    async text(session, agent) {
      const now = known.get(session)
      if ((!now || now.stale) && bridge().current()) await within(refresh(session, agent), hookWait)
      return textOf(known.get(session))
    },
    changed() {
      for (const each of known.values()) each.stale = true
    },
    forget: (session) => void known.delete(session),
  }
}

function after(before: Known | undefined, catalog: Catalog): Known {
  const stale = before?.stale ?? false
  if (!before || !catalog.delta) return { base: catalog, delta: "", stale }
  const same = catalog.fingerprint === before.base.fingerprint
  return { base: before.base, delta: same ? "" : catalog.text, stale }
}

function textOf(known: Known | undefined): string {
  if (!known?.base.text) return about
  return [about, known.base.text, ...(known.delta ? [known.delta] : [])].map((part) => part.trimEnd()).join("\n\n")
}
