/** The same behaviours on every surface: real hosts, MCP clients, the command line. */

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { root } from "./lib/program.ts"
import { until } from "./lib/until.ts"
import { cli } from "./surfaces/cli.ts"
import { mcpHttp, mcpStdio } from "./surfaces/mcp.ts"
import { behaviours, run, type Agent, type Behaviour, type Running, type Surface } from "./surfaces/surface.ts"
import { v1 } from "./surfaces/v1.ts"
import { v2 } from "./surfaces/v2.ts"

const all: Surface[] = [v1, v2("2.0.3"), v2("2.0.15"), v2("2.0.23"), mcpStdio, mcpHttp, cli]
/** TENON_TEST_SURFACE picks those whose name holds it. */
const surfaces = all.filter(({ name }) => name.includes(process.env.TENON_TEST_SURFACE ?? ""))

/** What the rules say of `srv`; each behaviour asks about tools of its own, since "always" is remembered. */
const rules = {
  "*": "allow",
  srv_pid: "deny",
  srv_args: "ask",
  srv_stderr: "ask",
  srv_blob: "ask",
  srv_cwd: "ask",
  srv_tick: "ask",
} as const

/** A program that gives what a call came to, "ok" or the failure's kind and the user's words. */
const outcome = (tool: string, args: object = {}) =>
  `try { await tools.srv.${tool}(${JSON.stringify(args)}); "ok" } catch (e) { [e.kind, e.feedback].filter(Boolean).join(" ") }`

test("the table of differences in docs/opencode.md is this suite's", () => {
  const lines = readFileSync(join(root, "docs/opencode.md"), "utf8").split("\n")
  const cells = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim())
  const at = lines.findIndex((line) => line.startsWith("| behaviour |"))
  const names = cells(lines[at]!).slice(1)
  const rows = new Map(
    lines
      .slice(at + 2)
      .filter((line) => line.startsWith("| "))
      .map((line) => [cells(line)[0], cells(line).slice(1)]),
  )
  for (const surface of all) {
    const column = names.findIndex((name) => surface.name.startsWith(name))
    for (const behaviour of behaviours) {
      assert.equal(rows.get(behaviour)?.[column], surface.without[behaviour] ?? "yes", `${surface.name}: ${behaviour}`)
    }
  }
})

