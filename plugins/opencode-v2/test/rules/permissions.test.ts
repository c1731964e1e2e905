/** Rules, hooks, questions and answers. */

import assert from "node:assert/strict"
import { plugin, rule } from "./lib.ts"
import type { Context, HostOptions, PermissionEvaluateEvent, PermissionRule } from "../host/index.ts"

const to = (action: string, resource: string, effect: PermissionRule["effect"]) => ({ action, resource, effect })

/** A host whose default agent has no built-in rules. */
function bare(rules: PermissionRule[]): Partial<HostOptions> {
  return { config: { agents: { build: { defaults: false, permissions: rules } } } }
}

/** A plugin that hands out its context. */
function keeping(keep: (ctx: Context) => void | Promise<void>) {
  return plugin("keeping", (ctx) => keep(ctx))
}

rule(54, "the last match wins, of agent then session; without one it is asked; * covers /", async ({ host }) => {
  const made = await host(bare([to("edit", "*", "deny"), to("edit", "src/*", "allow"), to("web*", "*", "allow")]))
  const session = await made.session.create({ permissions: [to("edit", "src/gen/*", "deny")] })
  const effect = (action: string, ...resources: string[]) => made.evaluate(session, action, resources)
  assert.equal(await effect("edit", "README.md"), "deny")
  assert.equal(await effect("edit", "src/a/b/c.ts"), "allow")
  assert.equal(await effect("edit", "src/gen/x.ts"), "deny")
  assert.equal(await effect("webfetch", "https://example.com/a/b"), "allow")
  assert.equal(await effect("unheard", "x"), "ask")
  assert.equal(await effect("edit", "src/a.ts", "README.md"), "deny")
  const unknown = await made.session.create({ agent: "nobody" })
  assert.equal(await made.evaluate(unknown, "webfetch", ["x"]), "deny")
})

rule(54, "the built-in agent allows all but strange directories and .env files", async ({ host }) => {
  const made = await host()
  const session = await made.session.create()
  assert.equal(await made.evaluate(session, "anything", ["x"]), "allow")
  assert.equal(await made.evaluate(session, "external_directory", ["/x/*"]), "ask")
  assert.equal(await made.evaluate(session, "read", ["conf/.env"]), "ask")
})

rule(55, "a configured deny reaches no hook; a saved always beats ask and not deny", async ({ host }) => {
  const seen: string[] = []
  const made = await host({
    ...bare([to("a", "*", "ask"), to("b", "*", "ask"), to("b", "no/*", "deny")]),
    plugins: [
      plugin("hook", async (ctx) => {
        await ctx.permission.hook("evaluate", (event) => {
          seen.push(`${event.action} ${event.resources} ${event.effect}`)
        })
      }),
    ],
  })
  const session = await made.session.create()
  made.user.answers(() => "always")
  await made.assert(session, "b", ["yes"], { save: ["*"] })
  assert.deepEqual(seen.splice(0), ["b yes ask"])
  assert.equal(await made.evaluate(session, "b", ["other"]), "allow")
  assert.equal(await made.evaluate(session, "a", ["other"]), "ask")
  assert.deepEqual(seen.splice(0), ["b other allow", "a other ask"])
  await assert.rejects(made.assert(session, "b", ["no/x"]), /^Error: Permission denied: b$/)
  assert.deepEqual(seen, [])
})

rule(56, "the hook may set any effect; a denial has its message, a question shows it", async ({ host, switches }) => {
  let set: (event: PermissionEvaluateEvent) => void = () => {}
  const events: PermissionEvaluateEvent[] = []
  const made = await host({
    plugins: [
      plugin("hook", async (ctx) => {
        await ctx.permission.hook("evaluate", (event) => {
          events.push(event)
          set(event)
        })
      }),
    ],
  })
  const session = await made.session.create()
  set = (event) => Object.assign(event, { effect: "deny", message: "not on Fridays" })
  await assert.rejects(made.assert(session, "edit", ["x"]), /not on Fridays/)
  set = (event) => void (event.effect = "deny")
  await assert.rejects(made.assert(session, "edit", ["x"]), /Permission denied: edit/)
  set = (event) => Object.assign(event, { effect: "ask", message: "Really?" })
  const asking = made.assert(session, "edit", ["x"], { metadata: { why: 1 } })
  const request = await made.user.asked()
  assert.equal(request[switches.requestText], "Really?")
  const asked = made.events.of(`${switches.permissionEvents}.asked`)[0]
  assert.equal(asked?.data[switches.requestText], "Really?")
  assert.deepEqual(asked?.data.metadata, { why: 1 })
  await made.user.reply(request, "once")
  await asking
  set = (event) => void (event.effect = "allow")
  await made.assert(session, "external_directory", ["/elsewhere/*"])
  assert.equal(events.at(-1)?.sessionID, session.id)
  assert.equal(events.at(-1)?.agent, "build")
})

