/** Endpoints of the context, sessions, events and storage. */

import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { plugin, rule, until } from "./lib.ts"
import type { Context, Given } from "./lib.ts"
import type { Host, HostEvent, Registration } from "../host/index.ts"

/** A host with one plugin, and that plugin's context. */
async function within(given: Given, id = "inside"): Promise<{ made: Host; ctx: Context }> {
  let ctx: Context | undefined
  const made = await given.host({ plugins: [plugin(id, (context) => void (ctx = context))] })
  return { made, ctx: ctx as unknown as Context }
}

rule(71, "inputs travel as JSON and are checked; data alone is unwrapped", async (given) => {
  const { made, ctx } = await within(given)
  class Fancy {
    kept = 1
    get lost() {
      return 2
    }
  }
  const metadata = { at: new Date(0), fancy: new Fancy(), call: () => 1, nothing: undefined, list: [undefined] }
  const session = await ctx.session.create({ title: "t", metadata, unknown: 1 } as never)
  assert.deepEqual(session.metadata, { at: "1970-01-01T00:00:00.000Z", fancy: { kept: 1 }, list: [null] })
  assert.equal(Object.getPrototypeOf(session.metadata?.["fancy"]), Object.prototype)
  assert.equal("unknown" in session, false)
  await assert.rejects(ctx.session.get({} as never), /sessionID/)
  await assert.rejects(ctx.session.get({ sessionID: 7 } as never), /sessionID/)
  await assert.rejects(ctx.session.get({ sessionID: "ses_none" }), /not found/)
  assert.equal((await ctx.session.get({ sessionID: session.id })).id, session.id)
  assert.deepEqual(await ctx.permission.list({ sessionID: session.id }), [])
  const servers = await ctx.mcp.list()
  assert.deepEqual([servers.location.directory, servers.data], [given.directory, []])
  assert.equal(await ctx.session.switchAgent({ sessionID: session.id, agent: "build" }), undefined)
  assert.equal(made.session.get(session).title, "t")
})

rule(72, "a session says where it is and whose child; a move is published", async (given) => {
  const { made, ctx } = await within(given)
  const parent = await made.session.create()
  const rules = [{ action: "x", resource: "*", effect: "deny" as const }]
  const child = await made.session.create({ parentID: parent.id, permissions: rules })
  const read = async (sessionID: string) => ctx.session.get({ sessionID })
  assert.equal((await read(child.id)).parentID, parent.id)
  assert.equal((await read(child.id)).location.directory, given.directory)
  assert.notEqual(child.id, parent.id)
  const copied = await made.session.create({ parentID: child.id })
  assert.deepEqual(copied.permissions, rules)
  const elsewhere = join(given.directory, "elsewhere")
  mkdirSync(elsewhere)
  await made.session.move(child, elsewhere)
  assert.equal((await read(child.id)).location.directory, elsewhere)
  const moved = made.events.of("session.moved")
  assert.deepEqual(
    moved.map((event) => [event.data.sessionID, event.location?.directory]),
    [[child.id, elsewhere]],
  )
  const own = await ctx.session.create({ parentID: parent.id } as never)
  assert.equal(own.parentID, given.switches.sessionCreateParent ? parent.id : undefined)
  await made.session.remove(child)
  assert.equal(made.events.of("session.deleted")[0]?.data.sessionID, child.id)
})

rule(72, "a moved session is served by the plugins of its new place", async (given) => {
  const elsewhere = join(given.directory, "elsewhere")
  mkdirSync(elsewhere)
  const fired: string[] = []
  const made = await given.host({
    plugins: [
      plugin("placed", async (ctx) => {
        await ctx.shell.hook("create.before", () => void fired.push(ctx.location.directory))
      }),
    ],
  })
  const session = await made.session.create()
  await made.call(session, "shell", { command: "true" })
  await made.session.move(session, elsewhere)
  await made.call(session, "shell", { command: "true" })
  assert.deepEqual(fired, [given.directory, elsewhere])
})

rule(72, "a prompt passes the hook before the session has it", async (given) => {
  const made = await given.host({
    plugins: [
      plugin("prompting", async (ctx) => {
        await ctx.session.hook("prompt", (event) => void (event.prompt.text += ", please"))
      }),
    ],
  })
  const session = await made.session.create()
  assert.deepEqual(await made.prompt(session, "do it"), { text: "do it, please" })
  assert.deepEqual((await made.modelRequest(session)).messages, [{ role: "user", text: "do it, please" }])
})

rule(73, "session.update replaces the rules, where the release has it", async (given) => {
  const { made, ctx } = await within(given)
  assert.equal(typeof ctx.session.update, given.switches.sessionUpdate ? "function" : "undefined")
  const deny = (action: string) => ({ action, resource: "*", effect: "deny" as const })
  const { id } = await made.session.create({ permissions: [deny("a"), deny("b")] })
  await ctx.session.update?.({ sessionID: id, permissions: [deny("c")] })
  const expected = ctx.session.update ? [deny("c")] : [deny("a"), deny("b")]
  assert.deepEqual((await ctx.session.get({ sessionID: id })).permissions, expected)
})

