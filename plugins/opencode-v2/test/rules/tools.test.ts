/** Names, registration, what the model is offered, and what a result may be. */

import assert from "node:assert/strict"
import { deferred, plugin, rule, tool, toolbox } from "./lib.ts"
import type { Context, Host, Metadata, Registration, StandardSchema, ToolContext } from "../host/index.ts"

async function registeredIDs(host: Host): Promise<string[]> {
  return (await (await host.location()).tools()).map((one) => one.id)
}

async function offered(host: Host): Promise<string[]> {
  return (await host.modelRequest(await host.session.create())).tools.map((one) => one.name)
}

function skipped(host: Host): unknown[] {
  return host.log.filter((entry) => entry.message === "Skipping invalid tool registration").map((entry) => entry.detail)
}

rule(
  20,
  "names are normalized and limited; an invalid registration is logged and skipped",
  async ({ host, switches }) => {
    const long = "x".repeat(switches.toolNameLimit)
    const made = await host({
      plugins: [
        toolbox(
          tool("my tool.é/x"),
          tool(long),
          tool(`${long}x`),
          tool(""),
          tool("spaced", { options: { namespace: "not valid" } }),
          tool("nested", { options: { namespace: "a.b-c" } }),
          tool("undescribed", { description: 1 as never }),
          tool("unschemed", { input: "none" as never }),
        ),
      ],
    })
    assert.equal((await made.location()).plugin("toolbox")?.status, "active")
    const ids = await registeredIDs(made)
    assert.ok(ids.includes("my_tool___x"))
    assert.ok(ids.includes(long) && !ids.includes(`${long}x`))
    assert.ok(ids.includes("a_b-c_nested"))
    const reasons = new Set(skipped(made))
    assert.ok(reasons.has(`Invalid tool name: ${long}x`))
    assert.ok(reasons.has("Invalid tool name: "))
    assert.ok(reasons.has('Invalid tool namespace: "not valid"'))
    assert.ok([...reasons].some((reason) => String(reason).startsWith("Invalid tool definition undescribed: ")))
    assert.ok([...reasons].some((reason) => String(reason).startsWith("Invalid tool definition unschemed: ")))
  },
)

rule(21, "the id has the namespace; the later of two wins, and dispose reveals the earlier", async ({ host }) => {
  let later: Registration | undefined
  const answering = (text: string) =>
    tool("do", { options: { namespace: "a.b" }, execute: async () => ({ content: text }) })
  const made = await host({
    plugins: [
      toolbox(answering("earlier")),
      plugin("later", async (ctx) => {
        later = await ctx.tool.transform((editor) => editor.add(answering("later")))
      }),
    ],
  })
  const session = await made.session.create()
  assert.equal((await made.call(session, "a_b_do")).text, "later")
  await later?.dispose()
  assert.equal((await made.call(session, "a_b_do")).text, "earlier")
})

rule(22, "update of a missing id does nothing; name, id and namespace stay", async ({ host }) => {
  const called: string[] = []
  const made = await host({
    plugins: [
      toolbox(tool("kept", { options: { namespace: "ns" } })),
      plugin("updating", async (ctx) => {
        await ctx.tool.transform((editor) => {
          editor.update("missing", () => void called.push("missing"))
          editor.update("ns_kept", (kept: any) => {
            kept.name = "renamed"
            kept.id = "renamed"
            kept.options.namespace = "other"
            kept.description = "updated"
          })
          editor.update("read", (read: any) => (read.input = "invalid"))
        })
      }),
    ],
  })
  assert.deepEqual(called, [])
  const request = await made.modelRequest(await made.session.create())
  assert.equal(request.tools.find((one) => one.name === "ns_kept")?.description, "updated")
  assert.ok(!(await registeredIDs(made)).some((id) => id.includes("renamed") || id.includes("other")))
  assert.notEqual(request.tools.find((one) => one.name === "read")?.input, "invalid")
})

