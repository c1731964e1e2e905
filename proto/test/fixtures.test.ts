/** Both languages read the same fixtures: what Go accepts and refuses, TypeScript accepts and refuses. */

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { check, decode, paramsType, resultType } from "../index.ts"
import { types } from "../schema.ts"

const files = [
  "version",
  "bridge",
  "rest",
  "result",
  "rpc",
  "program",
  "preset",
  "auth",
  "material",
  "script",
  "history",
]

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"))

for (const file of files) {
  test(`fixtures of ${file} are valid`, () => {
    for (const [type, messages] of Object.entries<unknown[]>(read(`../fixtures/${file}.json`))) {
      for (const message of messages) assert.deepEqual(check(type, message), message)
    }
  })
}

test("every type has a fixture", () => {
  const covered = files.flatMap((file) => Object.keys(read(`../fixtures/${file}.json`)))
  assert.deepEqual(covered.sort(), Object.keys(types).sort())
})

test("mistakes are named as in Go", () => {
  for (const { type, message, error } of read("../fixtures/invalid.json")) {
    assert.throws(() => decode(type, message), { name: "FieldError", message: error })
  }
})

test("members that every object inherits are unknown fields too", () => {
  assert.throws(() => decode("Detach", '{"session":"s","deleted":true,"constructor":1}'), {
    message: "constructor: is not a known field",
  })
})

test("each method names its types", () => {
  assert.equal(paramsType("permission/ask"), "Ask")
  assert.equal(resultType("permission/ask"), "AskReply")
  assert.equal(resultType("run/event"), undefined)
  assert.equal(paramsType("no/such"), undefined)
})