rule(73, "the flag of interrupt has the release's name; the other is dropped", async (given) => {
  const { made, ctx } = await within(given)
  const { id } = await made.session.create()
  assert.deepEqual(await ctx.session.interrupt({ sessionID: id, resume: true, continue: true }), { interrupted: false })
  await assert.rejects(ctx.session.interrupt({ sessionID: id, [given.switches.interruptFlag]: "yes" }))
})

rule(74, "events are live, in order, ended by break, signal or unload; nobody can publish", async (given) => {
  const heard: Record<string, string[]> = { unload: [], break: [], signal: [] }
  const over: string[] = []
  const controller = new AbortController()
  const made = await given.host({
    plugins: [
      plugin("listening", (ctx) => {
        assert.deepEqual(Object.keys(ctx.event), ["subscribe"])
        const read = async (name: string, events: AsyncIterable<HostEvent>, last: number) => {
          for await (const event of events) {
            if (!event.type.startsWith("session.created")) continue
            if (heard[name]?.push(event.data.info.title) === last) break
          }
          over.push(name)
        }
        // Subscribed at once, though it is read later.
        void read("unload", ctx.event.subscribe(), Infinity)
        void read("break", ctx.event.subscribe(), 2)
        void read("signal", ctx.event.subscribe({ signal: controller.signal }), Infinity)
      }),
    ],
  })
  for (const title of ["1", "2", "3"]) await made.session.create({ title })
  await until("three were heard", () => heard["unload"]?.length === 3 && heard["signal"]?.length === 3)
  assert.deepEqual(heard, { unload: ["1", "2", "3"], break: ["1", "2"], signal: ["1", "2", "3"] })
  assert.deepEqual(over, ["break"])
  controller.abort()
  await until("the signal ended one", () => over.includes("signal"))
  await (await made.location()).unload("listening")
  await until("the unload ended the last", () => over.includes("unload"))
  await made.session.create({ title: "4" })
  assert.equal(heard["unload"]?.length, 3)
})

rule(74, "an event is each listener's own copy, with the place it is about", async (given) => {
  const { made, ctx } = await within(given)
  const iterators = [ctx.event.subscribe(), ctx.event.subscribe()].map((events) => events[Symbol.asyncIterator]())
  await made.session.create()
  const [one, two] = await Promise.all(iterators.map((iterator) => iterator.next()))
  one?.value.data.info && (one.value.data.info.title = "changed")
  assert.equal(two?.value.data.info.title, "New session")
  assert.equal(two?.value.location.directory, given.directory)
  for (const iterator of iterators) await iterator.return?.()
})

rule(75, "storage is each plugin's own, keeps copies as JSON, and is scanned by pages", async (given) => {
  const contexts = new Map<string, Context>()
  const keep = (id: string) => plugin(id, (ctx) => void contexts.set(id, ctx))
  await given.host({ plugins: [keep("a"), keep("a:"), keep("ab")] })
  const storage = (id: string) => (contexts.get(id) as Context).storage
  const value = { list: [1], at: new Date(0) }
  await storage("a").set("k:1", value as never)
  value.list.push(2)
  assert.deepEqual(await storage("a").get("k:1"), { list: [1], at: "1970-01-01T00:00:00.000Z" })
  for (const other of ["a:", "ab"]) {
    assert.equal(await storage(other).get("k:1"), undefined)
    assert.equal(await storage(other).get("1"), undefined)
  }
  const read = (await storage("a").get("k:1")) as { list: number[] }
  read.list.push(3)
  assert.deepEqual(((await storage("a").get("k:1")) as { list: number[] }).list, [1])
  for (const n of [3, 2, 4]) await storage("a").set(`k:${n}`, n)
  await storage("a").set("other", 0)
  const first = await storage("a").scan({ prefix: "k:", limit: 3 })
  assert.deepEqual(
    first.entries.map((entry) => entry.key),
    ["k:1", "k:2", "k:3"],
  )
  const second = await storage("a").scan({ prefix: "k:", limit: 3, after: first.next })
  assert.deepEqual(second, { entries: [{ key: "k:4", value: 4 }] })
  await storage("a").remove("k:1")
  assert.equal(await storage("a").get("k:1"), undefined)
})

const echo = {
  id: "demo.echo",
  methods: { say: { input: {}, output: {} }, typed: { input: { type: "object" }, output: { type: "string" } } },
  events: { said: { schema: {} } },
}

rule(
  76,
  "the last registration of an id answers; dispose reveals the one before; none is rpc.unavailable",
  async (given) => {
    const { made, ctx } = await within(given)
    const rpc = ctx.rpc(echo)
    const say = async () => rpc["say"]?.("x")
    await assert.rejects(say, { type: "rpc.unavailable" })
    const registrations: Registration[] = []
    for (const who of ["first", "second"])
      registrations.push(await ctx.rpc.register(echo, { say: async (input) => `${who} ${input}` }))
    assert.equal(await say(), "second x")
    assert.equal(await (await made.location()).rpc(echo)["say"]?.("y"), "second y")
    await registrations[1]?.dispose()
    assert.equal(await say(), "first x")
    await registrations[0]?.dispose()
    await assert.rejects(say, { type: "rpc.unavailable" })
  },
)

