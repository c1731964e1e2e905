/** Sessions and agents as opencode v1 tells of them. */

import type { SessionFacts, SessionSource } from "@tenon/bridge"
import type { Client, HostSession } from "./host.ts"

/** Reads them from the host's client, which answers failures as values. */
export function sourceOf(client: Client): SessionSource {
  return {
    async session(id) {
      const { data } = await client.session.get({ path: { id } })
      return data && factsOf(data)
    },
    async agentRules(agent, directory) {
      const { data } = await client.app.agents({ query: { directory } })
      return data?.find((each) => each.name === agent)?.permission
    },
  }
}

/** A session of the host in the words of all hosts. */
export function factsOf(session: HostSession): SessionFacts {
  const { id, parentID, directory, title, agent, permission } = session
  return { id, parentID, directory, title, agent, rules: permission }
}
