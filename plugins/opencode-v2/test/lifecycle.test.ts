/** What is there from loading to unloading, and nothing after. */

import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { about } from "@tenon/bridge"
import plugin from "../src/index.ts"
import { bench, catalogue, connected, done, eachRelease, until } from "./bench.ts"
import type { Context } from "./host/index.ts"

eachRelease("a reload loses no session: the next instance tells of them at once", async (release) => {
  const { host, daemon, session } = await bench(release)
  await host.call(session, "tenon_exec", { code: "1" })
  assert.equal(daemon.sent("session/attach").length, 1)
  const location = await host.location()
  await location.reload("opencode-tenon")
  await until("the new instance attached the session", () => daemon.sent("session/attach").length === 2)
  assert.equal(daemon.sent("session/attach")[1]?.session, session.id)
  assert.equal(daemon.sent("session/detach").length, 0)
  assert.equal((await host.call(session, "tenon_exec", { code: "1" })).text, "42")
  await location.unload("opencode-tenon")
  await until("no bridge is left", () => daemon.peers.length > 0)
  await host.close()
  assert.deepEqual(host.open(), [])
})

eachRelease("a daemon that was replaced is told of every session again", async (release) => {
  const { host, daemon, session } = await bench(release)
  await host.call(session, "tenon_exec", { code: "1" })
  await daemon.stop()
  await daemon.start()
  await until("the session was told of again", () => daemon.sent("session/attach").length === 2)
  assert.equal((await host.call(session, "tenon_exec", { code: "1" })).text, "42")
})

eachRelease("a session that moves is its new location's", async (release) => {
  const { host, daemon, session, directory } = await bench(release)
  await host.call(session, "tenon_exec", { code: "1" })
  const there = join(directory, "sub")
  await host.location(there)
  await connected(daemon, 2)
  await host.session.move(session, there)
  await until("the old instance let go", () => daemon.sent("session/detach").length === 1)
  assert.deepEqual(daemon.sent("session/detach")[0], { session: session.id, deleted: false })
  await host.call(session, "tenon_exec", { code: "2" })
  const last = daemon.sent("run/start").at(-1)
  assert.deepEqual([last?.directory, last?.rules?.confirmed], [there, true])
  assert.equal(daemon.sent("session/attach").at(-1)?.directory, there)
})

eachRelease("a deleted session is detached as such", async (release) => {
  const { host, daemon, session } = await bench(release)
  await host.prompt(session, "hello")
  assert.equal(daemon.sent("session/attach")[0]?.session, session.id, "told of with its first prompt")
  await host.session.remove(session)
  await until("the daemon was told", () => daemon.sent("session/detach").length === 1)
  assert.deepEqual(daemon.sent("session/detach")[0], { session: session.id, deleted: true })
})

eachRelease("a session that the daemon asks about is answered from the host", async (release) => {
  const { host, daemon, session } = await bench(release)
  const child = await host.session.create({ parentID: session.id })
  const peer = daemon.peers[0]!
  const known = await peer.request("session/resolve", { session: child.id })
  assert.deepEqual([known.known, known.parent, known.root, known.agent], [true, session.id, session.id, "build"])
  assert.equal(known.rules?.confirmed, true)
  const stranger = await peer.request("session/resolve", { session: "ses_nowhere" })
  assert.deepEqual(stranger, { known: false, session: "ses_nowhere" })
})

eachRelease("the system prompt says what tenon is, what there is, and what changed", async (release) => {
  const answers = [
    catalogue("browser: snapshot()"),
    catalogue("+ browser: click()", { delta: true, fingerprint: "f2" }),
    catalogue("all new", { fingerprint: "f3" }),
  ]
  const { host, daemon, session } = await bench(release, { "catalog/get": () => answers.shift() })
  const system = async () => (await host.modelRequest(session)).system.filter((part) => part.includes("tenon"))
  const [first, ...none] = await system()
  assert.deepEqual(none, [])
  assert.ok(first!.startsWith(about))
  assert.match(first!, /await tools\.browser\.snapshot\(\{\}\)/, "one example")
  assert.match(first!, /browser: snapshot\(\)$/)
  assert.deepEqual(await system(), [first], "nothing changed: the same bytes, no question")
  assert.equal(daemon.sent("catalog/get").length, 1)
  const changed = async () => {
    daemon.peers[0]!.notify("catalog/changed", {})
    const before = daemon.sent("catalog/get").length
    await until("it is asked for again", async () => (await system(), daemon.sent("catalog/get").length > before))
    return (await system())[0]!
  }
  assert.equal(daemon.sent("catalog/get")[0]?.noStart, true, "no server is started for it")
  const second = await changed()
  assert.ok(second.startsWith(first!), "what was said stays in front")
  assert.match(second, /\n\n\+ browser: click\(\)$/)
  assert.equal(daemon.sent("catalog/get")[1]?.since, "f1")
  assert.match(await changed(), /all new$/)
})

