/**
 * Whether a session may use tenon's own tools. The host never asks for a
 * plugin's tool, so its rules are read here, with its own semantics: the last
 * that matches wins, none means ask.
 */

import { matches } from "@tenon/bridge"
import type { RuleList } from "@tenon/proto"

/** Tools that only look; a rule must name them to hold them back. */
const readOnly = new Set(["tenon_search", "tenon_types", "tenon_catalog", "tenon_status"])

/** Whether a permission is that of a tool of tenon's that only looks. */
export function isReadOnly(id: string): boolean {
  return readOnly.has(id)
}

/** What the host's rules say of one of tenon's tools. Rules that are not known to be current say nothing. */
export function ownVerdict(list: RuleList | undefined, id: string): "allow" | "ask" | "deny" {
  if (!list?.confirmed) return "allow" // the calls inside are asked about one by one
  const rule = list.rules.findLast(({ permission, pattern }) => matches(permission, id) && matches(pattern, "*"))
  const verdict = rule?.action ?? "ask"
  if (verdict === "ask" && readOnly.has(id) && (!rule || /^\*+$/.test(rule.permission))) return "allow"
  return verdict
}
