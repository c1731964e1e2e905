/** What the model is told of the tools there are, and the tools that tell it. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { bench, until } from "./bench.ts"

test("the system prompt gets one line, once, and the title request none", async () => {
  const { hooks } = await bench()
  const transform = async (system: string[], sessionID?: string) => {
    await hooks["experimental.chat.system.transform"]({ ...(sessionID ? { sessionID } : {}) }, { system })
    return system
  }
  const system = ["You are opencode."]
  await transform(system, "ses_1")
  await transform(system, "ses_1")
  assert.equal(system.length, 2)
  assert.match(system[1]!, /tenon_exec/)
  assert.equal((await transform(["You are a title generator. Do."], "ses_1")).length, 1)
  assert.equal((await transform(["You are opencode."])).length, 1)
})

test("the system prompt holds the catalogue; what changes later comes behind it", async () => {
  const whole = (text: string, fingerprint: string, delta = false) => ({
    ...{ text, fingerprint, delta, partial: false, tokens: 9, total: 1, shown: 1 },
  })
  let next: () => unknown = () => whole("tools.fs: 1 tool\n", "a")
  const { hooks, daemon } = await bench({ "catalog/get": () => next() })
  await until("connected", () => daemon.sent("bridge/hello").length === 1)
  const prompt = async () => {
    const system = ["You are opencode."]
    await hooks["experimental.chat.system.transform"]({ sessionID: "ses_1" }, { system })
    return system[1]!
  }
  await until("the catalogue is there", async () => (await prompt()).endsWith("\n\ntools.fs: 1 tool"))
  const asked = daemon.sent("catalog/get")
  assert.deepEqual(asked[0], { session: "ses_1", directory: "/project", noStart: true })
  await prompt()
  assert.equal(daemon.sent("catalog/get").length, asked.length, "nothing has changed: nothing is asked")

  next = () => whole("Tools changed: + tools.fs.extra()\n", "b", true)
  daemon.peers[0]!.notify("catalog/changed", {})
  await until("the change stands behind the catalogue", async () =>
    (await prompt()).endsWith("\n\ntools.fs: 1 tool\n\nTools changed: + tools.fs.extra()"),
  )
  assert.equal(daemon.sent("catalog/get").at(-1)?.since, "a")

  next = () => whole("tools.gh: 1 tool\n", "c")
  daemon.peers[0]!.notify("catalog/changed", {})
  await until("the whole takes its place", async () => (await prompt()).endsWith("\n\ntools.gh: 1 tool"))
  assert.doesNotMatch(await prompt(), /tools\.fs/)
})

test("a daemon that is slow to give the catalogue delays no request for more than 250 ms", async () => {
  const { hooks, daemon } = await bench({ "catalog/get": () => new Promise(() => {}) })
  await until("connected", () => daemon.sent("bridge/hello").length === 1)
  const system = ["You are opencode."]
  const began = performance.now()
  await hooks["experimental.chat.system.transform"]({ sessionID: "ses_1" }, { system })
  assert.ok(performance.now() - began < 2_000, "it came back")
  assert.match(system[1]!, /their own\. In bash, .* same session\.$/, "without a catalogue")
})

test("types and the catalogue are tools of their own", async () => {
  const { hooks, daemon, host } = await bench({
    "catalog/types": () => ({ text: "declare namespace fs {}\n", warnings: ["fs/read, input: odd"] }),
    "catalog/get": () => ({
      ...{ text: "tools.fs: 1 tool\n", fingerprint: "a1", delta: false, partial: false, tokens: 9, total: 1, shown: 1 },
    }),
  })
  const types = await hooks.tool.tenon_types!.execute({ paths: ["fs"] }, host.context("c1"))
  assert.match(types.output, /declare namespace fs/)
  assert.deepEqual(daemon.sent("catalog/types")[0], { session: "ses_1", directory: "/project", paths: ["fs"] })
  const catalog = await hooks.tool.tenon_catalog!.execute({ budget: 500, since: "f" }, host.context("c2"))
  assert.match(catalog.output, /tools\.fs: 1 tool[^]*a1/)
  assert.equal(daemon.sent("catalog/get").find((query) => query.since === "f")?.budget, 500)
  await assert.rejects(hooks.tool.tenon_catalog!.execute({ budget: -1 }, host.context("c3")), /at least 0/)
})

test("types that are too long for the host are cut where it is said", async () => {
  const long = "  function t(args?: { a?: string }): Promise<unknown>;\n".repeat(3_000)
  const { hooks, host } = await bench({ "catalog/types": () => ({ text: long }) })
  const { output } = await hooks.tool.tenon_types!.execute({}, host.context("c1"))
  assert.ok(Buffer.byteLength(output) <= 48 * 1024 && output.split("\n").length <= 1_900)
  assert.match(output, /;\n… \[truncated: \d+ of 3001 lines; name namespaces or tools in `paths`\]$/)
})

test("search shows signatures and where the next page starts; status shows the daemon's text", async () => {
  const { hooks, host, daemon } = await bench({
    "catalog/search": () => ({
      items: [
        {
          path: "tools.fs.read",
          server: "fs",
          tool: "read_file",
          signature: "tools.fs.read(input: {path: string}): Promise<string>",
          description: "Reads.\nMore.",
        },
      ],
      total: 3,
      remaining: 2,
      next: { offset: 1 },
    }),
    "status/get": () => ({
      session: {
        id: "ses_1",
        root: "ses_1",
        host: "opencode-v1",
        state: "attached",
        since: "",
        lastUsed: "",
        runs: 0,
        leases: 0,
      },
      leases: [],
      runs: [],
      approvals: [],
      text: "nothing is held",
    }),
  })
  const found = await hooks.tool.tenon_search!.execute({ query: "read", limit: 1 }, host.context("c1"))
  assert.equal(
    found.output,
    'tools.fs.read(input: {path: string}): Promise<string> — Reads. [server "fs", tool "read_file"]\n2 more: offset 1',
  )
  assert.equal(daemon.sent("catalog/search")[0]?.session, "ses_1")
  assert.equal((await hooks.tool.tenon_status!.execute({}, host.context("c2"))).output, "nothing is held")
})
