/** Failures, interrupts and the hooks around a call. */

import assert from "node:assert/strict"
import { deferred, plugin, rule, tool, toolbox, until } from "./lib.ts"
import type { ToolAfterEvent, ToolContext } from "../host/index.ts"

class ToolError extends Error {
  override readonly name = "ToolError"
}

/** Notes every hook that fires. */
function noting(notes: string[]) {
  return plugin("noting", async (ctx) => {
    await ctx.tool.hook("execute.before", (event) => void notes.push(`before ${event.tool}`))
    await ctx.tool.hook("execute.after", (event) => void notes.push(`after ${event.tool} ${event.status}`))
  })
}

rule(
  33,
  "a rejection fails the call with its message and fires no execute.after; the turn goes on",
  async ({ host }) => {
    const notes: string[] = []
    const rejecting = tool("rejecting", { execute: () => Promise.reject(new Error("plain trouble")) })
    const typed = tool("typed", { execute: () => Promise.reject(new ToolError("typed trouble")) })
    const made = await host({ plugins: [toolbox(rejecting, typed, tool("fine")), noting(notes)] })
    const session = await made.session.create()
    await made.turn(session, async (turn) => {
      const first = await turn.step([{ tool: "rejecting" }])
      assert.deepEqual(first.results[0]?.error, { type: "unknown", message: "plain trouble" })
      assert.equal(first.ended, false)
      const second = await turn.step([{ tool: "typed" }])
      assert.deepEqual(second.results[0]?.error, { type: "tool.execution", message: "typed trouble" })
      assert.equal((await turn.step([{ tool: "fine" }])).results[0]?.text, "ok")
    })
    assert.deepEqual(notes, ["before rejecting", "before typed", "before fine", "after fine completed"])
  },
)

rule(33, "calls of one step that die share the message of the first", async ({ host, switches }) => {
  const slow = deferred()
  const made = await host({
    plugins: [
      toolbox(
        tool("slow", { execute: () => slow.promise.then(() => Promise.reject(new Error("slow trouble"))) }),
        tool("quick", { execute: () => Promise.reject(new Error("quick trouble")) }),
        tool("fine"),
      ),
    ],
  })
  setTimeout(slow.resolve, 30)
  const { results } = await made.step(await made.session.create(), [
    { tool: "slow" },
    { tool: "quick" },
    { tool: "fine" },
  ])
  const expected = switches.sharedDefects ? "quick trouble" : "slow trouble"
  assert.deepEqual(
    results.map((result) => result.text),
    [expected, "quick trouble", "ok"],
  )
})

rule(34, "an interrupt aborts at once and waits for nobody; what comes late is dropped", async ({ host, switches }) => {
  const running = deferred<ToolContext>()
  const finish = deferred()
  const late: string[] = []
  const notes: string[] = []
  const execute = async (_: unknown, context: ToolContext) => {
    running.resolve(context)
    await finish.promise
    await context.progress({ late: true }).catch((error: Error) => late.push(error.message))
    return { content: "late" }
  }
  const made = await host({ plugins: [toolbox(tool("hanging", { execute })), noting(notes)] })
  const session = await made.session.create()
  const step = made.step(session, [{ tool: "hanging" }])
  const context = await running.promise
  const progress = context.progress({ pending: true })
  const rejected = assert.rejects(progress, /All fibers interrupted/)
  const interrupted = made.interrupt(session)
  if (switches.toolSignal) assert.equal(context.signal?.aborted, true)
  assert.equal(await interrupted, true)
  await rejected
  const result = await step
  assert.deepEqual([result.interrupted, result.ended], [true, true])
  assert.equal(result.results[0]?.text, "Tool execution interrupted")
  assert.equal(made.events.of("session.execution.interrupted")[0]?.data.reason, "user")
  finish.resolve()
  await until("the late progress was refused", () => late.length === 1)
  assert.deepEqual(result.results[0]?.progress, [])
  assert.deepEqual(notes, ["before hanging"])
  assert.equal(made.session.transcript(session)[0]?.result?.text, "Tool execution interrupted")
})

