/** What the host tells of its sessions, told on. */

import type { Instructions, Sessions } from "@tenon/bridge"
import type { Events } from "./events.ts"
import { sessionIn, type Source } from "./session.ts"

/** Who hears of them. */
export interface SessionRoom {
  events: Events
  source: Source
  sessions: Sessions
  instructions: Instructions
  directory: string
}

/** Begins to listen. Whatever fails here is told by the session's next call. */
export function followSessions({ events, source, sessions, instructions, directory }: SessionRoom): void {
  const moved = async (id: string) => {
    const facts = await source.session(id)
    if (!facts) return
    if (facts.directory !== directory) {
      sessions.left(id) // its new location's instance serves it
      instructions.forget(id)
    } else if (sessions.known(id)) sessions.updated(facts)
    else await sessions.attach(id) // at once: its old instance lets go of it now
  }
  const changed = async (id: string) => {
    const facts = sessions.known(id) && (await source.session(id))
    if (facts) sessions.updated(facts)
  }
  events.on((type, data) => {
    const id = type.startsWith("session.") ? sessionIn(data) : undefined
    if (!id) return
    switch (type) {
      case "session.deleted":
        sessions.deleted(id)
        return instructions.forget(id)
      case "session.moved":
        return void moved(id).catch(() => {})
      case "session.updated":
      case "session.renamed":
        return void changed(id).catch(() => {})
      case "session.permissions":
        return void sessions.rulesChanged(id).catch(() => {})
      case "session.agent.selected": {
        const agent = typeof data.agent === "string" ? data.agent : undefined
        return void sessions.rulesChanged(id, agent).catch(() => {})
      }
    }
  })
}
