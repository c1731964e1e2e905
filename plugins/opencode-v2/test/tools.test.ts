/** The tools as the model meets them. */

import assert from "node:assert/strict"
import { performance } from "node:perf_hooks"
import { bench, called, catalogue, done, eachRelease, until } from "./bench.ts"
import { fault } from "../../bridge/test/double.ts"
import type { Peer } from "../../bridge/test/double.ts"

eachRelease("the tools are direct tools of the model, and no names of its programs", async (release) => {
  const { host, session } = await bench(release)
  const request = await host.modelRequest(session)
  const ours = request.tools.map(({ name }) => name).filter((name) => name.startsWith("tenon_"))
  assert.deepEqual(ours, [
    ...["tenon_call", "tenon_catalog", "tenon_exec", "tenon_search", "tenon_status", "tenon_types"],
  ])
  assert.doesNotMatch(request.catalogue, /tenon/)
})

eachRelease("a program's text is what the model sees", async (release) => {
  const { host, daemon, session, directory } = await bench(release)
  const result = await host.call(session, "tenon_exec", { code: "40+2", timeout: 1.5, input: { a: 1 } })
  assert.equal(result.status, "completed")
  assert.equal(result.text, "42")
  assert.equal(result.metadata?.run, "run_1")
  const [start] = daemon.sent("run/start")
  assert.deepEqual(start?.origin, { session: session.id, message: result.messageID, call: result.id, agent: "build" })
  assert.deepEqual([start?.timeoutMs, start?.input, start?.directory], [1_500, { a: 1 }, directory])
  assert.equal(start?.rules?.confirmed, true)
  assert.ok(start.rules.rules.some(({ permission, action }) => permission === "external_directory" && action === "ask"))
})

eachRelease("each tool makes its request", async (release) => {
  const { host, daemon, session } = await bench(release, {
    "call/start": () => called("pong"),
    "catalog/search": () => ({ items: [], total: 0, remaining: 0, next: null }),
    "catalog/types": () => ({ text: "declare const tools: {}" }),
    "catalog/get": () => catalogue("srv: echo(…)"),
  })
  assert.equal(
    (await host.call(session, "tenon_call", { server: "srv", tool: "echo", arguments: { a: 1 } })).text,
    "pong",
  )
  assert.match((await host.call(session, "tenon_search", { query: "x" })).text, /No tool matches "x"/)
  assert.equal((await host.call(session, "tenon_types", { paths: ["srv"] })).text, "declare const tools: {}")
  assert.match((await host.call(session, "tenon_catalog", { budget: 500 })).text, /srv: echo\(…\)\nfingerprint: f1/)
  assert.deepEqual(daemon.sent("call/start")[0]?.arguments, { a: 1 })
  assert.deepEqual(daemon.sent("catalog/types")[0]?.paths, ["srv"])
  assert.equal(daemon.sent("catalog/get").at(-1)?.budget, 500)
})

eachRelease("a picture that a call gives is a file that the model sees", async (release) => {
  const { host, session } = await bench(release, {
    "call/start": () => ({
      ...called("see"),
      images: [{ artifact: "art_1", mimeType: "image/png", data: "iVBORw==" }],
    }),
  })
  const { content } = await host.call(session, "tenon_call", { server: "srv", tool: "shot" })
  assert.deepEqual(content, [
    { type: "text", text: "see" },
    { type: "file", uri: "data:image/png;base64,iVBORw==", mime: "image/png" },
  ])
})

eachRelease("wrong arguments, a failed call and a missing daemon are content, not defects", async (release) => {
  const { host, daemon, session } = await bench(
    release,
    { "call/start": () => Promise.reject(fault("ToolFailure", "it broke")) },
    { switches: { validateJsonInput: false } },
  )
  const wrong = await host.call(session, "tenon_exec", { cod: "1" })
  assert.equal(wrong.status, "completed")
  assert.match(wrong.text, /there is no argument "cod"; did you mean "code"\?/)
  const none = await host.call(session, "tenon_types", { paths: [1] })
  assert.match(none.text, /must be a list of strings/)
  const failed = await host.call(session, "tenon_call", { server: "s", tool: "t" })
  assert.deepEqual([failed.status, failed.text], ["completed", "ToolFailure: it broke"])
  assert.equal(failed.metadata?.error.kind, "ToolFailure")
  await daemon.stop()
  const lost = await host.call(session, "tenon_exec", { code: "1" })
  assert.equal(lost.status, "completed")
  assert.match(lost.text, /^tenon is not available: /)
})

