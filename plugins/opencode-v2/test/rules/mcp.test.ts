/** MCP servers: configuration, and their tools as tools of the host. */

import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { plugin, rule } from "./lib.ts"
import { double, heard } from "./mcplib.ts"
import type { Context, Host, McpLocalConfig, Registration } from "../host/index.ts"

async function connected(host: Host): Promise<Awaited<ReturnType<Host["location"]>>["mcp"]> {
  const { mcp } = await host.location()
  await mcp.settled()
  return mcp
}

rule(63, "the editor and the domain have these members; set checks what it is given", async ({ host }) => {
  const errors: string[] = []
  const made = await host({
    plugins: [
      plugin("editing", async (ctx) => {
        assert.deepEqual(Object.keys(ctx.mcp).sort(), ["list", "reload", "transform"])
        await ctx.mcp.transform((editor) => {
          assert.deepEqual(
            ["list", "get", "set", "update", "remove"].filter((name) => !(name in editor)),
            [],
          )
          const wrong: any[] = [{ type: "local", command: "x" }, { type: "remote" }, { type: "other" }, undefined]
          for (const config of wrong) {
            try {
              editor.set("wrong", config)
            } catch (error) {
              errors.push((error as Error).message)
            }
          }
          editor.update("missing", () => assert.fail("called"))
          editor.set("right", { type: "local", command: ["true"], disabled: true })
          editor.set("gone", { type: "local", command: ["true"], disabled: true })
          editor.remove("gone")
        })
      }),
    ],
  })
  const mcp = await connected(made)
  assert.ok(errors.length >= 4 && errors.every((error) => /^invalid configuration of MCP server wrong: /.test(error)))
  assert.deepEqual(Object.keys(await mcp.configs()), ["right"])
  assert.deepEqual(mcp.servers(), [{ name: "right", status: "disabled" }])
})

rule(
  64,
  "only a changed server connects anew; a batch connects its end; dispose restores",
  async ({ host, directory }) => {
    const registrations: Registration[] = []
    const made = await host({
      config: { mcp: { servers: { kept: double(directory, "kept"), changed: double(directory, "changed") } } },
      plugins: [
        plugin("changing", async (ctx) => {
          const set = (mark: string) =>
            ctx.mcp.transform((editor) => {
              editor.update("changed", (config) => {
                ;(config as McpLocalConfig).environment = { ...(config as McpLocalConfig).environment, MARK: mark }
              })
              editor.set("added", double(directory, "added"))
            })
          const first = await set("first")
          await first.dispose()
          registrations.push(await set("second"))
        }),
      ],
    })
    const mcp = await connected(made)
    assert.deepEqual(
      ["kept", "changed", "added"].map((name) => mcp.connects(name)),
      [1, 1, 1],
    )
    const session = await made.session.create()
    const mark = async () => (await made.execute(session, "return (await tools.changed.where({})).mark")).value
    assert.equal(await mark(), "second")
    await registrations[0]?.dispose()
    await mcp.settled()
    assert.deepEqual(
      mcp
        .servers()
        .map((server) => server.name)
        .sort(),
      ["changed", "kept"],
    )
    assert.deepEqual(
      ["kept", "changed"].map((name) => mcp.connects(name)),
      [1, 2],
    )
    assert.equal(await mark(), null)
  },
)

