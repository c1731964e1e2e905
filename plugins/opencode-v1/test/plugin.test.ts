/** The plugin between a scripted host and a scripted daemon. */

import assert from "node:assert/strict"
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import type { RunResult } from "@tenon/proto"
import { fault, startDouble, type Answers, type Double } from "../../bridge/test/double.ts"
import type { Hooks } from "../src/host.ts"
import tenon from "../src/index.ts"
import { fakeHost, hostError, type FakeHost } from "./fakehost.ts"

Object.assign(globalThis, { __VERSION__: "0.0.0-test" })

const cleanups: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Bench {
  host: FakeHost
  daemon: Double
  hooks: Required<Hooks>
}

async function bench(answers: Answers = {}, options: Record<string, unknown> = {}): Promise<Bench> {
  const daemon = await startDouble({ "run/start": () => done("42"), ...answers })
  cleanups.push(() => daemon.remove())
  const host = fakeHost()
  const hooks = (await tenon(
    { client: host.client, directory: "/project", worktree: "/" },
    { bin: daemon.bin, ...options },
  )) as Required<Hooks>
  host.hooks = hooks
  cleanups.push(() => hooks.dispose())
  return { host, daemon, hooks }
}

function done(text: string, more: Partial<RunResult> = {}) {
  const timing = { compute: 1, tools: 2, human: 0, queue: 0, total: 3 }
  const lists = { logs: [], emits: [], warnings: [], calls: [], artifacts: [] }
  const result = { id: "run_1", session: "ses_1", ok: true, value: 1, stdout: "", stderr: "", truncated: false, timing }
  return { text, result: { ...result, ...lists, ...more } }
}

const called = (text: string) => {
  const { timing } = done("").result
  return { value: text, text, artifacts: [], warnings: [], truncated: false, timing, session: "ses_1" }
}

async function until(what: string, condition: () => unknown) {
  for (const deadline = Date.now() + 20_000; !(await condition()); await pause(2)) {
    assert.ok(Date.now() < deadline, `never: ${what}`)
  }
}

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
  const empty = mkdtempSync(join(tmpdir(), "te-"))
  process.env.PATH = empty
  assert.equal(await shell(), `${empty}:${daemon.bin.replace(/\/tenon$/, "")}`)
  writeFileSync(join(empty, "tenon"), "")
  chmodSync(join(empty, "tenon"), 0o700)
  assert.equal(await shell(), undefined)
})

test("child calls are put to the user: several at once, answered in any order", async () => {
  const { hooks, host, daemon } = await bench({
    "run/start": async ({ origin }, peer) => {
      const put = (tool: string) =>
        peer.request("permission/ask", {
          id: `ask_${tool}`,
          origin,
          key: `srv_${tool}`,
          server: "srv",
          tool,
          arguments: { n: 1 },
        })
      const [a, b] = await Promise.all([put("a"), put("b")])
      return done(`${a.reply} ${b.reply}`)
    },
  })
  host.verdict = (key) => (key.startsWith("srv_") ? "ask" : "allow")
  const result = hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  await until("two requests", () => host.requests.length === 2)
  assert.deepEqual(host.requests[0]?.patterns, ["*"])
  assert.deepEqual(host.requests[0]?.always, ["*"])
  assert.deepEqual(host.requests[0]?.metadata.args, { n: 1 })
  await until("shown", () => daemon.sent("permission/shown").length === 2)
  host.requests[1]!.answer("once")
  host.requests[0]!.answer("once")
  assert.equal((await result).output, "once once")
})

test("a request of fetch is asked for by its address, and always opens its host", async () => {
  const { hooks, host } = await bench({
    "run/start": async ({ origin }, peer) => {
      const about = { server: "webfetch", tool: "GET a.example", resource: "https://a.example/x?y=1" }
      const { reply } = await peer.request("permission/ask", { id: "ask_1", origin, key: "webfetch", ...about })
      return done(reply)
    },
  })
  host.verdict = (key) => (key === "webfetch" ? "ask" : "allow")
  const result = hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  await until("a request", () => host.requests.length === 1)
  assert.deepEqual(host.requests[0]?.patterns, ["https://a.example/x?y=1"])
  assert.deepEqual(host.requests[0]?.always, ["https://a.example/*"])
  host.requests[0]!.answer("once")
  assert.equal((await result).output, "once")
})

test("a refusal reaches the program with its words, and the turn goes on", async () => {
  const replies: unknown[] = []
  const { hooks, host } = await bench({
    "run/start": async ({ origin }, peer) => {
      replies.push(
        await peer.request("permission/ask", { id: "ask_1", origin, key: "srv_a", server: "srv", tool: "a" }),
      )
      return done("PermissionDenied: refused", {
        ok: false,
        error: { kind: "PermissionDenied", message: "refused", hint: "" },
      })
    },
  })
  host.verdict = (key) => (key === "srv_a" ? "ask" : "allow")
  for (const error of [
    hostError("PermissionRejectedError"),
    hostError("PermissionCorrectedError", { feedback: "use b" }),
  ]) {
    const result = hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
    await until("a request", () => host.requests.length === 1)
    host.requests[0]!.answer("reject", error)
    assert.equal((await result).output, "PermissionDenied: refused")
  }
  host.verdict = (key) => (key === "srv_a" ? "deny" : "allow")
  await hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  assert.deepEqual(replies, [
    { reply: "reject" },
    { reply: "reject", feedback: "use b" },
    { reply: "reject", denied: true },
  ])
})