eachRelease("a silent daemon leaves the system prompt at what tenon is, in time", async (release) => {
  const { host, session } = await bench(release, { "catalog/get": () => new Promise(() => {}) })
  const since = Date.now()
  const { system } = await host.modelRequest(session)
  assert.ok(system.includes(about))
  assert.ok(Date.now() - since < 2_000)
})

eachRelease("as an MCP server tenon has an entry with the host's ticket, and no tools of its own", async (release) => {
  const { host, daemon, session } = await bench(release, {}, { options: { mcp: true } })
  const location = await host.location()
  await until("the entry is there", async () => "tenon" in (await location.mcp.configs()))
  const { tenon } = await location.mcp.configs()
  assert.deepEqual(tenon, {
    type: "local",
    command: [daemon.bin, "mcp"],
    environment: { TENON_TICKET: "h.ticket", TENON_SOCKET: daemon.socket },
    codemode: false,
  })
  assert.deepEqual(
    (await location.tools()).filter(({ id }) => id.startsWith("tenon_")),
    [],
  )
  assert.equal(await host.evaluate(session, "tenon_search", ["*"]), "allow")
})

eachRelease("only tenon's tools that look need no question, and a rule that names them holds", async (release) => {
  const rules = [
    { action: "*", resource: "*", effect: "ask" as const },
    { action: "tenon_status", resource: "*", effect: "ask" as const },
  ]
  const { host, session } = await bench(release, {}, { options: { mcp: true }, config: { permissions: rules } })
  const effects = async () =>
    Promise.all(
      ["tenon_search", "tenon_catalog", "tenon_status", "tenon_exec", "tenon_call", "shell"].map((action) =>
        host.evaluate(session, action, ["*"]),
      ),
    )
  assert.deepEqual(await effects(), ["allow", "allow", "ask", "ask", "ask", "ask"])
  const plain = await bench(release, {}, { config: { permissions: rules } })
  assert.equal(
    await plain.host.evaluate(plain.session, "tenon_search", ["*"]),
    "ask",
    "somebody else's tool of that name",
  )
})

test("options that are wrong are named, and leave nothing open", async () => {
  const { host } = await bench("2.0.23")
  const location = await host.location()
  await location.configure([{ module: { default: plugin }, options: { bni: "x" } }])
  const state = location.plugins().find(({ status }) => status === "failed")
  assert.ok(state)
  assert.match(JSON.stringify(host.log), /there is no option \\"bni\\"/)
  await host.close()
  assert.deepEqual(host.open(), [])
})

test("a host that refuses a registration is left without a bridge", async () => {
  const { daemon, directory, host } = await bench("2.0.23")
  let failing: Context | undefined
  const broken = {
    ...plugin,
    id: "broken",
    setup: async (ctx: any) => {
      failing = ctx
      const parts = new Proxy(ctx, {
        get: (target, key) => {
          if (key === "shell") return { hook: () => Promise.reject(new Error("no shells here")) }
          return Reflect.get(target, key)
        },
      })
      return plugin.setup(parts)
    },
  }
  await (await host.location()).configure([{ module: { default: broken }, options: { bin: daemon.bin } }])
  assert.ok(failing)
  await host.close()
  assert.deepEqual(host.open(), [])
  assert.ok(directory)
})

eachRelease("two locations are two instances, each with its own directory", async (release) => {
  const { host, daemon, directory } = await bench(release, { "run/start": () => done("42") })
  const there = join(directory, "sub")
  const session = await host.session.create({ directory: there })
  await host.call(session, "tenon_exec", { code: "1" })
  assert.deepEqual(
    daemon.sent("bridge/hello").map((hello) => hello.directory),
    [directory, there],
  )
  const [hello] = daemon.sent("bridge/hello")
  assert.deepEqual(
    [hello?.host, hello?.plugin, hello?.hostVersion, hello?.events],
    ["opencode-v2", "opencode-tenon-v2", release, true],
  )
  assert.equal(daemon.sent("run/start")[0]?.directory, there)
})
