/** The built plugin between the contract host and the real daemon. */

import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { after, before, describe, test } from "node:test"
import { fileURLToPath } from "node:url"
import { hostEnvironment } from "../../../test/e2e/lib/host.ts"
import { tenonBin } from "../../../test/e2e/lib/program.ts"
import { fake, makeScenery, type Scenery } from "../../../test/e2e/lib/scene.ts"
import { until } from "./bench.ts"
import { createHost, type Context, type Host, type PermissionRule, type SessionInfo } from "./host/index.ts"

const dist = fileURLToPath(new URL("../dist", import.meta.url))
const asked = ["srv_args", "srv_stderr", "srv_blob", "srv_tick", "srv_cwd"]
const rules: PermissionRule[] = [
  { action: "srv_pid", resource: "*", effect: "deny" },
  ...asked.map((action) => ({ action, resource: "*", effect: "ask" as const })),
]

/** A program that gives what a call came to. */
const outcome = (tool: string, args = {}) =>
  `try { await tools.srv.${tool}(${JSON.stringify(args)}); "ok" } catch (e) { [e.kind, e.feedback].filter(Boolean).join(" ") }`

const skip = existsSync(tenonBin) ? false : `${tenonBin} is not built (make build)`

describe("with the real daemon", { skip }, () => {
  let scenery: Scenery
  let host: Host
  let session: SessionInfo
  const kept = { ...process.env }

  before(async () => {
    scenery = makeScenery((place) => ({ servers: { srv: { command: fake(place, "srv"), scope: "session" } } }))
    // The plugin lives in this process, and finds its daemon by this environment.
    for (const name of Object.keys(process.env)) if (/^(TENON|OPENCODE|XDG)_/.test(name)) delete process.env[name]
    Object.assign(process.env, hostEnvironment(scenery.place))
    host = await createHost({
      directory: scenery.place.project,
      config: { permissions: rules },
      http: true,
      env: process.env,
    })
    const { url, password } = host.http!
    const location = await host.location()
    await location.configure([{ package: dist, options: { bin: tenonBin, url, password } }])
    assert.deepEqual(
      location.plugins().map(({ status }) => status),
      ["active"],
    )
    session = await host.session.create()
  })
  after(async () => {
    await host?.close()
    assert.deepEqual(host?.open(), [])
    await scenery.stop()
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, kept)
  })

  const run = async (code: string, who = session) => (await host.call(who, "tenon_exec", { code })).text
  const count = (who = session) => run("await tools.srv.counter({})", who)
  const calls = (tool: string) => scenery.journal("srv").filter(({ params }) => params?.name === tool).length

  test("a session keeps its server, has its directory, and shares neither", async () => {
    const other = await host.session.create()
    assert.deepEqual(await Promise.all([count(), count(other)]), ["1", "1"])
    assert.equal(await count(), "2")
    assert.equal(await run("[session.id, session.cwd].join()"), `${session.id},${scenery.place.project}`)
  })

  test("a sub-agent uses its root's server under its own name", async () => {
    const root = await host.session.create()
    await count(root)
    const child = await host.session.create({ parentID: root.id })
    assert.equal(await count(child), "2")
    assert.equal(await run("session.id", child), child.id)
  })

  test("a script from bash is the session; the user's own shell is the directory's", async () => {
    const mine = await host.session.create()
    await count(mine)
    const shell = await host.call(mine, "shell", { command: `${tenonBin} call srv counter; printenv TENON_SESSION_ID` })
    assert.deepEqual(shell.text.trim().split("\n"), ["2", mine.id])
    const own = await host.shell.user(mine, `printenv TENON_SESSION_ID; ${tenonBin} call srv counter`)
    assert.match(own.output, /^dir:[0-9a-f]+\n1\n/)
    const { stdout } = await scenery.tenon("sessions", "--json")
    const states = (JSON.parse(stdout) as { id: string; state: string }[]).map(({ id, state }) => [id, state])
    assert.ok(
      states.some(([id, state]) => id === mine.id && state === "attached"),
      stdout,
    )
    assert.ok(
      states.some(([id, state]) => id!.startsWith("dir:") && state === "directory"),
      stdout,
    )
  })

  test("opencode's rules hold: allowed, denied, asked and answered", async () => {
    assert.equal(await run(outcome("echo", { text: "hi" })), "ok")
    assert.equal(await run(outcome("pid")), "PermissionDenied")
    assert.equal(calls("pid"), 0)
    const ask = async (tool: string, answer: "once" | "always" | "reject") => {
      const running = run(outcome(tool))
      await host.user.reply(await host.user.asked(({ action }) => action === `srv_${tool}`), answer)
      return running
    }
    assert.equal(await ask("args", "once"), "ok")
    assert.equal(await ask("args", "reject"), "PermissionDenied")
    assert.equal(await ask("tick", "always"), "ok")
    assert.equal(await run(outcome("tick")), "ok", "remembered by tenon")
  })

  test("several questions wait at once, also those of a script", async () => {
    const code = `(await Promise.all([tools.srv.stderr({ text: "a" }), tools.srv.blob({ bytes: 1 })])).length`
    const step = host.step(session, [
      { tool: "tenon_exec", input: { code } },
      { tool: "shell", input: { command: `${tenonBin} call srv cwd` } },
    ])
    const keys = ["srv_stderr", "srv_blob", "srv_cwd"]
    const requests = await Promise.all(keys.map((key) => host.user.asked(({ action }) => action === key)))
    for (const request of requests) await host.user.reply(request, "once")
    const [program, script] = (await step).results
    assert.equal(program!.text, "2")
    assert.equal(script!.text.trim(), scenery.place.home)
  })

  test("the cancel key ends the calls at their server", async () => {
    const cancels = () => scenery.journal("srv").filter(({ method }) => method === "notifications/cancelled")
    const mine = await host.session.create()
    const [before, sleeping] = [cancels().length, calls("sleep")]
    const running = run("await Promise.all([1, 2].map(() => tools.srv.sleep({ ms: 120000 })))", mine)
    await until("both calls", () => calls("sleep") === sleeping + 2)
    await host.interrupt(mine)
    await running
    await until("both cancels", () => cancels().length === before + 2)
    for (const { params } of cancels().slice(before)) assert.match(params.reason, /user/)
  })

  test("a reload keeps the server and its state", async () => {
    const mine = await host.session.create()
    assert.equal(await count(mine), "1")
    await (await host.location()).reload("opencode-tenon")
    await until("it is attached again", async () => {
      const rows = JSON.parse((await scenery.tenon("sessions", "--json")).stdout) as { id: string; state: string }[]
      return rows.some(({ id, state }) => id === mine.id && state === "attached")
    })
    assert.equal(await count(mine), "2")
  })

  test("a shell that cannot be told apart has an identity of its own, in which every call is asked about", async () => {
    const location = await host.location()
    const { url, password } = host.http!
    const tenon = { package: dist, options: { bin: tenonBin, url, password } }
    const command = `printenv TENON_SESSION_ID; ${tenonBin} call srv counter`
    const lose = async (ctx: Context) =>
      void (await ctx.tool.hook("execute.before", (event) => {
        if (event.tool === "shell") event.input = { command }
      }))
    await location.configure([tenon, { module: { default: { id: "loser", setup: lose } } }])
    const running = host.call(session, "shell", { command })
    type Row = { id: string; session: string; key: string }
    let rows: Row[] = []
    await until("it is asked about", async () => {
      rows = JSON.parse((await scenery.tenon("approvals", "--json")).stdout) as Row[]
      return rows.length === 1
    })
    assert.match(rows[0]!.session, /^agents:[0-9a-f]+$/)
    assert.equal(rows[0]!.key, "srv_counter")
    // Only a user who is not below this host may answer; the cancel key ends it.
    await host.interrupt(session)
    await running
    await location.configure([tenon])
  })

  test("as an MCP server of the host, tenon knows whose calls they are", async () => {
    const location = await host.location()
    const { url, password } = host.http!
    const options = { bin: tenonBin, url, password }
    await location.configure([{ package: dist, options: { ...options, mcp: true } }])
    await until("the entry is there", async () => "tenon" in (await location.mcp.configs()))
    await location.mcp.settled()
    const [one, two] = [await host.session.create(), await host.session.create()]
    assert.deepEqual(await Promise.all([run("session.id", one), run("session.id", two)]), [one.id, two.id])
    assert.equal(await run("await tools.srv.counter({})", one), "1")
    await location.configure([{ package: dist, options }])
    assert.equal(await count(one), "2", "the same server by either way")
  })

  test("a daemon that is killed is replaced, and knows the sessions", async () => {
    const old = scenery.daemon()
    const sleeping = calls("sleep")
    const running = run("await tools.srv.sleep({ ms: 120000 })")
    await until("the call is under way", () => calls("sleep") === sleeping + 1)
    process.kill(old, "SIGKILL")
    assert.match(await running, /connection|lost|available/)
    assert.equal(await count(), "1")
    assert.notEqual(scenery.daemon(), old)
    const shell = await host.call(session, "shell", { command: `${tenonBin} call srv counter` })
    assert.equal(shell.text.trim(), "2")
  })
})
