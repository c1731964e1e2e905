/** Whose a shell is, though the host does not say. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { markTable, newShelf, processShelf } from "../src/marks.ts"
import { shells } from "../src/shell.ts"
import { afterwards, bench, connected, eachRelease, until } from "./bench.ts"
import type { Context } from "./host/index.ts"

const who = "printenv TENON_SESSION_ID TENON_TICKET"

eachRelease("a shell is its session, and neither question nor transcript shows how", async (release) => {
  const { host, session } = await bench(
    release,
    {},
    { config: { permissions: [{ action: "shell", resource: "*", effect: "ask" }] } },
  )
  const running = host.call(session, "shell", { command: who })
  const asked = await host.user.asked()
  assert.deepEqual(asked.resources, [who])
  await host.user.reply(asked, "once")
  const result = await running
  assert.equal(result.text.trim(), `${session.id}\nt.${session.id}`)
  assert.equal(host.shell.spawned[0]?.command, who)
  assert.deepEqual(host.session.transcript(session)[0]?.input, { command: who })
})

eachRelease("two sessions at once, whatever the order of their hooks, each get their own", async (release) => {
  const { host, session } = await bench(release)
  const other = await host.session.create()
  const [a, b] = await Promise.all([
    host.call(session, "shell", { command: who }),
    host.call(other, "shell", { command: who }),
  ])
  assert.equal(a.text.trim(), `${session.id}\nt.${session.id}`)
  assert.equal(b.text.trim(), `${other.id}\nt.${other.id}`)
  // Within one step the order can be forced; the marks must not be mixed up either.
  const same = [
    { tool: "shell", input: { command: who } },
    { tool: "shell", input: { command: who } },
  ]
  const order = ["before:0", "before:1", "create:1", "create:0"] as const
  const { results } = await host.step(session, same, { order: [...order] })
  for (const result of results) assert.equal(result.text.trim(), `${session.id}\nt.${session.id}`)
})

test("a mark is its session's in whatever order the hooks run", () => {
  const marks = markTable()
  const command = "printenv"
  const first = marks.put({ session: "a", call: "1" }, command)
  const second = marks.put({ session: "b", call: "1" }, command)
  assert.equal(marks.take(`export X=1; ${second.text}`)?.mark?.session, "b")
  assert.deepEqual(marks.take(first.text), { mark: { session: "a", call: "1" }, command })
  assert.deepEqual(marks.take(first.text), { command }, "a mark is used once")
  assert.equal(marks.underway(), false)
})

test("marks that never arrive go: with their call, their session, their time, and the oldest of too many", () => {
  let now = 0
  const marks = markTable(() => now)
  const put = (session: string, call: string) => marks.put({ session, call }, "x").text
  const ended = put("a", "1")
  const forgotten = put("b", "1")
  const kept = put("a", "2")
  marks.ended({ session: "a", call: "1" })
  marks.forget("b")
  assert.deepEqual(marks.take(ended), { command: "x" }, "an agent's, but nobody's any more")
  assert.deepEqual(marks.take(forgotten), { command: "x" })
  assert.equal(marks.take(kept)?.mark?.call, "2")
  put("a", "3")
  assert.equal(marks.underway(), true)
  now = 600_001
  assert.equal(marks.underway(), false)
  const oldest = put("a", "4")
  for (let i = 0; i < 2_000; i++) put("a", `n${i}`)
  assert.deepEqual(marks.take(oldest), { command: "x" })
})

test("a command with the mark twice loses both; one with two calls' marks is neither's", () => {
  const marks = markTable()
  const a = marks.put({ session: "a", call: "1" }, "x").text
  assert.deepEqual(marks.take(`${a} || ${a}`), { mark: { session: "a", call: "1" }, command: "x || x" })
  const b = marks.put({ session: "b", call: "1" }, "y").text
  const c = marks.put({ session: "c", call: "1" }, "z").text
  assert.deepEqual(marks.take(`${b}; ${c}`), { command: "y; z" })
})

test("tables of one process know each other's marks; another directory's are not on their way here", () => {
  const shelf = newShelf()
  const [here, reloaded, there] = ["/a", "/a", "/b"].map((directory) => markTable(Date.now, shelf, directory))
  const { text } = here!.put({ session: "a", call: "1" }, "x")
  assert.deepEqual([reloaded!.underway(), there!.underway()], [true, false])
  assert.equal(reloaded!.take(text)?.mark?.session, "a")
  assert.equal(markTable().take(text), undefined, "another process's mark is a text")
})

eachRelease("a command whose mark is over gets no user's rights, and the mark is not seen", async (release) => {
  const { host, session } = await bench(release)
  // Its session's turn ends between the two hooks: the host may start it all the same.
  const { text } = markTable(Date.now, processShelf(), session.location.directory).put({ session: "s", call: "c" }, who)
  markTable(Date.now, processShelf()).forget("s")
  assert.equal((await host.shell.user(session, text)).output.trim(), "agents:1\nt.agents:1")
  assert.equal(host.shell.spawned.at(-1)?.command, who)
})

eachRelease("the user's own shells and a text that looks like a mark", async (release) => {
  const { host, session } = await bench(release)
  const own = await host.shell.user(session, who)
  assert.equal(own.output.trim(), "dir:1\nd.ticket")
  const lookalike = `: tenon_${"0".repeat(48)}; echo hi`
  const result = await host.call(session, "shell", { command: lookalike })
  assert.equal(result.text.trim(), "hi")
  assert.equal(host.shell.spawned.at(-1)?.command, lookalike)
  const pty = await host.shell.pty(session.location.directory, "printenv TENON_TICKET || true")
  assert.equal(pty.output.trim(), "")
})

eachRelease("frozen hook arguments", async (release) => {
  const { host, session } = await bench(release, {}, { switches: { frozenHookArguments: true } })
  const result = await host.call(session, "shell", { command: `${who}; echo $PATH` })
  assert.match(result.text, new RegExp(`^${session.id}\nt.${session.id}\n/`))
})

/** A plugin that spoils what tenon's has put in, after it. */
const spoiler = (spoil: (event: any) => void) => ({
  module: {
    default: {
      id: "spoiler",
      setup: async (ctx: Context) => {
        await ctx.tool.hook("execute.before", (event) => {
          if (event.tool === "shell") spoil(event)
        })
      },
    },
  },
})