rule(22, "an executor can be wrapped", async ({ host }) => {
  const made = await host({
    plugins: [
      toolbox(tool("inner", { execute: async (input) => ({ content: `inner ${input.n}` }) })),
      plugin("wrapping", async (ctx) => {
        await ctx.tool.transform((editor) =>
          editor.update("inner", (inner) => {
            const run = inner.execute
            inner.execute = async (input, context) => ({
              content: `wrapped ${(await run({ n: input.n + 1 }, context)).content}`,
            })
          }),
        )
      }),
    ],
  })
  assert.equal((await made.call(await made.session.create(), "inner", { n: 1 })).text, "wrapped inner 2")
})

rule(23, "the name execute is reserved for direct tools only", async ({ host }) => {
  const direct = await host({ plugins: [toolbox(tool("execute"))] })
  assert.ok(skipped(direct).includes('Tool name "execute" is reserved for CodeMode'))
  const inside = await host({ plugins: [toolbox(tool("execute", { options: { codemode: true } }))] })
  assert.deepEqual(skipped(inside), [])
})

rule(24, "without codemode false a tool is only in the catalogue", async ({ host }) => {
  const hidden = tool("hidden", { options: { codemode: undefined, namespace: "demo" } })
  const made = await host({ plugins: [toolbox(tool("direct"), hidden)] })
  const request = await made.modelRequest(await made.session.create())
  const names = request.tools.map((one) => one.name)
  assert.ok(names.includes("direct") && !names.includes("demo_hidden"))
  assert.match(request.catalogue, /tools\.demo\.hidden\(/)
  assert.doesNotMatch(request.catalogue, /direct/)
})

rule(25, "direct tools are sorted by id, execute is last, and gone when wholly denied", async ({ host }) => {
  const plugins = [toolbox(tool("zebra"), tool("alpha"))]
  const names = await offered(await host({ plugins }))
  assert.equal(names.at(-1), "execute")
  assert.deepEqual(names.slice(0, -1), names.slice(0, -1).sort())
  assert.ok(names.includes("alpha") && names.includes("zebra"))
  const permissions = [{ action: "execute", resource: "*", effect: "deny" as const }]
  assert.ok(!(await offered(await host({ plugins, config: { permissions } }))).includes("execute"))
})

rule(
  26,
  "a tool whose permission is wholly denied is hidden; nobody is ever asked for a plugin tool",
  async (given) => {
    const { host, switches } = given
    const made = await host({
      plugins: [
        toolbox(tool("own"), tool("other", { options: { permission: "shared" } }), tool("asked"), tool("partly")),
      ],
      config: {
        permissions: [
          { action: "own", resource: "*", effect: "deny" },
          { action: "shared", resource: "*", effect: "deny" },
          { action: "asked", resource: "*", effect: "ask" },
          { action: "partly", resource: "*", effect: "deny" },
          { action: "partly", resource: "this", effect: "ask" },
        ],
      },
    })
    const names = await offered(made)
    assert.ok(!names.includes("own") && !names.includes("other"))
    assert.ok(names.includes("asked") && names.includes("partly"))
    assert.equal((await made.call(await made.session.create(), "asked")).text, "ok")
    assert.deepEqual(made.user.pending(), [])
    // The releases differ where rules of narrower resources are all denials.
    const narrow = await host({
      plugins: [toolbox(tool("narrow"))],
      config: {
        permissions: [
          { action: "narrow", resource: "*", effect: "deny" },
          { action: "narrow", resource: "this", effect: "deny" },
        ],
        agents: { build: { defaults: false } },
      },
    })
    assert.equal((await offered(narrow)).includes("narrow"), switches.hideRule === "last-rule")
  },
)

rule(26, "rules of the session hide tools as well", async ({ host }) => {
  const made = await host({ plugins: [toolbox(tool("own"))] })
  const session = await made.session.create({ permissions: [{ action: "own", resource: "*", effect: "deny" }] })
  assert.ok(!(await made.modelRequest(session)).tools.some((one) => one.name === "own"))
})

rule(27, "a call runs the executor of its request, though the tool has gone since", async ({ host }) => {
  const registrations: Registration[] = []
  const made = await host({
    plugins: [
      plugin("leaving", async (ctx) => {
        registrations.push(await ctx.tool.transform((editor) => editor.add(tool("leaving"))))
      }),
    ],
  })
  const session = await made.session.create()
  const request = await made.modelRequest(session)
  await registrations[0]?.dispose()
  const { results } = await made.step(session, [{ tool: "leaving" }], { request })
  assert.equal(results[0]?.text, "ok")
  assert.equal((await made.call(session, "leaving")).status, "error")
})

const standard: StandardSchema = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: any) =>
      value?.n === undefined ? { issues: [{ message: "n is missing" }] } : { value: { n: Number(value.n) } },
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
}

