/** Questions to the user: of child calls, of tools, withdrawn and refused. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { fault } from "../../bridge/test/double.ts"
import { bench, called, done, until } from "./bench.ts"
import { hostError } from "./fakehost.ts"

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