test("a refused tenon_call rethrows the host's own error, which ends the turn", async () => {
  const { hooks, host } = await bench({
    "call/start": async ({ origin }, peer) => {
      const { reply } = await peer.request("permission/ask", {
        id: "ask_1",
        origin,
        key: "srv_a",
        server: "srv",
        tool: "a",
      })
      if (reply === "once") return called("fine")
      throw fault("PermissionDenied", "refused")
    },
  })
  host.verdict = (key) => (key === "srv_a" ? "ask" : "allow")
  const thrown = hostError("PermissionRejectedError")
  const call = hooks.tool.tenon_call!.execute({ server: "srv", tool: "a" }, host.context("c1"))
  await until("a request", () => host.requests.length === 1)
  host.requests[0]!.answer("reject", thrown)
  await assert.rejects(call, (error) => error === thrown)
})

test("a tool asks for its own id first, with exact key, and passes the host's error on", async () => {
  const { hooks, host, daemon } = await bench()
  host.verdict = () => "ask"
  const thrown = hostError("PermissionRejectedError")
  const result = hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  await until("a request", () => host.requests.length === 1)
  assert.equal(host.requests[0]!.permission, "tenon_exec")
  host.requests[0]!.answer("reject", thrown)
  await assert.rejects(result, (error) => error === thrown)
  assert.deepEqual(daemon.sent("run/start"), [])
})

test("an abort answers within 250 ms, cancels the run and leaves no request behind", async () => {
  const { hooks, host, daemon } = await bench({
    "run/start": async ({ origin }, peer) => {
      peer.request("permission/ask", { id: "ask_1", origin, key: "srv_a", server: "srv", tool: "a" }).catch(() => {})
      return new Promise(() => {}) // a daemon that is stuck
    },
  })
  host.verdict = (key) => (key === "srv_a" ? "ask" : "allow")
  const ctx = host.context("c1")
  const result = hooks.tool.tenon_exec!.execute({ code: "1" }, ctx)
  await until("a request", () => host.requests.length === 1)
  const begun = performance.now()
  ctx.cancel()
  assert.equal((await result).output, "Cancelled by the user.")
  assert.ok(performance.now() - begun < 250)
  await until("the cancel", () => daemon.sent("$/cancelRequest")[0]?.reason === "user")
  await until("the request is gone", () => host.requests.length === 0)
  assert.deepEqual(host.replies, [{ id: "per_1", response: "reject" }])
})

test("the abort that follows success is no cancel, and no listener stays behind", async () => {
  const { hooks, host, daemon } = await bench()
  const ctx = host.context("c1")
  let listeners = 0
  const { abort } = ctx
  const add = abort.addEventListener.bind(abort)
  const remove = abort.removeEventListener.bind(abort)
  abort.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args))
  abort.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args))
  await hooks.tool.tenon_exec!.execute({ code: "1" }, ctx)
  assert.equal(listeners, 0)
  ctx.cancel()
  await hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c2"))
  assert.deepEqual(daemon.sent("$/cancelRequest"), [])
})

test("a withdrawn question is put away without rejecting the session's others", async () => {
  const { hooks, host, daemon } = await bench({
    "run/start": async ({ origin }, peer) => {
      const put = (id: string) => peer.request("permission/ask", { id, origin, key: "srv_a", server: "srv", tool: "a" })
      const [a, b] = await Promise.all([put("ask_1"), put("ask_2")])
      return done(`${a.reply} ${b.reply}`)
    },
  })
  host.verdict = (key) => (key === "srv_a" ? "ask" : "allow")
  const result = hooks.tool.tenon_exec!.execute({ code: "1" }, host.context("c1"))
  await until("two requests", () => daemon.sent("permission/shown").length === 2)
  const peer = daemon.peers[0]!
  await peer.request("permission/withdraw", { id: "ask_1", reason: "answered elsewhere" })
  await peer.request("permission/withdraw", { id: "ask_1", reason: "answered elsewhere" }) // idempotent
  await until("one request", () => host.requests.length === 1)
  host.requests[0]!.answer("once")
  assert.equal((await result).output, "unavailable once")
  assert.deepEqual(host.replies, [{ id: "per_1", response: "once" }])
})

test("a question of a call that is not running is answered at once", async () => {
  const { daemon } = await bench()
  await until("connected", () => daemon.peers.length === 1)
  const origin = { session: "ses_1", call: "bash_1" }
  const reply = await daemon.peers[0]!.request("permission/ask", { id: "a", origin, key: "k", server: "s", tool: "t" })
  assert.deepEqual(reply, { reply: "unavailable" })
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
