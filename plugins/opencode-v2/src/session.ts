/** Sessions and agents as opencode v2 tells of them. */

import type { SessionFacts, SessionSource } from "@tenon/bridge"
import { maxSessions } from "@tenon/bridge"
import type { Rule } from "@tenon/proto"
import type { Events } from "./events.ts"
import type { Context, HostRule } from "./host.ts"

/** Where sessions are read from, with what was read last. */
export interface Source extends SessionSource {
  /** The next read of this session asks the host. */
  forget(id: string): void
}

/** Events that change what was read of a session. */
const changes = /^session\.(created|updated|deleted|moved|renamed|forked|permissions|agent\.selected|model\.selected)$/

/**
 * Reads sessions once and drops what was read when the host says that it
 * changed, or when nobody could have heard it. A tool call forgets first: its
 * rules must be those of now.
 */
export function sourceOf(ctx: Context, events: Events): Source {
  const seen = new Map<string, SessionFacts>()
  events.on((type, data) => {
    const id = changes.test(type) ? sessionIn(data) : undefined
    if (id) seen.delete(id)
  })
  events.onLost(() => seen.clear())
  return {
    forget: (id) => void seen.delete(id),
    async session(id) {
      const known = events.alive() ? seen.get(id) : undefined
      if (known) return known
      const { parentID, location, title, agent, permissions } = await ctx.session.get({ sessionID: id })
      const facts = {
        id,
        parentID,
        directory: location.directory,
        title,
        agent,
        rules: (permissions ?? []).map(ruleOf),
      }
      seen.delete(id)
      seen.set(id, facts)
      if (seen.size > maxSessions) seen.delete(seen.keys().next().value!)
      return facts
    },
    async agentRules(agent, directory) {
      // The agents of another directory are its own instance's to know.
      if (directory !== ctx.location.directory) return undefined
      const { data } = await ctx.agent.list()
      const found = data.find((each) => each.id === agent) ?? data.find((each) => each.name === agent)
      return found?.permissions?.map(ruleOf)
    },
  }
}

/** The session that an event is about. */
export function sessionIn(data: any): string | undefined {
  const id = data?.sessionID ?? data?.info?.id ?? data?.session?.id ?? data?.id
  return typeof id === "string" ? id : undefined
}

function ruleOf(rule: HostRule): Rule {
  return { permission: rule.action, pattern: rule.resource, action: rule.effect }
}
