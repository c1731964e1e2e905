/** The plugin between a scripted host and a scripted daemon. */

import assert from "node:assert/strict"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import tenon from "../src/index.ts"
import { bench, called, cleanups, until } from "./bench.ts"
import { fakeHost } from "./fakehost.ts"

test("a program's text is what the model sees", async () => {
  const { hooks, daemon, host } = await bench()
  const result = await hooks.tool.tenon_exec!.execute(
    { code: "40+2", timeout: 1.5, input: { a: 1 } },
    host.context("c1"),
  )
  assert.equal(result.output, "42")
  assert.equal(result.metadata?.run, "run_1")
  const [start] = daemon.sent("run/start")
  assert.deepEqual(start?.origin, { session: "ses_1", message: "msg_1", call: "c1", agent: "build" })
  assert.deepEqual([start?.timeoutMs, start?.input, start?.directory], [1_500, { a: 1 }, "/project"])
  assert.deepEqual(start?.text, { bytes: 48 * 1024, lines: 1_900 })
  assert.equal(start?.rules?.confirmed, true)
})

test("sessions are attached parent first, with their agent's rules and the session's own behind them", async () => {
  const { hooks, daemon, host } = await bench()
  process.env.BROWSER_TOKEN = "secret"
  cleanups.push(() => void delete process.env.BROWSER_TOKEN)
  const deny = { permission: "srv_write", pattern: "*", action: "deny" } as const
  host.sessions.set("ses_2", { id: "ses_2", parentID: "ses_1", directory: "/project/sub", permission: [deny] })
  host.agents.push({ name: "general", permission: [{ permission: "srv_*", pattern: "*", action: "ask" }] })
  await hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1", { sessionID: "ses_2", agent: "general" }))
  const [parent, child] = daemon.sent("session/attach")
  assert.deepEqual([parent?.session, child?.session, child?.parent], ["ses_1", "ses_2", "ses_1"])
  assert.equal(child?.directory, "/project/sub")
  assert.deepEqual(child?.env, { BROWSER_TOKEN: "secret" })
  assert.deepEqual(child?.rules?.rules, [{ permission: "srv_*", pattern: "*", action: "ask" }, deny])
})

test("what has not changed is not sent again; changed rules are", async () => {
  const { hooks, daemon, host } = await bench()
  const run = (call: string) => hooks.tool.tenon_exec!.execute({ code: "1" }, host.context(call))
  await run("c1")
  await run("c2")
  assert.equal(daemon.sent("session/attach").length, 1)
  host.agents[0]!.permission.push({ permission: "srv_*", pattern: "*", action: "deny" })
  await run("c3")
  const versions = daemon.sent("session/attach").map((attach) => attach.rules?.version)
  assert.equal(versions.length, 2)
  assert.notEqual(versions[0], versions[1])
  assert.equal(daemon.sent("run/start")[2]?.rules?.version, versions[1])
})

test("rules that cannot be read are not sent as confirmed", async () => {
  const { hooks, daemon, host } = await bench()
  host.agents.length = 0
  await hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  assert.equal(daemon.sent("run/start")[0]?.rules, undefined)
})

test("rules that could be read once and no longer can are sent as not current", async () => {
  const { hooks, daemon, host } = await bench()
  await hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  host.agents.length = 0
  await hooks.tool.tenon_exec!.execute({ code: "2" }, host.context("c2"))
  const [before, after] = daemon.sent("run/start").map((start) => start.rules)
  assert.equal(before?.confirmed, true)
  assert.deepEqual(after, { ...before, confirmed: false })
  assert.equal(daemon.sent("session/attach").at(-1)?.rules?.confirmed, false)
})

test("a picture that a call gives is attached, so that the model sees it", async () => {
  const images = [{ artifact: "art_1", mimeType: "image/png", data: "iVBORw==" }]
  const { hooks, host } = await bench({ "call/start": () => ({ ...called("see"), images }) })
  const shown = await hooks.tool.tenon_call!.execute({ server: "srv", tool: "shot" }, host.context("c1"))
  assert.equal(shown.output, "see")
  assert.deepEqual(shown.attachments, [{ type: "file", mime: "image/png", url: "data:image/png;base64,iVBORw==" }])
  assert.ok(!JSON.stringify([shown.output, shown.metadata]).includes("iVBORw"))
})

