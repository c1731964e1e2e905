/** What the plugin makes of rules, questions, events and files of the host, whatever they hold. */

import assert from "node:assert/strict"
import fc from "fast-check"
import type { Rule } from "@tenon/proto"
import { oracleMatches, oracleVerdict } from "../../bridge/test/oracle.ts"
import { holds, text } from "../../../proto/test/fuzz.ts"
import { isReadOnly, ownVerdict } from "../src/verdict.ts"

const ids = ["tenon_exec", "tenon_call", "tenon_search", "tenon_types", "tenon_catalog", "tenon_status"]

/** A pattern that is near to the name of a tool. */
const near = fc
  .tuple(fc.constantFrom(...ids), fc.nat(14), fc.constantFrom("*", "?", " *", "\\", ""))
  .map(([id, at, wild]) => id.slice(0, at) + wild + (wild === "?" ? id.slice(at + 1) : ""))
const rule: fc.Arbitrary<Rule> = fc.record({
  permission: fc.oneof(fc.constantFrom(...ids, "*", "**", "tenon_*", "tenon_exec *", "?*"), near, text),
  pattern: fc.oneof(fc.constantFrom("*", "**", "?", "\\*", "* *", "/p/*"), text),
  action: fc.constantFrom("allow", "ask", "deny"),
})
const rules = fc.array(rule, { maxLength: 6 })

holds(
  "tenon's own tools are never more free than opencode's rules leave them",
  fc.property(rules, fc.constantFrom(...ids), (list, id) => {
    const ours = ownVerdict({ version: "1", agent: "build", confirmed: true, rules: list }, id)
    const host = oracleVerdict(list, id)
    if (ours === host) return
    // The one exception that is documented: what only looks is held back by a rule that names it.
    assert.deepEqual([host, ours], ["ask", "allow"])
    assert.ok(isReadOnly(id))
    const last = list.findLast((each) => oracleMatches(each.permission, id) && oracleMatches(each.pattern, "*"))
    assert.match(last?.permission ?? "*", /^\*+$/)
  }),
  {
    examples: [
      [[{ permission: "tenon_exec *", pattern: "*", action: "deny" }], "tenon_exec"],
      [[{ permission: "*", pattern: "* *", action: "deny" }], "tenon_exec"],
      [
        [{ permission: "*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*x", pattern: "*", action: "deny" }],
        "tenon_catalog",
      ],
    ],
  },
)