rule(76, "input and output are checked; errors have types, of which rpc. is the host's", async (given) => {
  const { ctx } = await within(given)
  await ctx.rpc.register(echo, {
    typed: async (input, context) => {
      if (input.fail) return context.error("demo.failed", "on purpose", { n: 1 })
      if (input.reserved) return context.error("rpc.mine", "no")
      if (input.wrong) return 7
      throw new Error("plain")
    },
  })
  const typed = async (input: unknown) => ctx.rpc(echo)["typed"]?.(input)
  await assert.rejects(typed("no object"), { type: "rpc.input" })
  await assert.rejects(typed({ fail: true }), { type: "demo.failed", message: "on purpose", data: { n: 1 } })
  await assert.rejects(typed({ reserved: true }), /reserved/)
  await assert.rejects(typed({ wrong: true }), { type: "rpc.output" })
  await assert.rejects(typed({}), { message: "plain" })
})

rule(76, "a caller's signal and an unload abort the handler", async (given) => {
  const signals: AbortSignal[] = []
  const made = await given.host({
    plugins: [
      plugin("handling", async (ctx) => {
        await ctx.rpc.register(echo, {
          say: (_, context) => {
            signals.push(context.signal)
            return new Promise(() => {})
          },
        })
      }),
    ],
  })
  const rpc = (await made.location()).rpc(echo)
  const controller = new AbortController()
  const first = assert.rejects(async () => rpc["say"]?.(1, { signal: controller.signal }))
  const second = assert.rejects(async () => rpc["say"]?.(2))
  await until("both run", () => signals.length === 2)
  controller.abort()
  await first
  assert.deepEqual(
    signals.map((signal) => signal.aborted),
    [true, false],
  )
  await (await made.location()).unload("handling")
  await second
  assert.equal(signals[1]?.aborted, true)
})

rule(
  76,
  "events of a registration reach its clients and the feed; the client is served over HTTP as well",
  async (given) => {
    let emit: (name: string, data: unknown) => Promise<void> = async () => {}
    const made = await given.host({
      http: true,
      plugins: [
        plugin("emitting", async (ctx) => {
          const { events } = await ctx.rpc.register(echo, { say: async (input) => input })
          emit = events.emit
        }),
      ],
    })
    const { events } = (await made.location()).rpc(echo)
    const heard: unknown[] = []
    const off = events.on("said", (data) => heard.push(data))
    await emit("said", { n: 1 })
    off()
    await emit("said", { n: 2 })
    await assert.rejects(emit("unknown", {}))
    assert.deepEqual(heard, [{ n: 1 }])
    assert.equal(made.events.of("rpc.demo.echo.said").length, 2)
    const { url = "", authorization = "" } = made.http ?? {}
    const post = async (path: string): Promise<any> =>
      (
        await fetch(`${url}/api/rpc/${path}`, {
          method: "POST",
          body: '{"n":3}',
          headers: { authorization, connection: "close" },
        })
      ).json()
    assert.deepEqual(await post("demo.echo/say"), { data: { n: 3 } })
    assert.equal((await post("nobody/say")).type, "rpc.unavailable")
  },
)

rule(77, "the context has the members of its release; any other throws", async (given) => {
  const { ctx } = await within(given)
  const { switches } = given
  const members = ctx as unknown as Record<string, any>
  for (const name of ["client", "serverUrl", "$", "question", "form", "toast", "directory", "worktrees"]) {
    assert.throws(() => members[name], new RegExp(`the contract has no ctx\\.${name.replace("$", "\\$")}`))
  }
  for (const [domain, name] of [
    ["session", "messages"],
    ["session", "abort"],
    ["event", "publish"],
    ["tool", "execute"],
    ["mcp", "add"],
    ["shell", "exec"],
  ]) {
    assert.throws(() => members[domain as string][name as string], /the contract has no/)
  }
  assert.equal(members["catalog"] !== undefined, switches.catalogDomain)
  assert.equal(members["provider"] !== undefined, !switches.catalogDomain)
  assert.equal(members["worktree"] !== undefined, switches.worktreeDomain)
  assert.equal(ctx.tool.list !== undefined, switches.toolList)
  assert.equal(ctx.app.version, given.release)
  assert.throws(() => ((ctx as any).options = {}), TypeError)
  await assert.rejects(async () => ctx.tool.hook("execute.around" as never, () => {}), /no hook/)
})

rule(77, "what some later release has can be switched on; a host need not be strict", async (given) => {
  let ctx: Context | undefined
  const made = await given.host({
    switches: { toolList: true, sessionCreateParent: true, strictContext: false },
    plugins: [plugin("looking", (context) => void (ctx = context))],
  })
  const { tool, session, ...rest } = ctx as unknown as Context & { invented?: unknown }
  assert.ok((await tool.list?.())?.some((one) => one.id === "shell"))
  const parent = await made.session.create()
  assert.equal((await session.create({ parentID: parent.id } as never)).parentID, parent.id)
  assert.equal(rest.invented, undefined)
})