test("arguments are checked, with the nearest name", async () => {
  const { hooks, host } = await bench()
  const { tenon_exec: exec, tenon_call: call, tenon_search: search, tenon_status: status } = hooks.tool
  const cases: [Promise<unknown>, RegExp][] = [
    [
      exec!.execute({ cod: "1" }, host.context("c")),
      /^Error: tenon_exec: there is no argument "cod"; did you mean "code"\?$/,
    ],
    [exec!.execute({}, host.context("c")), /argument "code" is missing/],
    [exec!.execute({ code: 1 }, host.context("c")), /argument "code" must be a string/],
    [exec!.execute({ code: "1", timeout: 0 }, host.context("c")), /argument "timeout" must be at least 0.1/],
    [exec!.execute("1", host.context("c")), /arguments must be an object/],
    [
      call!.execute({ server: "s", tool: "t", arguments: [] }, host.context("c")),
      /argument "arguments" must be an object/,
    ],
    [
      call!.execute({ server: "s", tool: "t", constructor: 1 }, host.context("c")),
      /no argument "constructor"; it takes server, tool, arguments/,
    ],
    [search!.execute({ query: "x", limit: 1.5 }, host.context("c")), /argument "limit" must be a whole number/],
    [status!.execute({ session: "x" }, host.context("c")), /there is no argument "session"; it takes none/],
  ]
  for (const [work, message] of cases) await assert.rejects(work, message)
  const output: { description: string; jsonSchema?: any } = { description: "" }
  await hooks["tool.definition"]({ toolID: "tenon_exec" }, output)
  assert.deepEqual(output.jsonSchema.required, ["code"])
  const bash: { description: string; jsonSchema?: object } = { description: "" }
  await hooks["tool.definition"]({ toolID: "bash" }, bash)
  assert.equal(bash.jsonSchema, undefined)
})

test("a missing daemon is one sentence and no hook waits for it", async () => {
  const { hooks, host } = await bench({}, { bin: "/nowhere/tenon" })
  await assert.rejects(
    hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1")),
    /^Error: tenon is not available: the tenon program was not found: \/nowhere\/tenon does not exist/,
  )
  const begun = performance.now()
  const env: Record<string, string> = {}
  await hooks["shell.env"]({ cwd: "/project", sessionID: "ses_1" }, { env })
  await hooks["chat.message"]({ sessionID: "ses_1" }, {})
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "c" }, {})
  await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "ses_1" } } } })
  assert.ok(performance.now() - begun < 1_000)
  assert.equal(env.TENON_TICKET, undefined)
})

test("a slow daemon costs a shell 250 ms, and a ticket never precedes its session", async () => {
  const { hooks } = await bench({ "session/attach": () => new Promise(() => {}) })
  process.env.TENON_TICKET = "of an outer session"
  cleanups.push(() => void delete process.env.TENON_TICKET)
  const env: Record<string, string> = {}
  const begun = performance.now()
  await hooks["shell.env"]({ cwd: "/project", sessionID: "ses_1" }, { env })
  assert.ok(performance.now() - begun < 900)
  assert.equal(env.TENON_TICKET, "") // the inherited one is another session's
})

test("each shell gets its own session; a terminal gets its directory's", async () => {
  const { hooks, host, daemon } = await bench()
  host.sessions.set("ses_2", { id: "ses_2", directory: "/project" })
  const shell = async (sessionID?: string) => {
    const env: Record<string, string> = {}
    await hooks["shell.env"]({ cwd: "/project", ...(sessionID ? { sessionID } : {}) }, { env })
    return env
  }
  const [one, two, terminal] = await Promise.all([shell("ses_1"), shell("ses_2"), shell()])
  assert.deepEqual([one.TENON_SESSION_ID, one.TENON_TICKET], ["ses_1", "t.ses_1"])
  assert.deepEqual([two.TENON_SESSION_ID, two.TENON_TICKET], ["ses_2", "t.ses_2"])
  assert.deepEqual([terminal.TENON_SESSION_ID, terminal.TENON_TICKET], ["dir:1", "d.ticket"])
  assert.equal(one.TENON_SOCKET, daemon.socket)
})

test("a config file holds for the plugin and for its shells", async () => {
  const { hooks, daemon } = await bench({}, { config: "/etc/tenon.jsonc", interactive: false })
  const env: Record<string, string> = {}
  await hooks["shell.env"]({ cwd: "/project", sessionID: "ses_1" }, { env })
  assert.equal(env.TENON_CONFIG, "/etc/tenon.jsonc")
  assert.deepEqual(
    [daemon.sent("bridge/hello")[0]?.config, daemon.sent("bridge/hello")[0]?.interactive],
    ["/etc/tenon.jsonc", false],
  )
})