rule(
  28,
  "input of a JSON schema is the tool's to check, where the release does not; other schemas decode",
  async (given) => {
    const { host, switches } = given
    const execute = async (input: unknown) => ({ content: JSON.stringify(input) })
    const strict = { type: "object", properties: { n: { type: "number" } }, required: ["n"] }
    const made = await host({
      plugins: [toolbox(tool("json", { input: strict, execute }), tool("standard", { input: standard, execute }))],
    })
    const session = await made.session.create()
    const json = await made.call(session, "json", { n: "no number" })
    if (switches.validateJsonInput) assert.match(json.text, /^Invalid tool input: /)
    else assert.equal(json.text, '{"n":"no number"}')
    assert.equal((await made.call(session, "standard", { n: "4" })).text, '{"n":4}')
    const refused = await made.call(session, "standard", {})
    assert.deepEqual([refused.status, refused.text], ["error", "Invalid tool input: n is missing"])
  },
)

rule(29, "the context of a tool has these members and no others", async ({ host, switches, release }) => {
  let given: ToolContext | undefined
  const execute = async (_: unknown, context: ToolContext) => {
    given = context
    await context.progress({ step: 1 })
    return { content: "ok" }
  }
  const made = await host({ plugins: [toolbox(tool("looking", { execute }))] })
  const session = await made.session.create()
  const result = await made.call(session, "looking")
  const context = given as ToolContext & Record<string, unknown>
  const expected = ["agent", "id", "messageID", "progress", "sessionID", ...(switches.toolSignal ? ["signal"] : [])]
  assert.deepEqual(Object.keys(context).sort(), expected)
  assert.equal(context.signal === undefined, release === "2.0.3")
  assert.deepEqual([context.sessionID, context.id, context.agent], [session.id, result.id, "build"])
  assert.equal(context.messageID, result.messageID)
  assert.deepEqual(result.progress as Metadata[], [{ step: 1 }])
  for (const name of ["ask", "abort", "directory", "callID", "metadata"]) assert.throws(() => context[name])
})

rule(30, "execute must return a promise", async ({ host }) => {
  const made = await host({ plugins: [toolbox(tool("sync", { execute: (() => ({ content: "x" })) as never }))] })
  const result = await made.call(await made.session.create(), "sync")
  assert.deepEqual([result.status, result.text], ["error", "execute must return a promise"])
})

rule(31, "an output must be declared, be there and fit", async ({ host }) => {
  const output = { type: "object", properties: { n: { type: "number" } }, required: ["n"] }
  const giving = (name: string, result: object, declared?: object) =>
    tool(name, { execute: async () => result, ...(declared && { output: declared as never }) })
  const made = await host({
    plugins: [
      toolbox(
        giving("undeclared", { output: 1 }),
        giving("missing", { content: "x" }, output),
        giving("wrong", { output: { n: "x" } }, output),
        giving("unjson", { output: { n: 1, at: new Date() } }, output),
        giving("right", { output: { n: 1 } }, output),
      ),
    ],
  })
  const session = await made.session.create()
  const text = async (name: string) => (await made.call(session, name)).text
  assert.equal(await text("undeclared"), "Tool result declared output without an output schema")
  assert.equal(await text("missing"), "Tool did not return its declared output")
  assert.match(await text("wrong"), /^Tool returned an invalid value for its output schema: /)
  assert.match(await text("unjson"), /not JSON/)
  assert.equal(await text("right"), '{"n":1}')
})

rule(32, "a text becomes one part; nothing becomes the output as JSON", async ({ host }) => {
  const parts = [
    { type: "text" as const, text: "a" },
    { type: "file" as const, uri: "data:text/plain;base64,YQ==", mime: "text/plain" },
  ]
  const made = await host({
    plugins: [
      toolbox(
        tool("text", { execute: async () => ({ content: "plain" }) }),
        tool("parts", { execute: async () => ({ content: parts }) }),
        tool("output", { output: {}, execute: async () => ({ output: [1, "x"], content: "" }) }),
      ),
    ],
  })
  const session = await made.session.create()
  assert.deepEqual((await made.call(session, "text")).content, [{ type: "text", text: "plain" }])
  assert.deepEqual((await made.call(session, "parts")).content, parts)
  assert.deepEqual((await made.call(session, "output")).content, [{ type: "text", text: '[1,"x"]' }])
})

