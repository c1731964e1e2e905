/**
 * opencode's permission rules a second time, written from its documentation and
 * in another way than the plugins and the daemon have them: a table of what
 * matches, character by character.
 */

import type { Rule } from "@tenon/proto"

/** Whether a pattern matches the whole of a text. */
export function oracleMatches(pattern: string, text: string): boolean {
  const slashed = (words: string) => words.split("\\").join("/")
  const [p, t] = [slashed(pattern), slashed(text)]
  // "git *" is for "git" too.
  return whole(p, t) || (p.endsWith(" *") && whole(p.slice(0, p.length - 2), t))
}

function whole(pattern: string, text: string): boolean {
  // ends[j]: the pattern so far can end behind the first j units of the text.
  let ends = Array.from({ length: text.length + 1 }, (_, j) => j === 0)
  for (const unit of pattern.split("")) {
    const next = ends.map(() => false)
    for (let j = 0; j <= text.length; j++) {
      if (unit === "*") next[j] = ends[j]! || (j > 0 && next[j - 1]!)
      else if (j > 0) next[j] = ends[j - 1]! && (unit === "?" || unit === text[j - 1])
    }
    ends = next
  }
  return ends[text.length]!
}

/** What an ordered list says of one key and resource: the last that matches wins, and without one the user is asked. */
export function oracleVerdict(rules: Rule[], key: string, resource = "*"): Rule["action"] {
  let verdict: Rule["action"] = "ask"
  for (const { permission, pattern, action } of rules) {
    if (oracleMatches(permission, key) && oracleMatches(pattern, resource)) verdict = action
  }
  return verdict
}