rule(57, "the answer's key is the release's; the event has reply; what does not wait is not found", async (given) => {
  const { host, switches } = given
  let ctx: Context | undefined
  const made = await host({ ...bare([]), plugins: [keeping((context) => void (ctx = context))] })
  const session = await made.session.create()
  const other = await made.session.create()
  const asking = made.assert(session, "edit", ["x"])
  const { id } = await made.user.asked()
  const { permission } = ctx as unknown as Context
  assert.deepEqual(
    (await permission.list({ sessionID: session.id })).map((one) => one.id),
    [id],
  )
  assert.equal((await permission.get({ sessionID: session.id, requestID: id })).action, "edit")
  const missing = new RegExp(`Permission request not found: ${id}`)
  await assert.rejects(permission.get({ sessionID: other.id, requestID: id }), missing)
  await assert.rejects(
    permission.reply({ sessionID: other.id, requestID: id, decision: "once", reply: "once" }),
    missing,
  )
  const wrong = switches.replyKey === "reply" ? { decision: "once" as const } : { reply: "once" as const }
  await assert.rejects(permission.reply({ sessionID: session.id, requestID: id, ...wrong }))
  await permission.reply({ sessionID: session.id, requestID: id, decision: "once", reply: "once" })
  await asking
  const replied = made.events.of(`${switches.permissionEvents}.replied`)[0]
  assert.deepEqual(replied?.data, { sessionID: session.id, requestID: id, reply: "once" })
  await assert.rejects(
    permission.reply({ sessionID: session.id, requestID: id, decision: "once", reply: "once" }),
    missing,
  )
})

rule(58, "a bare reject ends the turn and rejects the session's other requests", async ({ host }) => {
  const made = await host({ config: { permissions: [to("shell", "*", "ask")] } })
  const session = await made.session.create()
  const bystander = await made.session.create()
  const elsewhere = made.call(bystander, "shell", { command: "echo elsewhere" })
  const kept = await made.user.asked((request) => request.sessionID === bystander.id)
  const calls = ["one", "two"].map((word) => ({ tool: "shell", input: { command: `echo ${word}` } }))
  await made.turn(session, async (turn) => {
    const step = turn.step(calls)
    const first = await made.user.asked((request) => request.resources[0] === "echo one")
    await made.user.asked((request) => request.resources[0] === "echo two")
    await made.user.reply(first, "reject")
    const { results, ended } = await step
    assert.equal(ended, true)
    const declined = "The user declined this tool call"
    assert.deepEqual(
      results.map((result) => result.text),
      [declined, declined],
    )
    await assert.rejects(turn.step(calls), /the turn has ended/)
  })
  assert.deepEqual(
    made.user.pending().map((request) => request.id),
    [kept.id],
  )
  await made.user.reply(kept, "once")
  assert.equal((await elsewhere).text, "elsewhere\n")
})

rule(58, "a reject with a message fails that call only, with the message", async ({ host }) => {
  const made = await host({ config: { permissions: [to("shell", "*", "ask")] } })
  const session = await made.session.create()
  made.user.answers((request) =>
    request.resources[0] === "echo one" ? { decision: "reject", message: "use two" } : "once",
  )
  const calls = ["one", "two"].map((word) => ({ tool: "shell", input: { command: `echo ${word}` } }))
  const { results, ended } = await made.step(session, calls)
  assert.equal(ended, false)
  assert.deepEqual(
    results.map((result) => result.text),
    ["use two", "two\n"],
  )
})

rule(
  59,
  "always keeps the patterns to save for the project; none to save, none kept",
  async ({ host, directory, file }) => {
    file("other/x", "")
    const made = await host(bare([]))
    const session = await made.session.create()
    made.user.answers(() => "always")
    await made.assert(session, "edit", ["a.ts"], { save: ["*.ts"] })
    await made.assert(session, "read", ["a.ts"])
    assert.deepEqual(made.saved(session.projectID), [to("edit", "*.ts", "allow")])
    assert.equal(await made.evaluate(await made.session.create(), "edit", ["b.ts"]), "allow")
    const foreign = await made.session.create({ directory: `${directory}/other` })
    assert.notEqual(foreign.projectID, session.projectID)
    assert.equal(await made.evaluate(foreign, "edit", ["b.ts"]), "ask")
  },
)

rule(60, "there is no way to ask; rules exists in its release only", async ({ host, switches }) => {
  const made = await host({
    plugins: [
      keeping(async ({ permission, session }) => {
        const members = permission as unknown as Record<string, unknown>
        for (const name of ["ask", "create", "assert"]) assert.throws(() => members[name], /the contract has no/)
        assert.equal(typeof permission.rules, switches.permissionRules ? "function" : "undefined")
        if (!permission.rules) return
        const { id } = await session.create()
        await permission.rules({ sessionID: id, permissions: [to("x", "*", "deny")] })
        assert.deepEqual((await session.get({ sessionID: id })).permissions, [to("x", "*", "deny")])
      }),
    ],
  })
  assert.deepEqual((await made.location()).plugins(), [{ id: "keeping", status: "active" }])
})