eachRelease(
  "a mark that another plugin loses: an identity without a user's rights, and never another session's",
  async (release) => {
    const { host, session, daemon } = await bench(release)
    const location = await host.location()
    const { bin } = daemon
    const plugin = { module: () => import("../src/index.ts"), options: { bin } }
    await location.configure([plugin, spoiler((event) => (event.input = { command: who }))])
    await connected(daemon, 2)
    const result = await host.call(session, "shell", { command: who })
    assert.equal(result.text.trim(), "agents:1\nt.agents:1")
    const attach = daemon.sent("session/attach").find((each) => each.session === "agents:1")
    assert.equal(attach?.rules, undefined, "every call is asked about")
    // The call is over: a shell without a mark is the user's again.
    assert.equal((await host.shell.user(session, who)).output.trim(), "dir:1\nd.ticket")
  },
)

eachRelease("a call that another plugin refuses leaves nothing behind", async (release) => {
  const { host, session, daemon } = await bench(release)
  const plugin = { module: () => import("../src/index.ts"), options: { bin: daemon.bin } }
  const refuse = spoiler(() => {
    throw new Error("not today")
  })
  await (await host.location()).configure([plugin, refuse])
  await connected(daemon, 2)
  assert.equal((await host.call(session, "shell", { command: who })).status, "error")
  assert.equal((await host.shell.user(session, who)).output.trim(), "dir:1\nd.ticket")
})

eachRelease("what somebody has set for a shell stays; what the host inherited does not", async (release) => {
  const env = { ...process.env, TENON_TICKET: "outer", TENON_SESSION_ID: "ses_outer" }
  process.env.TENON_TICKET = "outer"
  process.env.TENON_SESSION_ID = "ses_outer"
  afterwards(() => {
    delete process.env.TENON_TICKET
    delete process.env.TENON_SESSION_ID
  })
  const { host, session, daemon } = await bench(release, {}, { env })
  assert.equal((await host.call(session, "shell", { command: who })).text.trim(), `${session.id}\nt.${session.id}`)
  host.session.environment(session, { PATH: process.env.PATH!, TENON_TICKET: "chosen" })
  assert.equal((await host.call(session, "shell", { command: "echo $TENON_TICKET" })).text.trim(), "chosen")
  // Without a daemon the outer session's ticket is masked.
  const lone = await host.session.create()
  await daemon.stop()
  assert.equal((await host.call(lone, "shell", { command: "echo [$TENON_TICKET]" })).text.trim(), "[]")
})

