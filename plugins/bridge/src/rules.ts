/** A host's permission rules as data: the agent's merged list, then the session's own. */

import { createHash } from "node:crypto"
import type { Rule, RuleList } from "@tenon/proto"

/** The list that holds for a session and agent now; only what was just read may be made one. */
export function listRules(agent: string, rules: Rule[]): RuleList {
  // The three members the daemon knows, whatever the host adds.
  const plain = rules.map(({ permission, pattern, action }) => ({ permission, pattern, action }))
  return { version: versionOf(agent, plain), agent, confirmed: true, rules: plain }
}

/**
 * The list as it was last read, marked as not current: every key of it counts
 * as "ask", which puts the decision to the host itself.
 */
export function unconfirmed(last: RuleList | undefined): RuleList | undefined {
  return last && { ...last, confirmed: false }
}

function versionOf(agent: string, rules: Rule[]): string {
  return createHash("sha256")
    .update(JSON.stringify([agent, rules]))
    .digest("hex")
    .slice(0, 16)
}