test("PATH gets the program's folder only when it has no tenon", async () => {
  const { hooks, daemon } = await bench()
  const path = process.env.PATH
  cleanups.push(() => void (process.env.PATH = path))
  const shell = async () => {
    const env: Record<string, string> = {}
    await hooks["shell.env"]({ cwd: "/" }, { env })
    return env.PATH
  }
  const empty = mkdtempSync(join(tmpdir(), "tl-"))
  cleanups.push(() => rmSync(empty, { recursive: true, force: true }))
  process.env.PATH = empty
  assert.equal(await shell(), `${empty}:${daemon.bin.replace(/\/tenon$/, "")}`)
  writeFileSync(join(empty, "tenon"), "")
  chmodSync(join(empty, "tenon"), 0o700)
  assert.equal(await shell(), undefined)
})

test("sessions are resolved up to their root, and unknown ones said to be so", async () => {
  const { host, daemon } = await bench()
  host.sessions.set("ses_2", { id: "ses_2", parentID: "ses_1", directory: "/project" })
  host.sessions.set("ses_3", { id: "ses_3", parentID: "ses_2", directory: "/project", agent: "build" })
  await until("connected", () => daemon.peers.length === 1)
  const resolved = await daemon.peers[0]!.request("session/resolve", { session: "ses_3" })
  assert.deepEqual([resolved.known, resolved.parent, resolved.root, resolved.agent], [true, "ses_2", "ses_1", "build"])
  assert.deepEqual(await daemon.peers[0]!.request("session/resolve", { session: "x" }), { known: false, session: "x" })
})

test("a new daemon is told of the sessions of the old one", async () => {
  const { hooks, host, daemon } = await bench()
  await hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  await daemon.stop()
  await daemon.start()
  await until("connected again", () => daemon.sent("session/attach").length === 2)
  assert.equal((await hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c2"))).output, "42")
  assert.equal(daemon.sent("bridge/hello").length, 2)
  assert.equal(daemon.sent("session/attach").length, 2)
})

test("deleted sessions are detached, changed ones told of, outcomes of the host's tools recorded", async () => {
  const { hooks, host, daemon } = await bench()
  await hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "c2" }, { title: "ls" })
  await hooks["tool.execute.after"]({ tool: "tenon_exec", sessionID: "ses_1", callID: "c1" }, {})
  const part = {
    type: "tool",
    tool: "read",
    callID: "c3",
    sessionID: "ses_1",
    messageID: "m",
    state: { status: "error", time: { start: 1, end: 5 } },
  }
  await host.emit({ type: "message.part.updated", properties: { part } })
  await host.emit({ type: "message.part.updated", properties: { part } })
  await until("outcomes", () => daemon.sent("tool/outcome").length === 2)
  assert.deepEqual(
    daemon.sent("tool/outcome").map(({ tool, status, ms }) => [tool, status, ms]),
    [
      ["bash", "ok", undefined],
      ["read", "error", 4],
    ],
  )
  const changed = { ...host.sessions.get("ses_1")!, title: "Other" }
  await host.emit({ type: "session.updated", properties: { info: host.sessions.get("ses_1") } }) // nothing new
  host.sessions.set("ses_1", changed)
  await host.emit({ type: "session.updated", properties: { info: changed } })
  await until("attached again", () => daemon.sent("session/attach").length === 2)
  await host.emit({ type: "session.deleted", properties: { info: changed } })
  await until("detached", () => daemon.sent("session/detach").length === 1)
  assert.deepEqual(daemon.sent("session/detach")[0], { session: "ses_1", deleted: true })
})

test("notices become toasts", async () => {
  const { host, daemon } = await bench()
  await until("connected", () => daemon.peers.length === 1)
  await daemon.peers[0]!.request("notice/show", { level: "warning", message: "tenon asks" })
  assert.deepEqual(host.toasts, [{ title: "tenon", message: "tenon asks", variant: "warning" }])
})

test("options that are wrong are named", async () => {
  const load = (options: Record<string, unknown>) =>
    tenon({ client: fakeHost().client, directory: "/", worktree: "/" }, options)
  await assert.rejects(load({ binary: "x" }), /there is no option "binary"; known: bin, config, interactive/)
  await assert.rejects(load({ interactive: "yes" }), /option "interactive" must be a boolean/)
})