eachRelease("a slow daemon delays a shell by no more than its 250 ms", async (release) => {
  const { host, session } = await bench(release, { "session/attach": () => new Promise(() => {}) })
  const since = Date.now()
  await host.call(session, "shell", { command: "true" })
  assert.ok(Date.now() - since < 2_000, `${Date.now() - since} ms`)
})

eachRelease("outcomes of the host's tools are recorded", async (release) => {
  const { host, session, daemon } = await bench(release)
  await host.call(session, "shell", { command: "true" })
  await host.call(session, "read", { path: "nowhere" })
  await host.call(session, "tenon_exec", { code: "1" })
  await until("both were told of", () => daemon.sent("tool/outcome").length >= 2)
  const told = daemon.sent("tool/outcome").map(({ tool, status, origin }) => [tool, status, origin.session])
  assert.deepEqual(told, [
    ["shell", "ok", session.id],
    ["read", "error", session.id],
  ])
})

/** The three hooks by hand, on a host that lets the test decide about its events. */
async function hooksOf() {
  const hooks: Record<string, (event: any) => unknown> = {}
  const register = async (name: string, callback: (event: any) => unknown) => {
    hooks[name] = callback
    return { dispose: async () => {} }
  }
  const attached = (session: string) => ({ session, ticket: `t.${session}`, socket: "/s" })
  const bridge = {
    current: () => undefined,
    opened: async () => ({ session: "dir:1", ticket: "d.ticket", socket: "/s" }),
    request: async (_: string, { session }: { session: string }) => attached(session),
  }
  const sessions = { attach: async (id: string) => attached(id), known: () => undefined }
  const ctx = { tool: { hook: register }, shell: { hook: register } }
  const room = { bridge: () => bridge, sessions, options: { bin: "tenon" }, env: {}, directory: "/" }
  await shells(ctx as any, { on: () => {} } as any, room as any)
  const before = (session: string, command: string) => {
    const event = { tool: "shell", sessionID: session, messageID: "m", id: "c", input: { command } }
    hooks["execute.before"]!(event)
    return event
  }
  const create = async (command: string) => {
    const event = { command, cwd: "/", env: { PATH: "/bin" } as Record<string, string> }
    await hooks["create.before"]!(event)
    return event
  }
  return { hooks, before, create }
}

test("two sessions with one command, hooks interleaved: neither has the other's ticket", async () => {
  const { before, create } = await hooksOf()
  const a = before("ses_a", who)
  const b = before("ses_b", who)
  const forB = await create(b.input.command)
  const forA = await create(a.input.command)
  assert.deepEqual([forA.command, forA.env.TENON_TICKET], [who, "t.ses_a"])
  assert.deepEqual([forB.command, forB.env.TENON_TICKET], [who, "t.ses_b"])
  assert.equal(forA.env.PATH, "/bin")
})

test("events that cannot be written to throw nothing, and the shell is still one", async () => {
  const { hooks, create } = await hooksOf()
  const input = Object.freeze({ command: who })
  const frozen = Object.freeze({ tool: "shell", sessionID: "ses_a", messageID: "m", id: "c", input })
  hooks["execute.before"]!(frozen)
  // The mark never left: nothing is on its way, so this is the user's.
  assert.equal((await create(who)).env.TENON_TICKET, "d.ticket")
  const shell = Object.freeze({ command: who, cwd: "/", env: Object.freeze({}) })
  await hooks["create.before"]!(shell)
  for (const odd of [{}, { tool: "shell", input: null }, { tool: "shell", input: { command: 1 } }]) {
    hooks["execute.before"]!(odd)
  }
  await hooks["create.before"]!({ env: {} })
})
