/** Programs, and the tools that only they have. */

import assert from "node:assert/strict"
import { createServer } from "node:http"
import { deferred, plugin, rule, tool, toolbox, until } from "./lib.ts"
import type { AddressInfo } from "node:net"
import type { ToolContext, ToolInfo } from "../host/index.ts"

/** A tool for programs. */
function inner(name: string, more: Partial<ToolInfo> = {}): ToolInfo {
  return tool(name, { ...more, options: { codemode: true, ...more.options } })
}

rule(42, "each child has its own permission; leave for execute is no leave for them", async ({ host, file }) => {
  file("note.txt", "the note")
  const made = await host({
    config: { permissions: [{ action: "read", resource: "*", effect: "ask" }] },
    plugins: [
      plugin("opening", async (ctx) => {
        await ctx.tool.transform((editor) => editor.update("read", (read: any) => (read.options.codemode = true)))
      }),
    ],
  })
  const session = await made.session.create({
    permissions: [{ action: "execute", resource: "*", effect: "allow" }],
  })
  const running = made.execute(session, 'return await tools.read({ path: "note.txt" })')
  const request = await made.user.asked()
  assert.deepEqual([request.action, request.resources], ["read", ["note.txt"]])
  await made.user.reply(request, "once")
  assert.equal((await running).text, "the note")
})

rule(42, "a denied execute takes all tools that are not direct; a denied tool is in no program", async ({ host }) => {
  const made = await host({ plugins: [toolbox(inner("mine"), inner("denied"))] })
  const without = await made.session.create({ permissions: [{ action: "execute", resource: "*", effect: "deny" }] })
  const request = await made.modelRequest(without)
  assert.equal(request.catalogue, "")
  assert.equal((await made.execute(without, "1")).status, "error")
  const denied = await made.session.create({ permissions: [{ action: "denied", resource: "*", effect: "deny" }] })
  assert.doesNotMatch((await made.modelRequest(denied)).catalogue, /denied/)
  assert.match((await made.execute(denied, "await tools.denied({})")).text, /^UnknownTool: denied/)
})

rule(43, "shell and the other direct tools cannot be called from a program", async ({ host }) => {
  const made = await host({ plugins: [toolbox(tool("direct"))] })
  const session = await made.session.create()
  for (const name of ["shell", "direct"]) {
    const result = await made.execute(session, `await tools.${name}({ command: "true" })`)
    assert.match(result.text, new RegExp(`^UnknownTool: ${name}`))
    assert.equal(result.metadata?.["error"], true)
  }
})

rule(44, "children that are not awaited are interrupted when the program ends", async ({ host, switches }) => {
  const started = deferred<ToolContext>()
  const late: string[] = []
  const execute = async (_: unknown, context: ToolContext) => {
    started.resolve(context)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await context.progress({}).catch(() => late.push("refused"))
    return { content: "late" }
  }
  const made = await host({ plugins: [toolbox(inner("slow", { execute }), inner("quick"))] })
  const session = await made.session.create()
  const result = await made.execute(
    session,
    "tools.slow({}).then(() => { throw new Error('ran on') }); await tools.quick({}); return 'over'",
  )
  assert.equal(result.text, "over")
  const context = await started.promise
  assert.equal(context.signal?.aborted, switches.toolSignal ? true : undefined)
  await until("the late progress was refused", () => late.length === 1)
})

rule(44, "the cancel key ends a program with its children", async ({ host, switches }) => {
  const started = deferred<ToolContext>()
  const execute = (_: unknown, context: ToolContext) => {
    started.resolve(context)
    return new Promise<never>(() => {})
  }
  const made = await host({ plugins: [toolbox(inner("hanging", { execute }))] })
  const session = await made.session.create()
  const running = made.execute(session, "await tools.hanging({})")
  const context = await started.promise
  await made.interrupt(session)
  if (switches.toolSignal) assert.equal(context.signal?.aborted, true)
  assert.equal((await running).text, "Tool execution interrupted")
})