eachRelease(
  "the cancel key reaches the daemon, with the reason, and the tool is back within 250 ms",
  async (release) => {
    let peer: Peer | undefined
    const { host, daemon, session } = await bench(release, {
      "run/start": (_, from) => {
        peer = from
        return new Promise(() => {})
      },
    })
    const running = host.call(session, "tenon_exec", { code: "await forever()" })
    await until("the run began", () => peer)
    const since = performance.now()
    assert.equal(await host.interrupt(session), true)
    await running
    await until("the cancel arrived", () => daemon.received.some(({ method }) => method === "$/cancelRequest"))
    assert.ok(performance.now() - since < 1_000)
    assert.equal(daemon.sent("$/cancelRequest")[0]?.reason, "user")
  },
)

eachRelease("calls and logs of a running program are shown at its call", async (release) => {
  const { host, session } = await bench(release, {
    "run/start": async ({ origin }, peer) => {
      const frame = (seq: number, type: any, data: unknown, call = origin.call) =>
        peer.notify("run/event", { seq, type, run: "run_7", ...(call ? { call } : {}), data })
      frame(0, "start", { session: origin.session })
      frame(1, "call", { id: 1, server: "srv", tool: "echo", status: "running", input: '{"a":1}' })
      frame(2, "log", { level: "info", message: "hello" })
      peer.notify("run/event", {
        seq: 0,
        type: "start",
        run: "run_8",
        call: origin.call,
        data: { session: "ses_other" },
      })
      peer.notify("run/event", { seq: 1, type: "log", run: "run_8", data: { level: "info", message: "not mine" } })
      await new Promise((resolve) => setTimeout(resolve, 400)) // longer than changes are gathered
      return done("1")
    },
  })
  const result = await host.call(session, "tenon_exec", { code: "1" })
  assert.deepEqual(result.progress.at(-1), {
    toolCalls: [{ tool: "srv.echo", status: "running", input: '{"a":1}' }],
    logs: ["info: hello"],
  })
})

eachRelease("a child session is attached behind its parent, with the rules of its own", async (release) => {
  const { host, daemon, session } = await bench(release)
  const child = await host.session.create({
    parentID: session.id,
    permissions: [{ action: "srv_write", resource: "*", effect: "deny" }],
  })
  await host.call(child, "tenon_exec", { code: "1" })
  const [parent, own] = daemon.sent("session/attach")
  assert.deepEqual([parent?.session, own?.session, own?.parent], [session.id, child.id, session.id])
  assert.deepEqual(own?.rules?.rules.at(-1), { permission: "srv_write", pattern: "*", action: "deny" })
})

eachRelease("rules that change are told at once, and are those of the next call", async (release) => {
  const { host, daemon, session, probe } = await bench(
    release,
    { "rules/changed": () => ({}) },
    { switches: { permissionRules: true } },
  )
  await host.call(session, "tenon_exec", { code: "1" })
  const permissions = [{ action: "srv_*", resource: "*", effect: "deny" as const }]
  await probe().permission.rules!({ sessionID: session.id, permissions })
  await until("the daemon was told", () => daemon.sent("rules/changed").length > 0)
  const told = daemon.sent("rules/changed")[0]!
  assert.equal(told.session, session.id)
  assert.deepEqual(told.rules.rules.at(-1), { permission: "srv_*", pattern: "*", action: "deny" })
  await host.call(session, "tenon_exec", { code: "2" })
  assert.equal(daemon.sent("run/start").at(-1)?.rules?.version, told.rules.version)
})

eachRelease("a tool that opencode's rules deny or ask about is held to them", async (release) => {
  const { host, daemon, session } = await bench(
    release,
    {},
    {
      config: { permissions: [{ action: "tenon_exec", resource: "*", effect: "ask" }] },
    },
  )
  host.user.fills((form) => ({ accept: [[form.fields[0].options.at(-1).label]] }))
  const refused = await host.call(session, "tenon_exec", { code: "1" })
  assert.match(refused.text, /PermissionDenied: the user declined tenon_exec/)
  host.user.fills(() => ({ accept: [["Allow once"]] }))
  assert.equal((await host.call(session, "tenon_exec", { code: "1" })).text, "42")
  assert.equal(daemon.sent("run/start").length, 1)
})

eachRelease("without a daemon that answers, nothing hangs and the plugin ends", async (release) => {
  const { host, session } = await bench(release, { "session/attach": () => new Promise(() => {}) })
  const running = host.call(session, "tenon_exec", { code: "1" })
  await host.interrupt(session)
  assert.notEqual((await running).status, "completed")
  await host.close()
  assert.deepEqual(host.open(), [])
})
