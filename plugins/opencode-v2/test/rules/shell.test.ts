/** Shells and their hook. */

import assert from "node:assert/strict"
import { AsyncLocalStorage } from "node:async_hooks"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { plugin, rule, until } from "./lib.ts"
import type { ShellCreateEvent } from "../host/index.ts"

/** Notes the events of the hook; `change` may edit them. */
function watching(events: ShellCreateEvent[], change: (event: ShellCreateEvent) => void = () => {}) {
  return plugin("watching", async (ctx) => {
    await ctx.shell.hook("create.before", (event) => {
      events.push(event)
      change(event)
    })
  })
}

rule(48, "the event has command, cwd, timeout, shell and env, all to be changed, and no id", async (given) => {
  const { host, directory } = given
  const events: ShellCreateEvent[] = []
  const other = join(directory, "other")
  mkdirSync(other)
  const made = await host({
    plugins: [
      watching(events, (event) => {
        event.command = 'echo "$WORD in $PWD"'
        event.cwd = other
        event.shell = "/bin/sh"
        event.env = { WORD: "changed" }
        event.timeout = 5_000
      }),
    ],
  })
  const session = await made.session.create()
  const result = await made.call(session, "shell", { command: "echo sent" })
  assert.equal(result.text, `changed in ${other}\n`)
  assert.deepEqual(Object.keys(events[0] as object).sort(), ["command", "cwd", "env", "shell", "timeout"])
  assert.ok(!JSON.stringify(events[0]).includes(session.id))
})

rule(48, "no async context travels from a call to the hook", async ({ host }) => {
  const store = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const made = await host({
    plugins: [
      plugin("travelling", async (ctx) => {
        await ctx.tool.transform((editor) =>
          editor.update("shell", (shell) => {
            const run = shell.execute
            shell.execute = (input, context) => store.run(context.sessionID, () => run(input, context))
          }),
        )
        await ctx.shell.hook("create.before", () => void seen.push(store.getStore()))
      }),
    ],
  })
  const result = await made.call(await made.session.create(), "shell", { command: "echo ran" })
  assert.equal(result.text, "ran\n")
  assert.deepEqual(seen, [undefined])
})

rule(
  49,
  "the environment is the host's, the session's own, or none; the terminal's variables are there",
  async (given) => {
    const events: ShellCreateEvent[] = []
    const made = await given.host({ env: { PATH: process.env["PATH"], OF_HOST: "1" }, plugins: [watching(events)] })
    const session = await made.session.create()
    await made.call(session, "shell", { command: "true" })
    made.session.environment(session, { OF_SESSION: "1" })
    await made.call(session, "shell", { command: "true" })
    const placed = await made.session.create({ directory: given.directory, workspaceID: "wrk_1" })
    await made.call(placed, "shell", { command: "true" })
    const terminal = { TERM: "xterm-256color", OPENCODE_TERMINAL: "1" }
    assert.deepEqual(
      events.map((event) => event.env),
      [{ PATH: process.env["PATH"], OF_HOST: "1", ...terminal }, { OF_SESSION: "1", ...terminal }, terminal],
    )
    assert.equal(events[0]?.timeout, 120_000)
  },
)

rule(
  50,
  "execute.before, create.before, the question about the command as it is now, then the process",
  async (given) => {
    const order: string[] = []
    const made = await given.host({
      config: { permissions: [{ action: "shell", resource: "*", effect: "ask" }] },
      plugins: [
        plugin("ordering", async (ctx) => {
          await ctx.tool.hook("execute.before", (event) => {
            order.push("execute.before")
            event.input.command = `: marker; ${event.input.command}`
          })
          await ctx.shell.hook("create.before", (event) => {
            order.push(`create.before ${event.command}`)
            event.command = event.command.replace(": marker; ", "")
          })
          await ctx.permission.hook("evaluate", (event) => void order.push(`evaluate ${event.resources.join(" + ")}`))
        }),
      ],
    })
    const session = await made.session.create()
    const running = made.call(session, "shell", { command: "echo a && echo 'b; c'" })
    const request = await made.user.asked()
    assert.deepEqual(request.resources, ["echo a", "echo 'b; c'"])
    assert.deepEqual(made.shell.spawned, [])
    await made.user.reply(request, "once")
    assert.equal((await running).text, "a\nb; c\n")
    assert.deepEqual(order, [
      "execute.before",
      "create.before : marker; echo a && echo 'b; c'",
      "evaluate echo a + echo 'b; c'",
    ])
    assert.deepEqual(made.session.transcript(session)[0]?.input, { command: "echo a && echo 'b; c'" })
  },
)

