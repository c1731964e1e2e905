/** Patterns of permissions: as opencode matches them, and in a time that can be waited for. */

import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { holds, text } from "../../../proto/test/fuzz.ts"
import { matches } from "../src/index.ts"
import { oracleMatches } from "./oracle.ts"

/** Few letters, so that patterns often match; with what regular expressions and paths would take for something else. */
const letters = fc.constantFrom(..."ab_ /\\.*?^$+()[]{}|-\n\u{1f600}é\ud83d".split(""))
const word = fc.string({ unit: letters, maxLength: 12 })

/** A pattern made of a text, so that it is near to it. */
const near = word.chain((given) =>
  fc.tuple(fc.constant(given), fc.array(fc.constantFrom("keep", "star", "any", "drop"), { maxLength: 14 })),
)

/** The host's own way, an escaped regular expression; only for patterns with few stars. */
function expression(pattern: string, given: string): boolean {
  let source = pattern
    .replaceAll("\\", "/")
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*/g, "[^]*")
    .replace(/\?/g, "[^]")
  if (source.endsWith(" [^]*")) source = `${source.slice(0, -5)}( [^]*)?`
  return new RegExp(`^${source}$`).test(given.replaceAll("\\", "/"))
}

const agree = (pattern: string, given: string) => {
  const ours = matches(pattern, given)
  assert.equal(ours, oracleMatches(pattern, given), "the oracle says otherwise")
  if (pattern.split("*").length < 6)
    assert.equal(ours, expression(pattern, given), "a regular expression says otherwise")
}

holds("a pattern matches what opencode says that it matches", fc.property(word, word, agree), {
  examples: [
    ["git *", "git"],
    ["git *", "git push"],
    ["git *", "gitk"],
    [" *", ""],
    ["* *", ""],
    ["a\\*", "a/b"],
    ["?", "\u{1f600}"],
    ["??", "\u{1f600}"],
    ["a?b", "a\nb"],
    ["**", ""],
  ],
})

holds(
  "so it is with patterns that nearly match",
  fc.property(near, ([given, edits]) => {
    const pattern = given
      .split("")
      .map((unit, i) => ({ keep: unit, star: "*", any: "?", drop: "" })[edits[i] ?? "keep"])
      .join("")
    agree(pattern, given)
  }),
)

holds(
  "a text without wildcards matches itself, and a star everything",
  fc.property(text, (given) => {
    assert.ok(matches("*", given))
    assert.ok(matches(given.replaceAll("*", "?"), given))
  }),
)

test("a pattern of many stars takes no time", { timeout: 10_000 }, () => {
  assert.equal(matches("*a".repeat(2_000) + "b", "a".repeat(5_000)), false)
})
