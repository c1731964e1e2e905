/** How an instance of a plugin comes and goes. */

import assert from "node:assert/strict"
import { join } from "node:path"
import { mkdirSync } from "node:fs"
import { plugin, rule, tool, until } from "./lib.ts"
import type { Context, HostEvent } from "../host/index.ts"

const ids = (tools: { id: string }[]) => tools.map((one) => one.id)

rule(9, "setup gives nothing, a cleanup, or a promise of either", async ({ host }) => {
  const cleaned: string[] = []
  const made = await host({
    plugins: [
      plugin("none", () => {}),
      plugin("sync", () => () => void cleaned.push("sync")),
      plugin("async", async () => async () => void cleaned.push("async")),
    ],
  })
  const location = await made.location()
  assert.deepEqual(
    location.plugins().map((state) => state.status),
    ["active", "active", "active"],
  )
  await location.configure([])
  assert.deepEqual(cleaned, ["async", "sync"])
})

rule(9, "what a setup registered before it threw is gone", async ({ host }) => {
  const fired: string[] = []
  const made = await host({
    plugins: [
      plugin("broken", async (ctx) => {
        await ctx.tool.transform((editor) => editor.add(tool("left_over")))
        await ctx.shell.hook("create.before", () => void fired.push("broken"))
        throw new Error("no")
      }),
      plugin("fine", async (ctx) => {
        await ctx.tool.transform((editor) => editor.add(tool("fine")))
      }),
    ],
  })
  const location = await made.location()
  assert.deepEqual(
    location.plugins().map((state) => state.status),
    ["failed", "active"],
  )
  assert.ok(!ids(await location.tools()).includes("left_over"))
  assert.ok(ids(await location.tools()).includes("fine"))
  await made.shell.user(await made.session.create(), "true")
  assert.deepEqual(fired, [])
})

rule(10, "unload awaits the cleanup, then disposes newest first; nothing of the plugin stays", async ({ host }) => {
  const order: string[] = []
  const heard: string[] = []
  const definition = { id: "echo.rpc", methods: { say: { input: {}, output: {} } } }
  const ended: string[] = []
  let seen: HostEvent[] = []
  const made = await host({
    plugins: [
      plugin("going", async (ctx) => {
        await ctx.tool.transform((editor) => editor.add(tool("going")))
        await ctx.tool.hook("execute.before", () => void heard.push("before"))
        await ctx.mcp.transform((editor) => editor.set("srv", { type: "local", command: ["true"], disabled: true }))
        await ctx.rpc.register(definition, { say: async (input) => input })
        const events = ctx.event.subscribe()
        void (async () => {
          for await (const event of events) seen.push(event)
          ended.push("events")
        })()
        return async () => {
          await new Promise((resolve) => setTimeout(resolve, 20))
          // Registrations are still there while the cleanup runs.
          order.push(`cleanup with ${ids(await location.tools()).includes("going")}`)
        }
      }),
      plugin("staying", async (ctx) => {
        await ctx.tool.transform((editor) => editor.add(tool("staying")))
      }),
    ],
  })
  const location = await made.location()
  const rpc = location.rpc(definition)
  assert.equal(await rpc["say"]?.("hi"), "hi")
  await location.unload("going")
  assert.deepEqual(order, ["cleanup with true"])
  assert.ok(!ids(await location.tools()).includes("going"))
  assert.deepEqual(await location.mcp.configs(), {})
  await until("the event iterator ended", () => ended.length === 1)
  await assert.rejects(async () => rpc["say"]?.("hi"), { type: "rpc.unavailable" })
  seen = []
  const session = await made.session.create()
  await made.call(session, "staying")
  assert.deepEqual([heard, seen], [[], []])
})

rule(11, "a reload has fresh module state; storage survives", async ({ host, file }) => {
  file(
    "counting/index.js",
    `let loads = 0
    export default { id: "counting", async setup(ctx) {
      loads++
      const before = (await ctx.storage.get("setups")) ?? 0
      await ctx.storage.set("setups", before + 1)
      await ctx.tool.transform((editor) => editor.add({
        name: "count", description: "", input: { type: "object" }, options: { codemode: false },
        execute: async () => ({ content: JSON.stringify({ loads, setups: await ctx.storage.get("setups") }) }) }))
    } }`,
  )
  const made = await host({ plugins: ["./counting"] })
  const session = await made.session.create()
  assert.equal((await made.call(session, "count")).text, '{"loads":1,"setups":1}')
  await (await made.location()).reload("counting")
  assert.equal((await made.call(session, "count")).text, '{"loads":1,"setups":2}')
})

rule(11, "a reload leaves the plugins before it alone and loads those after it anew", async ({ host }) => {
  const setups: string[] = []
  const counted = (id: string) => plugin(id, () => void setups.push(id))
  const made = await host({ plugins: [counted("a"), counted("b"), counted("c")] })
  await (await made.location()).reload("b")
  assert.deepEqual(setups, ["a", "b", "c", "b", "c"])
})

rule(12, "dispose takes out one registration, once", async ({ host }) => {
  let disposals: Promise<void>[] = []
  const fired: string[] = []
  let dispose = async () => {}
  const made = await host({
    plugins: [
      plugin("disposing", async (ctx) => {
        await ctx.shell.hook("create.before", () => void fired.push("kept"))
        const registration = await ctx.shell.hook("create.before", () => void fired.push("gone"))
        dispose = async () => {
          disposals = [registration.dispose(), registration.dispose()]
          await Promise.all(disposals)
          await registration.dispose()
        }
      }),
    ],
  })
  const session = await made.session.create()
  await made.shell.user(session, "true")
  await dispose()
  await made.shell.user(session, "true")
  assert.deepEqual(fired, ["kept", "gone", "kept"])
})

rule(13, "two locations have two instances, each with its own place", async ({ host, directory }) => {
  const places: Context["location"][] = []
  const made = await host({
    projects: [directory],
    plugins: [
      plugin("placed", async (ctx) => {
        places.push(ctx.location)
        await ctx.tool.transform((editor) =>
          editor.add(tool("where", { execute: async () => ({ content: ctx.location.directory }) })),
        )
      }),
    ],
  })
  const below = join(directory, "below")
  mkdirSync(below)
  const session = await made.session.create({ directory: below })
  assert.deepEqual(
    places.map((place) => place.directory),
    [directory, below],
  )
  assert.equal(places[1]?.project.directory, directory)
  assert.equal((await made.call(session, "where")).text, below)
})