rule(50, "a directory outside of the project is asked about", async ({ host, directory }) => {
  const inside = join(directory, "project")
  mkdirSync(inside)
  const made = await host({ directory: inside })
  const session = await made.session.create()
  const running = made.call(session, "shell", { command: "pwd", workdir: ".." })
  const request = await made.user.asked()
  assert.deepEqual([request.action, request.resources], ["external_directory", [`${directory}/*`]])
  await made.user.reply(request, "once")
  assert.equal((await running).text, `${directory}\n`)
})

rule(51, "user shells fire create.before alone; terminals fire neither hook", async ({ host, directory }) => {
  const fired: string[] = []
  const made = await host({
    config: { permissions: [{ action: "shell", resource: "*", effect: "ask" }] },
    plugins: [
      plugin("firing", async (ctx) => {
        await ctx.tool.hook("execute.before", () => void fired.push("execute.before"))
        await ctx.shell.hook("create.before", (event) => {
          fired.push("create.before")
          event.env["MARK"] = "set"
        })
      }),
    ],
  })
  const user = await made.shell.user(await made.session.create(), "echo user $MARK")
  assert.equal(user.output, "user set\n")
  assert.deepEqual(fired, ["create.before"])
  const terminal = await made.shell.pty(directory, "echo pty $MARK")
  assert.equal(terminal.output, "pty\n")
  assert.deepEqual(fired, ["create.before"])
  assert.deepEqual(made.user.pending(), [])
})

rule(52, "hooks of two shells with the same command can be made to interleave", async ({ host }) => {
  const order: string[] = []
  const made = await host({
    plugins: [
      plugin("noting", async (ctx) => {
        await ctx.tool.hook("execute.before", (event) => void order.push(`before ${event.id}`))
        await ctx.shell.hook("create.before", () => void order.push("create"))
        await ctx.tool.hook("execute.after", (event) => void order.push(`after ${event.id}`))
      }),
    ],
  })
  const session = await made.session.create()
  const calls = ["1", "2"].map((id) => ({ tool: "shell", id, input: { command: "true" } }))
  const { results } = await made.step(session, calls, { order: ["before:0", "before:1", "create:1", "create:0"] })
  assert.deepEqual(
    results.map((result) => result.status),
    ["completed", "completed"],
  )
  assert.deepEqual(order.slice(0, 4), ["before 1", "before 2", "create", "create"])
})

rule(52, "the forced order is that of the calls named", async ({ host }) => {
  const created: string[] = []
  const made = await host({
    plugins: [
      plugin("noting", async (ctx) => {
        await ctx.shell.hook("create.before", (event) => void created.push(event.cwd.split("/").at(-1) as string))
      }),
    ],
  })
  const session = await made.session.create()
  for (const name of ["a", "b"]) mkdirSync(join(session.location.directory, name))
  const calls = ["a", "b"].map((workdir) => ({ tool: "shell", input: { command: "true", workdir } }))
  await made.step(session, calls, { order: ["before:0", "before:1", "create:1", "create:0"] })
  await made.step(session, calls, { order: ["create:0", "before:1", "create:1"] })
  assert.deepEqual(created, ["b", "a", "a", "b"])
})

rule(52, "a call that never comes to its hook does not hold up the others", async ({ host }) => {
  const made = await host({
    plugins: [
      plugin("blocking", async (ctx) => {
        await ctx.tool.hook("execute.before", (event) => {
          if (event.id === "1") throw new Error("blocked")
        })
      }),
    ],
  })
  const calls = ["1", "2"].map((id) => ({ tool: "shell", id, input: { command: "echo ran" } }))
  const { results } = await made.step(await made.session.create(), calls, { order: ["create:0", "create:1"] })
  assert.deepEqual(
    results.map((result) => result.text),
    ["blocked", "ran\n"],
  )
})

rule(53, "keys that shell does not have are gone before create.before", async ({ host }) => {
  const events: ShellCreateEvent[] = []
  const made = await host({ plugins: [watching(events)] })
  await made.call(await made.session.create(), "shell", {
    command: "true",
    timeout: 3_000,
    sessionID: "x",
    env: { A: "1" },
  })
  const [event] = events
  assert.deepEqual(Object.keys(event as object).sort(), ["command", "cwd", "env", "shell", "timeout"])
  assert.equal(event?.timeout, 3_000)
  assert.equal(event?.env["A"], undefined)
})

rule(34, "an interrupt ends the processes of a shell", async ({ host, directory }) => {
  const made = await host()
  const session = await made.session.create()
  const running = made.call(session, "shell", { command: "echo started > mark; sleep 600 & wait" })
  await until("the shell runs", () => made.shell.spawned.length === 1 && existsSync(join(directory, "mark")))
  await made.interrupt(session)
  assert.equal((await running).text, "Tool execution interrupted")
  await until("its processes are gone", () => made.open().length === 0)
})