for (const surface of surfaces) {
  describe(surface.name, () => {
    let running: Running
    before(async () => {
      running = await surface.start(rules)
    })
    after(() => running?.stop())

    const behaviour = (name: Behaviour, body: () => Promise<void>) => {
      const reason = surface.without[name]
      test(name, { skip: reason ? `not on this surface: ${reason}` : false }, body)
    }
    const called = (tool: string) => running.journal().filter((each) => each.params?.name === tool).length
    const pending = async () => JSON.parse((await running.tenon("approvals", "--json")).stdout) as unknown[]

    behaviour("identity", async () => {
      const [one, two] = [await running.agent(), await running.agent()]
      const count = (agent: Agent) => run(agent, "[await tools.srv.counter({}), session.id].join()")
      const [first, other] = await Promise.all([count(one), count(two)])
      assert.match(first, /^1,/)
      assert.match(other, /^1,/)
      assert.notEqual(first, other)
      if (one.id) assert.equal(first, `1,${one.id}`)
      assert.equal(await count(one), first.replace("1,", "2,"))
    })

    behaviour("directory", async () => {
      const agent = await running.agent()
      assert.equal(await run(agent, "session.cwd"), running.place.project)
    })

    behaviour("allow and deny", async () => {
      const agent = await running.agent()
      assert.equal(await run(agent, outcome("echo", { text: "hi" })), "ok")
      assert.equal(await run(agent, outcome("pid")), "PermissionDenied")
      assert.equal(called("pid"), 0)
    })

    behaviour("ask, answered once", async () => {
      const agent = await running.agent()
      for (let time = 0; time < 2; time++) {
        const program = agent.begin(outcome("args"))
        const question = await program.question()
        assert.equal(question.key, "srv_args")
        await question.answer("once")
        assert.equal(await program.text, "ok")
      }
    })

    behaviour("ask, answered always", async () => {
      const agent = await running.agent()
      const program = agent.begin(outcome("tick"))
      await (await program.question()).answer("always")
      assert.equal(await program.text, "ok")
      assert.equal(await run(agent, outcome("tick")), "ok")
      const other = agent.begin(outcome("cwd"))
      const question = await other.question()
      assert.equal(question.key, "srv_cwd")
      await question.answer("once")
      assert.equal(await other.text, "ok")
    })

    behaviour("ask, rejected", async () => {
      const agent = await running.agent()
      const before = called("args")
      const program = agent.begin(outcome("args"))
      await (await program.question()).answer("reject", "use another one")
      assert.match(await program.text, /^PermissionDenied( use another one)?$/)
      assert.equal(called("args"), before)
    })

    behaviour("several asks at once", async () => {
      const agent = await running.agent()
      const program = agent.begin(
        `(await Promise.all([tools.srv.stderr({ text: "a" }), tools.srv.blob({ bytes: 1 }), tools.srv.args({})])).length`,
      )
      const keys: string[] = []
      await program.question()
      await until("all three wait", async () => (await pending()).length === 3)
      for (let n = 0; n < 3; n++) {
        const question = await program.question(n)
        keys.push(question.key)
        await question.answer("once")
      }
      assert.deepEqual(keys.sort(), ["srv_args", "srv_blob", "srv_stderr"])
      assert.equal(await program.text, "3")
    })

    behaviour("abort", async () => {
      const agent = await running.agent()
      const cancels = () => running.journal().filter((each) => each.method === "notifications/cancelled")
      const [sleeping, before] = [called("sleep"), cancels().length]
      const program = agent.begin("await Promise.all([1, 2].map(() => tools.srv.sleep({ ms: 120000 })))")
      await until("both calls", () => called("sleep") === sleeping + 2)
      const started = performance.now()
      await program.abort()
      await program.text.catch(() => {}) // an MCP client gives up at once
      assert.ok(performance.now() - started < 10_000)
      await until("both cancels", () => cancels().length === before + 2)
      for (const cancel of cancels().slice(before)) assert.match(cancel.params.reason, /user|cancel|interrupt/i)
      const runs = JSON.parse((await running.tenon("runs", "list", "--json")).stdout) as { status: string }[]
      assert.equal(runs[0]?.status, "cancelled")
    })

    behaviour("sub-agent", async () => {
      const root = await running.agent()
      assert.equal(await run(root, "await tools.srv.counter({})"), "1")
      const child = await running.agent(root)
      assert.match(await run(child, "[await tools.srv.counter({}), session.id].join()"), /^2,/)
      assert.notEqual(child.id, root.id)
      assert.equal(await run(root, "await tools.srv.counter({})"), "3")
      const rows = JSON.parse((await running.tenon("sessions", "--json")).stdout) as { id: string; root: string }[]
      assert.equal(rows.find((row) => row.id === child.id)?.root, root.id)
    })

    behaviour("shell", async () => {
      const agent = await running.agent()
      assert.equal(await run(agent, "await tools.srv.counter({})"), "1")
      assert.equal((await agent.shell("tenon call srv counter")).trim(), "2")
      assert.equal((await agent.shell("tenon exec -e 'await tools.srv.counter({})'")).trim(), "3")
      assert.match(await agent.shell("tenon call srv pid || echo exit $?"), /srv_pid[^]*exit 4/)
      assert.equal(await run(agent, "await tools.srv.counter({})"), "4")
    })

    behaviour("daemon restart", async () => {
      const agent = await running.agent()
      const old = running.daemon()
      const sleeping = called("sleep")
      const program = agent.begin("await tools.srv.sleep({ ms: 120000 })")
      await until("the call is under way", () => called("sleep") === sleeping + 1)
      process.kill(old, "SIGKILL")
      await program.text.catch(() => {}) // a clear failure, or the connection's end
      assert.equal(await run(agent, "await tools.srv.counter({})"), "1")
      assert.notEqual(running.daemon(), old)
    })
  })
}
