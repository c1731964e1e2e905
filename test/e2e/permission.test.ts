/** opencode's own permission rules decide over every child call, under <server>_<tool>. */

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { script } from "./lib/model.ts"
import { fake, startScene, type Scene } from "./lib/scene.ts"

let scene: Scene

before(async () => {
  scene = await startScene((place) => ({
    servers: { srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 } },
    opencode: {
      permission: {
        "srv_*": "ask",
        srv_echo: "allow",
        srv_pid: "deny",
        "srv_c?d": "allow",
        srv_env: "deny",
      },
      agent: {
        careful: { mode: "primary", permission: { srv_echo: "deny", srv_env: "allow" } },
        guarded: { mode: "primary", permission: { tenon_exec: "ask" } },
        helper: { mode: "subagent", description: "helps", permission: { srv_echo: "ask" } },
      },
    },
  }))
})
after(() => scene.stop())

/** A program that makes these calls one after the other and gives what each came to. */
const calls = (...names: string[]) => ({
  tool: "tenon_exec",
  args: {
    code: `const out: unknown[] = []
for (const [name, args] of ${JSON.stringify(names.map((name) => [name, name === "echo" ? { text: "hi" } : name === "env" ? { name: "LANG" } : name === "set" ? { v: 1 } : {}]))}) {
  try { await tools.srv[name](args); out.push(name + " ok") }
  catch (e) { out.push(name + " " + e.kind + (e.feedback ? " " + e.feedback : "")) }
}
out.join(", ")`,
  },
})

test("allow runs, deny is a catchable PermissionDenied, wildcards and order count as in opencode; nobody is asked", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [[calls("echo", "pid", "cwd", "env")], "done"])
  assert.deepEqual(model.seen(session), ["echo ok, pid PermissionDenied, cwd ok, env PermissionDenied"])
  assert.deepEqual(host.pending(session), [])
  assert.equal(scene.journal("srv").filter((each) => each.params?.name === "pid").length, 0)
})

test("the rules of the session's present agent hold", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [[calls("echo", "env")], "done"], { agent: "careful" })
  await host.turn(session, [[calls("echo", "env")], "done"], { agent: "build" })
  assert.deepEqual(model.seen(session), ["echo PermissionDenied, env ok", "echo ok, env PermissionDenied"])
})

test("the session's own rules hold, behind the agent's", async () => {
  const { host, model } = scene
  const session = await host.session({ permission: [{ permission: "srv_echo", pattern: "*", action: "deny" }] })
  await host.turn(session, [[calls("echo", "cwd")], "done"])
  assert.deepEqual(model.seen(session), ["echo PermissionDenied, cwd ok"])
})

test("ask, answered once, asks again the next time; the key is exact and the turn goes on", async () => {
  const { host, model } = scene
  const session = await host.session()
  const turn = host.turn(session, [[calls("counter", "counter")], "done"])
  const first = await host.request(session)
  assert.equal(first.permission, "srv_counter")
  assert.equal(first.metadata.server, "srv")
  await host.reply(first, "once")
  await host.reply(await host.request(session, 1), "once")
  await turn
  assert.deepEqual(model.seen(session), ["counter ok, counter ok"])
})

test("always is remembered by opencode and opens nothing else", async () => {
  const { host, model } = scene
  const session = await host.session()
  const turn = host.turn(session, [[calls("set", "set", "get")], [calls("set")], "done"])
  await host.reply(await host.request(session), "always")
  const other = await host.request(session, 1)
  assert.equal(other.permission, "srv_get")
  await host.reply(other, "once")
  await turn
  assert.deepEqual(model.seen(session), ["set ok, set ok, get ok", "set ok"])
})

test("a rejected child is a catchable PermissionDenied, with the user's words, and the turn goes on", async () => {
  const { host, model } = scene
  const session = await host.session()
  const turn = host.turn(session, [[calls("tick", "load")], "done"])
  await host.reply(await host.request(session), "reject")
  await host.reply(await host.request(session, 1), "reject", "use another one")
  const last = await turn
  assert.deepEqual(model.seen(session), ["tick PermissionDenied, load PermissionDenied use another one"])
  assert.equal(last.parts.find((part) => part.type === "text")?.text, "done")
})

test("a rejected tenon_call ends the turn as a direct call does; with words it goes on", async () => {
  const { host, model } = scene
  const call = { tool: "tenon_call", args: { server: "srv", tool: "log", arguments: { text: "x" } } }
  const session = await host.session()
  const ending = host.turn(session, [[call], "not reached"])
  await host.reply(await host.request(session), "reject")
  const last = await ending
  assert.equal(
    last.parts.some((part) => part.text === "not reached"),
    false,
  )
  const going = host.turn(session, [[call], "done"])
  await host.reply(await host.request(session, 1), "reject", "not today")
  await going
  assert.match(model.seen(session).at(-1)!, /not today/)
})

test("several questions of one program wait at once and are answered in any order", async () => {
  const { host, model } = scene
  const session = await host.session()
  const code =
    "(await Promise.all([tools.srv.stderr({ text: 'a' }), tools.srv.blob({ bytes: 1 }), tools.srv.args({})])).length"
  const turn = host.turn(session, [[{ tool: "tenon_exec", args: { code } }], "done"])
  const requests = [await host.request(session, 0), await host.request(session, 1), await host.request(session, 2)]
  assert.deepEqual(requests.map((each) => each.permission).sort(), ["srv_args", "srv_blob", "srv_stderr"])
  for (const request of requests.reverse()) await host.reply(request, "once")
  await turn
  assert.deepEqual(model.seen(session), ["3"])
})

test("questions of two sessions do not touch each other", async () => {
  const { host, model } = scene
  const [one, two] = [await host.session(), await host.session()]
  const turns = [host.turn(one, [[calls("args")], "done"]), host.turn(two, [[calls("args")], "done"])]
  const [first, second] = [await host.request(one), await host.request(two)]
  await host.reply(first, "reject")
  await host.reply(second, "once")
  await Promise.all(turns)
  assert.deepEqual([model.seen(one), model.seen(two)], [["args PermissionDenied"], ["args ok"]])
})

test("a tool of tenon's asks for its own id where the rules want it", async () => {
  const { host, model } = scene
  const session = await host.session()
  const turn = host.turn(session, [[calls("echo")], "done"], { agent: "guarded" })
  const request = await host.request(session)
  assert.equal(request.permission, "tenon_exec")
  await host.reply(request, "once")
  await turn
  assert.deepEqual(model.seen(session), ["echo ok"])
})

test("a sub-agent's questions are its own session's, under its own agent's rules", async () => {
  const { host, model } = scene
  const session = await host.session()
  const prompt = script([calls("echo")], "helped")
  const turn = host.turn(session, [
    [{ tool: "task", args: { description: "help", prompt, subagent_type: "helper" } }],
    "done",
  ])
  const child = await (async () => {
    for (;;) {
      const asked = host.events.find(
        (event) => event.type === "permission.asked" && event.properties.permission === "srv_echo",
      )
      if (asked) return asked.properties.sessionID as string
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
  })()
  assert.notEqual(child, session)
  await host.reply(await host.request(child), "once")
  await turn
  assert.deepEqual(model.seen(child), ["echo ok"])
})