rule(39, "a captured executor fires no hooks; the host's own still assert their permission", async ({ host, file }) => {
  file("note.txt", "the note")
  const fired: string[] = []
  let captured: Context | undefined
  const made = await host({
    config: { permissions: [{ action: "read", resource: "*", effect: "ask" }] },
    plugins: [
      toolbox(tool("inner")),
      plugin("capturing", async (ctx) => {
        captured = ctx
        await ctx.tool.hook("execute.before", (event) => void fired.push(`before ${event.tool}`))
        await ctx.tool.hook("execute.after", (event) => void fired.push(`after ${event.tool}`))
        await ctx.tool.transform((editor) => {
          const inner = editor.get("inner")
          const read = editor.get("read")
          editor.add(
            tool("outer", {
              execute: async (_, context) => {
                const own = await inner?.execute({}, context)
                const file = await read?.execute({ path: "note.txt" }, context)
                return { content: `${own?.content} and ${file?.content}` }
              },
            }),
          )
        })
      }),
    ],
  })
  assert.ok(captured)
  made.user.answers(() => "once")
  const session = await made.session.create()
  assert.equal((await made.call(session, "outer")).text, "ok and the note")
  assert.deepEqual(fired, ["before outer", "after outer"])
  assert.equal(made.events.of(`${made.switches.permissionEvents}.asked`).length, 1)
  made.user.answers(() => ({ decision: "reject", message: "not this one" }))
  assert.equal((await made.call(session, "outer")).text, "not this one")
})

rule(40, "unknown tools and those taken from the request are told by the host's words", async ({ host, switches }) => {
  const made = await host({
    plugins: [
      toolbox(tool("dropped"), tool("renamed"), tool("inside", { options: { codemode: true } })),
      plugin("context", async (ctx) => {
        await ctx.session.hook("context", (event) => {
          delete event.tools["dropped"]
          event.tools["other_name"] = event.tools["renamed"] as never
          delete event.tools["renamed"]
          event.tools["invented"] = { description: "", input: {} }
          event.system.push({ type: "text", text: "one more part" })
        })
      }),
    ],
  })
  const session = await made.session.create()
  const unknown = (name: string) =>
    switches.unknownToolText === "unknown"
      ? `Unknown tool: ${name}`
      : `No tool named "${name}" is currently available. Please use a tool from the available tool list.`
  for (const name of ["nothing", "inside", "invented"]) {
    assert.equal((await made.call(session, name)).text, unknown(name))
  }
  assert.equal((await made.call(session, "dropped")).text, "Tool is not available for this request: dropped")
  assert.equal((await made.call(session, "other_name")).text, "ok")
  const request = await made.modelRequest(session)
  assert.equal(request.system.at(-1), "one more part")
  assert.ok(!request.tools.some((one) => one.name === "invented"))
})

rule(41, "the transcript and session.tool.called keep what the model sent", async ({ host }) => {
  const started = deferred()
  const made = await host({
    plugins: [
      toolbox(
        tool("echo", {
          execute: async (input) => {
            started.resolve()
            return { content: JSON.stringify(input) }
          },
        }),
      ),
      plugin("rewriting", async (ctx) => {
        await ctx.tool.hook("execute.before", (event) => void (event.input.text = "rewritten"))
      }),
    ],
  })
  const session = await made.session.create()
  const result = await made.call(session, "echo", { text: "sent" })
  await started.promise
  assert.equal(result.text, '{"text":"rewritten"}')
  assert.deepEqual(made.session.transcript(session)[0]?.input, { text: "sent" })
  const called = made.events.of("session.tool.called")[0]
  assert.deepEqual(called?.data.input, { text: "sent" })
  assert.ok(
    made.events.all.indexOf(called as never) < made.events.all.findIndex((one) => one.type === "session.tool.success"),
  )
})
