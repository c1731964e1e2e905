/** Where the host's own HTTP API is found. */

import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { findEndpoint } from "../src/ask/endpoint.ts"
import { freshDirectory } from "./bench.ts"

test("the address is that of this very process", () => {
  const state = freshDirectory()
  mkdirSync(join(state, "opencode"))
  const register = (pid: number) =>
    writeFileSync(
      join(state, "opencode", "service.json"),
      JSON.stringify({ url: "http://127.0.0.1:1/", pid, password: "p" }),
    )
  const basic = (password: string) => `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`
  const find = (more: object) =>
    findEndpoint({ options: {}, argv: [], env: { XDG_STATE_HOME: state }, pid: 7, ...more })
  assert.equal(find({}), undefined)
  register(8)
  assert.equal(find({}), undefined, "another process's service")
  register(7)
  assert.deepEqual(find({}), { url: "http://127.0.0.1:1", authorization: basic("p") })
  const options = { url: "http://127.0.0.1:2", password: "q" }
  assert.deepEqual(find({ options }), { url: "http://127.0.0.1:2", authorization: basic("q") })
  const env = { OPENCODE_SERVER_PASSWORD: "r" }
  const argv = ["opencode", "serve", "--port", "4096", "--hostname=0.0.0.0"]
  assert.deepEqual(find({ env, argv }), { url: "http://127.0.0.1:4096", authorization: basic("r") })
  assert.equal(find({ env, argv: ["opencode", "serve"] }), undefined)
})
