/** The host's permission rules as data: the agent's merged list, then the session's own. */

import { createHash } from "node:crypto"
import type { RuleList } from "@tenon/proto"
import type { Client, HostRule, HostSession } from "./host.ts"

/**
 * Reads the list that holds for a session and agent now. Undefined when the
 * host does not answer or does not know the agent: what is not known to be
 * current must not be sent as confirmed.
 */
export async function readRules(client: Client, session: HostSession, agent: string): Promise<RuleList | undefined> {
  const { data } = await client.app.agents({ query: { directory: session.directory } })
  const found = data?.find((each) => each.name === agent)
  if (!found?.permission) return undefined
  const rules = [...found.permission, ...(session.permission ?? [])].map(plain)
  return { version: versionOf(agent, rules), agent, confirmed: true, rules }
}

/**
 * The list as it was last read, marked as not current: every key of it counts
 * as "ask", which puts the decision to the host itself.
 */
export function unconfirmed(last: RuleList | undefined): RuleList | undefined {
  return last && { ...last, confirmed: false }
}

/** The three members the daemon knows, whatever the host adds. */
function plain(rule: HostRule): HostRule {
  return { permission: rule.permission, pattern: rule.pattern, action: rule.action }
}

function versionOf(agent: string, rules: HostRule[]): string {
  return createHash("sha256")
    .update(JSON.stringify([agent, rules]))
    .digest("hex")
    .slice(0, 16)
}
