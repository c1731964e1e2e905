/** Transforms and hooks. */

import assert from "node:assert/strict"
import { plugin, rule, tool } from "./lib.ts"
import type { Context, ToolEditor } from "../host/index.ts"

rule(14, "a transform is replayed from the beginning, in order, whenever something changes", async ({ host }) => {
  const seen: string[] = []
  let context: Context | undefined
  const made = await host({
    plugins: [
      plugin("first", async (ctx) => {
        context = ctx
        await ctx.tool.transform((editor) => {
          // Its own earlier edit is never there: every replay starts afresh.
          seen.push(editor.get("mine") ? "stale" : "fresh")
          editor.add(tool("mine", { description: "first" }))
        })
      }),
      plugin("second", async (ctx) => {
        await ctx.tool.transform((editor) => editor.update("mine", (mine) => (mine.description += ", second")))
      }),
    ],
  })
  const before = seen.length
  assert.ok(before >= 2, "a callback runs more than once")
  await context?.tool.reload()
  assert.ok(seen.length > before)
  assert.ok(seen.every((one) => one === "fresh"))
  const request = await made.modelRequest(await made.session.create())
  assert.equal(request.tools.find((one) => one.name === "mine")?.description, "first, second")
})

rule(15, "what a transform edits after an await has no effect", async ({ host }) => {
  let late: Promise<void> = Promise.resolve()
  let kept: ToolEditor | undefined
  const made = await host({
    plugins: [
      plugin("async", async (ctx) => {
        await ctx.tool.transform((editor) => {
          kept = editor
          late = (async () => {
            editor.add(tool("early"))
            await Promise.resolve()
            editor.add(tool("late"))
          })()
          return late as never
        })
      }),
    ],
  })
  await late
  kept?.add(tool("later_still"))
  const ids = (await (await made.location()).tools()).map((one) => one.id)
  assert.ok(ids.includes("early"))
  assert.ok(!ids.includes("late") && !ids.includes("later_still"))
})

rule(16, "a transform that throws in a replay keeps the old value and disables its plugin only", async ({ host }) => {
  let fails = false
  let reload = async () => {}
  const fired: string[] = []
  const made = await host({
    plugins: [
      plugin("failing", async (ctx) => {
        await ctx.tool.transform((editor) => {
          if (fails) throw new Error("in the replay")
          editor.add(tool("failing"))
        })
        await ctx.shell.hook("create.before", () => void fired.push("failing"))
      }),
      plugin("other", async (ctx) => {
        await ctx.tool.transform((editor) => editor.add(tool("other")))
        reload = ctx.tool.reload
      }),
    ],
  })
  const location = await made.location()
  fails = true
  await reload()
  const state = location.plugin("failing")
  assert.equal(state?.status, "failed")
  assert.match(state && "ref" in state ? state.ref : "", /^err_/)
  assert.equal(location.plugin("other")?.status, "active")
  await new Promise((resolve) => setImmediate(resolve))
  const ids = (await location.tools()).map((one) => one.id)
  assert.ok(!ids.includes("failing") && ids.includes("other"))
  await made.shell.user(await made.session.create(), "true")
  assert.deepEqual(fired, [])
})

rule(17, "reload runs transforms again, not setup", async ({ host }) => {
  let setups = 0
  let names = ["one"]
  let reload = async () => {}
  const made = await host({
    plugins: [
      plugin("reloading", async (ctx) => {
        setups++
        reload = ctx.tool.reload
        await ctx.tool.transform((editor) => names.forEach((name) => editor.add(tool(name))))
      }),
    ],
  })
  names = ["two"]
  await reload()
  const ids = (await (await made.location()).tools()).map((one) => one.id)
  assert.ok(ids.includes("two") && !ids.includes("one"))
  assert.equal(setups, 1)
})

rule(18, "hooks run one after another on one event; what they return is ignored", async ({ host }) => {
  const order: string[] = []
  const events: object[] = []
  const hooking = (id: string, wait: number) =>
    plugin(id, async (ctx) => {
      await ctx.tool.hook("execute.before", async (event) => {
        order.push(`${id} starts with ${event.input.text}`)
        events.push(event)
        await new Promise((resolve) => setTimeout(resolve, wait))
        event.input = { text: `${event.input.text}${id}` }
        order.push(`${id} ends`)
        return { text: "ignored" } as never
      })
    })
  const made = await host({
    plugins: [
      hooking("a", 20),
      hooking("b", 0),
      plugin("tools", async (ctx) => {
        const execute = async (input: any) => ({ content: input.text })
        await ctx.tool.transform((editor) => editor.add(tool("echo", { execute })))
      }),
    ],
  })
  const result = await made.call(await made.session.create(), "echo", { text: "-" })
  assert.equal(result.text, "-ab")
  assert.deepEqual(order, ["a starts with -", "a ends", "b starts with -a", "b ends"])
  assert.equal(events[0], events[1])
})

rule(19, "read-only fields are not written to, and a write is not acted on", async ({ host }) => {
  for (const readonlyWrites of ["throw", "ignore"] as const) {
    let thrown = 0
    const made = await host({
      switches: { readonlyWrites },
      plugins: [
        plugin("writing", async (ctx) => {
          await ctx.tool.transform((editor) =>
            editor.add(tool("who", { execute: async (_, call) => ({ content: `${call.sessionID} ${call.id}` }) })),
          )
          await ctx.tool.hook("execute.before", (event: any) => {
            for (const key of ["sessionID", "id", "messageID", "agent"]) {
              try {
                event[key] = "forged"
              } catch {
                thrown++
              }
              assert.notEqual(event[key], "forged")
            }
          })
        }),
      ],
    })
    const session = await made.session.create()
    const result = await made.call(session, "who")
    assert.equal(result.text, `${session.id} ${result.id}`)
    assert.equal(thrown, readonlyWrites === "throw" ? 4 : 0)
  }
})

rule(19, "a host may freeze what is inside an event: replacing works, changing in place does not", async ({ host }) => {
  const caught: string[] = []
  const made = await host({
    switches: { frozenHookArguments: true },
    plugins: [
      plugin("changing", async (ctx) => {
        const execute = async (input: any) => ({ content: JSON.stringify(input) })
        await ctx.tool.transform((editor) => editor.add(tool("echo", { execute })))
        await ctx.tool.hook("execute.before", (event) => {
          try {
            event.input.text = "in place"
          } catch {
            caught.push("in place")
          }
          event.input = { ...event.input, more: true }
        })
      }),
    ],
  })
  const result = await made.call(await made.session.create(), "echo", { text: "sent" })
  assert.deepEqual([JSON.parse(result.text), caught], [{ text: "sent", more: true }, ["in place"]])
})