rule(61, "a request over HTTP is evaluated with rules and hooks, keeps its id, and does not wait", async (given) => {
  const { host, switches } = given
  const made = await host({
    http: true,
    config: { permissions: [to("refused", "*", "deny")] },
    plugins: [
      plugin("tightening", async (ctx) => {
        await ctx.permission.hook("evaluate", (event) => {
          if (event.action === "plugin_action") event.effect = "ask"
        })
      }),
    ],
  })
  const session = await made.session.create()
  const { url, authorization } = made.http ?? { url: "", authorization: "" }
  const send = async (path: string, body: unknown, header = authorization, method = "POST") =>
    fetch(`${url}/api/session/${session.id}${path}`, {
      method,
      body: JSON.stringify(body),
      headers: { authorization: header, connection: "close" },
    })
  const create = async (body: object): Promise<any> => (await send("/permission", { resources: ["x"], ...body })).json()
  assert.equal((await send("/permission", {}, "Basic wrong")).status, 401)
  assert.equal((await create({ action: "free" })).effect, "allow")
  assert.equal((await create({ action: "refused" })).effect, "deny")
  const asked = await create({ id: "per_mine", action: "plugin_action", metadata: { tool: "demo" }, save: ["x"] })
  assert.deepEqual(asked, { id: "per_mine", effect: "ask" })
  assert.equal(made.user.pending()[0]?.id, "per_mine")
  const answer = await send("/permission/per_mine/reply", { [switches.replyKey]: "always" })
  assert.equal(answer.status, 204)
  const replied = made.events.of(`${switches.permissionEvents}.replied`)[0]
  assert.deepEqual(replied?.data, { sessionID: session.id, requestID: "per_mine", reply: "always" })
  assert.deepEqual(made.saved(session.projectID), [to("plugin_action", "x", "allow")])
})

rule(61, "the environment of a session is replaced over HTTP, by the route of the release", async (given) => {
  const { host, switches } = given
  const made = await host({ http: true })
  const session = await made.session.create()
  const { url = "", authorization = "" } = made.http ?? {}
  const put = async (path: string, variables: object) =>
    (
      await fetch(url + path, {
        method: "PUT",
        body: JSON.stringify({ variables }),
        headers: { authorization, connection: "close" },
      })
    ).status
  const path = switches.environmentRoute.replace(":id", session.id)
  const other = path.includes("experimental")
    ? path.replace("/experimental", "")
    : path.replace("/api/", "/api/experimental/")
  assert.equal(await put(other, {}), 404)
  assert.equal(await put(path, { A: "1", B: "1", PATH: process.env["PATH"] }), 204)
  assert.equal(await put(path, { A: "2", PATH: process.env["PATH"] }), 204)
  assert.equal((await made.shell.user(session, "echo $A$B")).output, "2\n")
})

rule(61, "events are streamed over HTTP from now on", async ({ host, switches }) => {
  const made = await host({ http: true, ...bare([]) })
  const { url = "", authorization = "" } = made.http ?? {}
  const session = await made.session.create()
  const end = new AbortController()
  const response = await fetch(`${url}/api/event`, { headers: { authorization }, signal: end.signal })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const asking = made.assert(session, "edit", ["x"])
  let text = ""
  while (!text.includes(`${switches.permissionEvents}.asked`)) {
    const { value, done } = await reader.read()
    assert.equal(done, false)
    text += Buffer.from(value as Uint8Array).toString()
  }
  assert.ok(!text.includes("session.created"), "only what happens from now on")
  end.abort()
  await made.user.reply(await made.user.asked(), "once")
  await asking
})

rule(62, "an interrupt withdraws what a call waits for; what HTTP asked stays", async ({ host }) => {
  const made = await host({
    http: true,
    config: { permissions: [to("shell", "*", "ask"), to("over_http", "*", "ask")] },
  })
  const session = await made.session.create()
  const { url = "", authorization = "" } = made.http ?? {}
  await fetch(`${url}/api/session/${session.id}/permission`, {
    method: "POST",
    body: JSON.stringify({ action: "over_http", resources: ["x"] }),
    headers: { authorization, connection: "close" },
  })
  const running = made.call(session, "shell", { command: "true" })
  await made.user.asked((request) => request.action === "shell")
  await made.interrupt(session)
  assert.equal((await running).text, "Tool execution interrupted")
  assert.deepEqual(
    made.user.pending().map((request) => request.action),
    ["over_http"],
  )
  assert.deepEqual(made.shell.spawned, [])
})