rule(
  65,
  "Code Mode is the default; a higher document replaces a whole entry; plugins see what is merged",
  async (given) => {
    const { host, directory } = given
    const seen: unknown[] = []
    const made = await host({
      config: {
        mcp: [
          { servers: { a: { ...double(directory, "low"), codemode: false }, b: double(directory, "b") } },
          { servers: { a: double(directory, "high") } },
        ],
      },
      plugins: [
        plugin("flattening", async (ctx) => {
          await ctx.mcp.transform((editor) => {
            seen.push(editor.get("a"))
            // What is handed out is a copy.
            Object.assign(editor.get("b") as object, { codemode: true, disabled: true })
            editor.update("b", (config) => void (config.codemode = false))
          })
        }),
      ],
    })
    await connected(made)
    assert.deepEqual(seen[0], double(directory, "high"))
    const request = await made.modelRequest(await made.session.create())
    const names = request.tools.map((tool) => tool.name)
    assert.ok(names.includes("b_echo") && !names.some((name) => name.startsWith("a_")))
    assert.match(request.catalogue, /tools\.a\.echo\(/)
  },
)

rule(67, "each call asserts the tool's own permission; a blocked one has its text", async ({ host, directory }) => {
  const made = await host({
    config: {
      mcp: { servers: { "my srv": { ...double(directory, "srv"), codemode: false } } },
      permissions: [{ action: "my_srv_*", resource: "*", effect: "ask" }],
    },
    plugins: [
      plugin("blocking", async (ctx) => {
        await ctx.permission.hook("evaluate", (event) => {
          if (event.action === "my_srv_json") Object.assign(event, { effect: "deny", message: "not shown" })
        })
      }),
    ],
  })
  await connected(made)
  const session = await made.session.create()
  const running = made.step(session, [{ tool: "my_srv_echo", input: { a: 1 }, id: "call_x" }])
  const { id, message: _, ...request } = await made.user.asked()
  assert.deepEqual(request, {
    sessionID: session.id,
    action: "my_srv_echo",
    resources: ["*"],
    save: ["*"],
    metadata: {},
    source: { type: "tool", messageID: request.source?.messageID, id: "call_x" },
  })
  await made.user.reply(id, "always")
  assert.equal((await running).results[0]?.text, 'echo {"a":1}')
  assert.deepEqual(made.saved(session.projectID), [{ action: "my_srv_echo", resource: "*", effect: "allow" }])
  assert.equal((await made.call(session, "my_srv_json")).text, "Unable to execute my_srv_json")
})

rule(67, "a captured executor of a server asks too, and carries the session", async ({ host, directory }) => {
  const made = await host({
    config: {
      mcp: { servers: { srv: double(directory, "srv") } },
      permissions: [{ action: "srv_echo", resource: "*", effect: "ask" }],
    },
    plugins: [
      plugin("capturing", async (ctx: Context) => {
        await ctx.tool.transform((editor) => {
          const echo = editor.get("srv_echo")
          if (!echo) return
          const execute = async (_: unknown, context: any) => ({
            content: (await echo.execute({ b: 2 }, context)).content,
          })
          editor.add({ name: "via", description: "", input: { type: "object" }, options: { codemode: false }, execute })
        })
      }),
    ],
  })
  await connected(made)
  const session = await made.session.create()
  made.user.answers(() => "once")
  assert.equal((await made.call(session, "via")).text, 'echo {"b":2}')
  assert.equal(made.events.of(`${made.switches.permissionEvents}.asked`)[0]?.data.sessionID, session.id)
  const [call] = heard(directory, "srv").filter((message) => message.method === "tools/call")
  assert.equal(call?.params._meta["ai.opencode/sessionID"], session.id)
})

rule(68, "results are mapped part by part, text that looks like JSON is read", async ({ host, directory }) => {
  const png = "data:image/png;base64,iVBORw0KGgo="
  const made = await host({ config: { mcp: { servers: { srv: double(directory, "srv") } } } })
  await connected(made)
  const session = await made.session.create()
  const value = async (name: string) =>
    (await made.execute(session, `return await tools.srv[${JSON.stringify(name)}]({})`)).value
  assert.deepEqual(await value("json"), { a: 1 })
  assert.equal(await value("words"), "[no json")
  assert.deepEqual(await value("structured"), { n: 1 })
  assert.equal(await value("empty"), null)
  const image = await made.execute(session, "return await tools.srv.image({})")
  assert.equal(image.value, null)
  assert.deepEqual(image.content.at(-1), { type: "file", uri: png, mime: "image/png" })
  const parts = await made.execute(session, "return await tools.srv.parts({})")
  assert.equal(parts.value, "file:///a\nembedded")
  assert.equal((await made.execute(session, "await tools.srv.fails({})")).text, "it went wrong")
  assert.equal(
    (await made.execute(session, 'await tools.srv["fails-silently"]({})')).text,
    "MCP tool returned an error",
  )
})

rule(68, "an id that is too long is skipped with a line in the log", async ({ host, directory, switches }) => {
  const made = await host({ config: { mcp: { servers: { srv: { ...double(directory, "srv"), codemode: false } } } } })
  await connected(made)
  const names = (await made.modelRequest(await made.session.create())).tools.map((tool) => tool.name)
  const [long, longer] = [`srv_${"l".repeat(80)}`, `srv_${"x".repeat(126)}`]
  assert.equal(names.includes(long), switches.toolNameLimit >= long.length)
  assert.ok(!names.includes(longer) && names.includes("srv_echo"))
  assert.ok(made.log.some((entry) => entry.detail === `Invalid tool name: ${longer}`))
})

rule(69, "sessions of a location share one process; another location has its own", async ({ host, directory }) => {
  const made = await host({ config: { mcp: { servers: { srv: double(directory, "srv", { MARK: "yes" }) } } } })
  await connected(made)
  const below = join(directory, "below")
  mkdirSync(below)
  const where = async (place: string) => {
    const session = await made.session.create({ directory: place })
    await (await made.location(place)).mcp.settled()
    return (await made.execute(session, "return await tools.srv.where({})")).value as {
      cwd: string
      pid: number
      mark: string
    }
  }
  const [first, second, other] = [await where(directory), await where(directory), await where(below)]
  assert.equal(first.pid, second.pid)
  assert.notEqual(first.pid, other.pid)
  assert.deepEqual([first.cwd, other.cwd, first.mark], [directory, below, "yes"])
})

rule(
  70,
  "a question shows a form; dismissed is cancel, an empty one is accepted unseen",
  async ({ host, directory }) => {
    const made = await host({ config: { mcp: { servers: { srv: double(directory, "srv") } } } })
    await connected(made)
    const session = await made.session.create()
    const answer = (name: string) => made.execute(session, `return await tools.srv[${JSON.stringify(name)}]({})`)
    const asking = answer("asks")
    const form = await made.user.shown()
    assert.deepEqual(
      [form.sessionID, form.title, form.message, form.mode],
      ["global", "srv is requesting input", "Your name?", "form"],
    )
    made.user.fill(form, { accept: { name: "Ada" } })
    assert.deepEqual((await asking).value, { action: "accept", content: { name: "Ada" } })
    const dismissed = answer("asks")
    made.user.fill(await made.user.shown(), "dismiss")
    assert.deepEqual((await dismissed).value, { action: "cancel" })
    assert.deepEqual((await answer("asks-nothing")).value, { action: "accept", content: {} })
    made.user.fills((shown) => (shown.mode === "url" ? { accept: {} } : undefined))
    assert.deepEqual((await answer("asks-url")).value, { action: "accept" })
    assert.deepEqual(made.user.forms(), [])
  },
)