rule(
  35,
  "before fires for direct calls, for execute and for each child, which carries the ids of execute",
  async (given) => {
    const seen: { tool: string; id: string; messageID: string }[] = []
    const made = await given.host({
      plugins: [
        toolbox(
          tool("direct"),
          tool("search", { options: { codemode: true, namespace: "demo" } }),
          tool("look", { options: { codemode: true } }),
        ),
        plugin("seeing", async (ctx) => {
          await ctx.tool.hook(
            "execute.before",
            ({ tool: name, id, messageID }) => void seen.push({ tool: name, id, messageID }),
          )
        }),
      ],
    })
    const session = await made.session.create()
    const { results } = await made.step(session, [
      { tool: "direct", id: "one" },
      { tool: "shell", input: { command: "true" }, id: "two" },
    ])
    assert.deepEqual(
      seen.splice(0).map((event) => [event.tool, event.id]),
      [
        ["direct", "one"],
        ["shell", "two"],
      ],
    )
    assert.ok(results[0])
    const program = await made.execute(session, "await tools.demo.search({}); await tools.look({})")
    assert.deepEqual(
      seen,
      ["execute", "demo_search", "look"].map((name) => ({ tool: name, id: program.id, messageID: program.messageID })),
    )
  },
)

rule(36, "the changed input is what runs, and a changed tool is the one that runs", async ({ host }) => {
  const made = await host({
    plugins: [
      toolbox(
        tool("asked", { execute: async () => ({ content: "wrong tool" }) }),
        tool("other", { execute: async (input) => ({ content: `other ${JSON.stringify(input)}` }) }),
        tool("child", { options: { codemode: true }, execute: async (input) => ({ content: JSON.stringify(input) }) }),
      ),
      plugin("changing", async (ctx) => {
        await ctx.tool.hook("execute.before", (event) => {
          if (event.tool === "execute") return
          event.input = { n: (event.input.n as number) + 1 }
          event.tool = "other"
        })
      }),
    ],
  })
  const session = await made.session.create()
  assert.equal((await made.call(session, "asked", { n: 1 })).text, 'other {"n":2}')
  assert.equal((await made.execute(session, "return await tools.child({ n: 1 })")).text, '{"n":2}')
})

rule(37, "a throw in before keeps the executor from running; the model reads the message", async ({ host }) => {
  const ran: string[] = []
  const notes: string[] = []
  const execute = async () => {
    ran.push("ran")
    return { content: "ok" }
  }
  const made = await host({
    plugins: [
      toolbox(tool("blocked", { execute }), tool("child", { execute, options: { codemode: true } })),
      noting(notes),
      plugin("blocking", async (ctx) => {
        await ctx.tool.hook("execute.before", async (event) => {
          if (event.tool !== "execute") throw new Error(`${event.tool} is not for you`)
        })
      }),
    ],
  })
  const session = await made.session.create()
  const result = await made.call(session, "blocked")
  assert.deepEqual([result.status, result.text], ["error", "blocked is not for you"])
  const program = await made.execute(session, "try { await tools.child({}) } catch (error) { return error.message }")
  assert.equal(program.text, "child is not for you")
  assert.deepEqual(ran, [])
  assert.deepEqual(
    notes.filter((note) => note.startsWith("after")),
    ["after execute completed"],
  )
})

rule(38, "after has the input as it ran, and may replace the result or the error", async ({ host }) => {
  const seen: ToolAfterEvent[] = []
  const made = await host({
    plugins: [
      toolbox(tool("fine", { execute: async () => ({ content: "original", metadata: { kept: true } }) })),
      plugin("after", async (ctx) => {
        await ctx.tool.hook("execute.before", (event) => {
          if (event.tool === "fine") event.input = { rewritten: true }
        })
        await ctx.tool.hook("execute.after", (event) => {
          seen.push(event)
          if (event.tool === "fine" && event.result) event.result = { ...event.result, content: "replaced" }
          if (event.error) event.error = { message: `explained: ${event.error.message}` }
        })
      }),
    ],
  })
  const session = await made.session.create()
  const fine = await made.call(session, "fine", { sent: true })
  assert.deepEqual([fine.text, fine.metadata], ["replaced", { kept: true }])
  assert.deepEqual(seen[0]?.input, { rewritten: true })
  const failed = await made.call(session, "read", { path: "missing.txt" })
  assert.match(failed.text, /^explained: ENOENT/)
  assert.equal(seen[1]?.status, "error")
})

rule(38, "a throw in after, or content that is none, fails the call", async ({ host }) => {
  const made = await host({
    plugins: [
      toolbox(tool("throws"), tool("spoils")),
      plugin("after", async (ctx) => {
        await ctx.tool.hook("execute.after", (event) => {
          if (event.tool === "throws") throw new Error("from after")
          if (event.result) event.result.content = 7 as never
        })
      }),
    ],
  })
  const session = await made.session.create()
  assert.deepEqual((await made.call(session, "throws")).text, "from after")
  assert.equal((await made.call(session, "spoils")).status, "error")
})
