/** What the guard promises of every input, the fixtures only of some. */

import assert from "node:assert/strict"
import fc from "fast-check"
import { check, decode } from "../index.ts"
import { types } from "../schema.ts"
import { anyMessage, anyType, damaged, document, holds, json, name, written } from "./fuzz.ts"

/** What the guard says: the value, or its own error. */
function judged(type: string, value: unknown): { value?: unknown; path?: string } {
  try {
    return { value: check(type, value) }
  } catch (error) {
    const { name: kind, path, problem, message } = error as Error & { path: string; problem: string }
    assert.equal(kind, "FieldError", `${kind}: ${message}`)
    assert.equal(message, path === "" ? problem : `${path}: ${problem}`)
    return { path }
  }
}

holds(
  "what the schemas allow is taken as it is, and comes back from JSON the same",
  fc.property(anyMessage, ({ type, value }) => {
    assert.equal(judged(type, value).value, value)
    const sent = written(value)
    assert.equal(written(decode(type, sent)), sent)
  }),
)

holds(
  "whatever a message is, it is taken or refused by a FieldError, and not changed",
  fc.property(
    anyType.chain((type) => fc.tuple(fc.constant(type), fc.oneof(json, damaged(type)))),
    ([type, value]) => {
      const before = written(value)
      const { path } = judged(type, value)
      assert.equal(written(value), before)
      // A mistake of the same message is the same mistake, also of a copy that came as text.
      assert.equal(judged(type, JSON.parse(before)).path, path)
    },
  ),
)

holds(
  "text that is no message is refused by a FieldError",
  fc.property(anyType, document, (type, text) => {
    try {
      decode(type, text)
    } catch (error) {
      assert.equal((error as Error).name, "FieldError", String(error))
    }
  }),
)

holds(
  "a required member that is gone is named, and so is one that nobody knows",
  fc.property(anyMessage, name, fc.nat(), ({ type, value }, more, at) => {
    const { properties, required = [], additionalProperties } = types[type]!
    if (!properties) return
    const gone = required[at % Math.max(1, required.length)]
    if (gone !== undefined) {
      const { [gone]: _, ...rest } = value
      assert.equal(
        judged(type, rest).path,
        required.find((each) => !Object.hasOwn(rest, each)),
      )
    }
    if (additionalProperties || Object.hasOwn(properties, more)) return
    assert.notEqual(judged(type, Object.fromEntries([...Object.entries(value), [more, 1]])).path, undefined)
  }),
)