rule(45, "a child's rejection can be caught; uncaught it is the program's error", async ({ host }) => {
  const failing = inner("failing", { execute: () => Promise.reject(new Error("child trouble")) })
  const made = await host({ plugins: [toolbox(failing)] })
  const session = await made.session.create()
  const caught = await made.execute(
    session,
    "try { await tools.failing({}) } catch (error) { return 'caught ' + error.message }",
  )
  assert.equal(caught.text, "caught child trouble")
  assert.equal(caught.metadata?.["error"], undefined)
  const uncaught = await made.execute(session, "await tools.failing({})")
  assert.deepEqual([uncaught.status, uncaught.text, uncaught.metadata?.["error"]], ["completed", "child trouble", true])
  assert.deepEqual(uncaught.toolCalls, [{ tool: "failing", status: "error", input: {} }])
  const ignored = await made.execute(session, "tools.failing({}); await new Promise((r) => r(1)); return 'fine'")
  assert.match(ignored.text, /^fine/)
})

rule(
  45,
  "a program's last expression is its result, types are stripped, errors of syntax are told",
  async ({ host }) => {
    const made = await host({
      plugins: [toolbox(inner("n", { execute: async (input) => ({ content: `n${input.n}` }) }))],
    })
    const session = await made.session.create()
    const value = async (code: string) => (await made.execute(session, code)).value
    assert.equal(await value("const a: string = await tools.n({ n: 1 })\na + '!'"), "n1!")
    assert.equal(await value("const a = 1"), null)
    assert.deepEqual(await value("return await Promise.all([1, 2].map((n) => tools.n({ n })))"), ["n1", "n2"])
    assert.match((await made.execute(session, "const = 1")).text, /^ParseError: /)
    assert.equal(await value("typeof process + typeof require"), "undefinedundefined")
  },
)

rule(45, "programs have a fetch that nobody is asked about where the release has it", async ({ host, switches }) => {
  const server = createServer((_, response) => response.end("from outside"))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  try {
    const made = await host({ config: { permissions: [{ action: "*", resource: "*", effect: "ask" }] } })
    const session = await made.session.create()
    const code = `typeof fetch === "undefined" ? "no fetch" : await (await fetch(${JSON.stringify(url)}, { headers: { connection: "close" } })).text()`
    const result = await made.execute(session, code)
    assert.equal(result.value, switches.codemodeFetch ? "from outside" : "no fetch")
    assert.equal(result.toolCalls?.length, switches.codemodeFetch ? 1 : 0)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

rule(46, "names that are no identifiers are called in brackets", async ({ host }) => {
  const odd = inner("my-tool", { options: { namespace: "the-ns.part" } })
  const made = await host({ plugins: [toolbox(odd)] })
  const session = await made.session.create()
  assert.match((await made.modelRequest(session)).catalogue, /tools\["the-ns"\]\.part\["my-tool"\]\(/)
  const result = await made.execute(session, 'return await tools["the-ns"].part["my-tool"]({})')
  assert.equal(result.text, "ok")
  assert.equal(result.toolCalls?.[0]?.tool, "the-ns.part.my-tool")
})

rule(47, "pinned tools are always listed; the rest share 2,000 estimated tokens", async ({ host }) => {
  const description = "d".repeat(300)
  const many = Array.from({ length: 200 }, (_, at) =>
    inner(`tool_${at}`, { description, options: { namespace: "many" } }),
  )
  const made = await host({
    plugins: [
      toolbox(
        ...many,
        inner("alone", { options: { namespace: "small" } }),
        inner("a_very_long_name_of_a_pinned_tool", { description, options: { pinned: true, namespace: "many" } }),
      ),
      plugin("describing", async (ctx) => {
        await ctx.tool.transform((editor) => editor.namespace({ name: "small", description: "A small namespace" }))
      }),
    ],
  })
  const session = await made.session.create()
  const { catalogue } = await made.modelRequest(session)
  const lines = catalogue.split("\n").filter((line) => line.startsWith("tools."))
  assert.ok(lines.join("\n").length / 4 <= 2_000)
  assert.ok(lines.length > 10 && lines.length < 100)
  assert.ok(lines.some((line) => line.includes("a_very_long_name_of_a_pinned_tool")))
  assert.ok(
    lines.some((line) => line.startsWith("tools.small.alone")),
    "every namespace has its turn",
  )
  assert.ok(lines.every((line) => !line.includes("d".repeat(121))))
  assert.match(catalogue, /small: A small namespace/)
  const found = await made.execute(
    session,
    'const page = search({ query: "tool_19", namespace: "many", limit: 3 }); return { paths: page.items.map((i) => i.path), remaining: page.remaining, next: page.next }',
  )
  assert.deepEqual(found.value, {
    paths: ["many.tool_19", "many.tool_190", "many.tool_191"],
    remaining: 8,
    next: { offset: 3 },
  })
})
