/** What the host says to MCP servers. */

import assert from "node:assert/strict"
import { pathToFileURL } from "node:url"
import { plugin, rule, until } from "./lib.ts"
import { double, heard } from "./mcplib.ts"
import { httpDouble, type HttpDouble } from "./server/http.ts"
import type { Host } from "../host/index.ts"

async function settled(host: Host) {
  const { mcp } = await host.location()
  await mcp.settled()
  return mcp
}

/** With an HTTP server that is closed in any case. */
async function overHttp(body: (server: HttpDouble) => Promise<void>): Promise<void> {
  const server = await httpDouble()
  try {
    await body(server)
  } finally {
    await server.close()
  }
}

rule(66, "the host says who it is, what it can, and where it works", async ({ host, directory, release }) => {
  const made = await host({ config: { mcp: { servers: { srv: double(directory, "srv") } } } })
  await settled(made)
  const [initialize] = heard(directory, "srv")
  assert.equal(initialize?.method, "initialize")
  assert.deepEqual(initialize?.params.clientInfo, { name: "opencode", version: release })
  assert.deepEqual(initialize?.params.capabilities, {
    roots: {},
    elicitation: { form: { applyDefaults: true }, url: {} },
  })
  const session = await made.session.create()
  const roots = await made.execute(session, "return await tools.srv.roots({})")
  assert.deepEqual(roots.value, { roots: [{ uri: pathToFileURL(directory).href }] })
})

rule(
  66,
  "a call carries the true session, a number of its own for progress, and arguments",
  async ({ host, directory, switches }) => {
    const made = await host({
      config: { mcp: { servers: { srv: { ...double(directory, "srv"), codemode: false } } } },
      plugins: [
        plugin("forging", async (ctx) => {
          await ctx.tool.hook("execute.before", (event) => {
            if (event.tool === "srv_echo")
              event.input = { _meta: { "ai.opencode/sessionID": "ses_forged" }, rewritten: 1 }
            // Where input is checked, nothing is no object.
            if (event.tool === "srv_json" && !switches.validateJsonInput) event.input = undefined
          })
        }),
      ],
    })
    await settled(made)
    const parent = await made.session.create()
    const child = await made.session.create({ parentID: parent.id })
    await made.step(parent, [{ tool: "srv_echo" }, { tool: "srv_json" }])
    await made.call(child, "srv_echo")
    const calls = heard(directory, "srv").filter((message) => message.method === "tools/call")
    assert.deepEqual(
      calls.map((call) => call.params._meta["ai.opencode/sessionID"]),
      [parent.id, parent.id, child.id],
    )
    const tokens = calls.map((call) => call.params._meta.progressToken)
    assert.ok(tokens.every((token) => typeof token === "number"))
    assert.equal(new Set(tokens).size, 3)
    const byName = (name: string) => calls.find((call) => call.params.name === name)?.params
    assert.deepEqual(byName("echo").arguments, { _meta: { "ai.opencode/sessionID": "ses_forged" }, rewritten: 1 })
    assert.deepEqual(byName("json").arguments, {})
    assert.deepEqual(Object.keys(byName("echo")).sort(), ["_meta", "arguments", "name"])
    assert.deepEqual(Object.keys(byName("echo")._meta).sort(), ["ai.opencode/sessionID", "progressToken"])
    assert.ok(
      heard(directory, "srv").every(
        (message) => message.method === "tools/call" || !message.params?._meta?.["ai.opencode/sessionID"],
      ),
    )
  },
)

rule(46, "the original name of a tool goes to its server", async ({ host, directory }) => {
  const made = await host({ config: { mcp: { servers: { srv: double(directory, "srv") } } } })
  await settled(made)
  const session = await made.session.create()
  assert.match((await made.modelRequest(session)).catalogue, /tools\.srv\["my-tool_v2"\]\(/)
  const result = await made.execute(session, 'return await tools.srv["my-tool_v2"]({})')
  assert.equal(result.value, "odd name")
  const [call] = heard(directory, "srv").filter((message) => message.method === "tools/call")
  assert.equal(call?.params.name, "my-tool.v2")
})

rule(66, "progress does not extend the limit of a call", async ({ host, directory }) => {
  const slow = { ...double(directory, "srv"), codemode: false, timeout: { execution: 300 } }
  const made = await host({ config: { mcp: { servers: { srv: slow } } } })
  await settled(made)
  const result = await made.call(await made.session.create(), "srv_slow")
  assert.deepEqual([result.status, result.text], ["error", "Request timed out"])
})

rule(66, "an interrupt sends notifications/cancelled with the id of the request", async ({ host, directory }) => {
  const made = await host({ config: { mcp: { servers: { srv: { ...double(directory, "srv"), codemode: false } } } } })
  await settled(made)
  const session = await made.session.create()
  const running = made.call(session, "srv_slow")
  const find = (method: string) => heard(directory, "srv").find((message) => message.method === method)
  await until("the call arrived", () => find("tools/call") !== undefined)
  await made.interrupt(session)
  assert.equal((await running).text, "Tool execution interrupted")
  await until("the server heard of it", () => find("notifications/cancelled") !== undefined)
  assert.equal(find("notifications/cancelled")?.params.requestId, find("tools/call")?.id)
})

rule(66, "a changed list of tools is read again", async ({ host, directory }) => {
  const made = await host({ config: { mcp: { servers: { srv: { ...double(directory, "srv"), codemode: false } } } } })
  const mcp = await settled(made)
  const session = await made.session.create()
  await made.call(session, "srv_grows")
  for (
    const deadline = Date.now() + 10_000;
    Date.now() < deadline;
    await new Promise((resolve) => setTimeout(resolve, 10))
  ) {
    await mcp.settled()
    if ((await made.modelRequest(session)).tools.some((tool) => tool.name === "srv_grown")) return
  }
  assert.fail("the tool that was added is not offered")
})

rule(66, "a remote server has codemode=false in its address unless its own tools are direct", async ({ host }) =>
  overHttp(async (server) => {
    const servers = {
      wrapped: { type: "remote" as const, url: server.url, headers: { "x-mine": "1" } },
      direct: { type: "remote" as const, url: `${server.url}?a=1`, codemode: false },
      said: { type: "remote" as const, url: `${server.url}?codemode=true` },
    }
    const made = await host({ config: { mcp: { servers } } })
    const mcp = await settled(made)
    assert.deepEqual(
      mcp.servers().map((one) => one.status),
      ["connected", "connected", "connected"],
    )
    const initialized = server.requests.filter((request) => request.message?.method === "initialize")
    assert.deepEqual(initialized.map((request) => request.url).sort(), [
      "/mcp?a=1",
      "/mcp?codemode=false",
      "/mcp?codemode=true",
    ])
    const own = initialized.find((request) => request.url === "/mcp?codemode=false")
    assert.equal(own?.headers["x-mine"], "1")
    assert.equal((await mcp.configs())["wrapped"]?.type === "remote" && servers.wrapped.url, server.url)
    const session = await made.session.create()
    assert.equal((await made.execute(session, "return await tools.wrapped.words({})")).value, "[no json")
    assert.ok(!JSON.stringify(server.requests.map((request) => request.headers)).includes(session.id))
    await made.close()
    assert.equal(server.requests.filter((request) => request.method === "DELETE").length, 3)
  }),
)

rule(
  66,
  "a server that refuses the parameter with 400 or 404 is asked once more without; with 501 it is not",
  async (given) =>
    overHttp(async (server) => {
      const servers = { srv: { type: "remote" as const, url: server.url } }
      for (const [status, outcome] of [
        [404, "connected"],
        [400, "connected"],
        [501, "failed"],
      ] as const) {
        server.requests.length = 0
        server.refuse.push(status)
        const made = await given.host({ config: { mcp: { servers } } })
        const mcp = await settled(made)
        assert.equal(mcp.servers()[0]?.status, outcome)
        const initialized = server.requests.filter((request) => request.message?.method === "initialize")
        const urls = initialized.map((request) => request.url)
        assert.deepEqual(urls, outcome === "failed" ? ["/mcp?codemode=false"] : ["/mcp?codemode=false", "/mcp"])
      }
    }),
)

rule(66, "connecting is tried again after 503; a call is not", async ({ host }) =>
  overHttp(async (server) => {
    server.refuse.push(503)
    const made = await host({
      config: { mcp: { servers: { srv: { type: "remote", url: server.url, codemode: false } } } },
    })
    const mcp = await settled(made)
    assert.equal(mcp.servers()[0]?.status, "connected")
    server.refuse.push(503)
    const result = await made.call(await made.session.create(), "srv_echo")
    assert.equal(result.status, "error")
    assert.equal(server.requests.filter((request) => request.message?.method === "tools/call").length, 1)
  }),
)

rule(66, "a lost session over HTTP is opened anew, and the call sent once more", async ({ host }) =>
  overHttp(async (server) => {
    const made = await host({
      config: { mcp: { servers: { srv: { type: "remote", url: server.url, codemode: false } } } },
    })
    await settled(made)
    server.refuse.push(404)
    const result = await made.call(await made.session.create(), "srv_echo")
    assert.equal(result.text, "echo {}")
    assert.equal(server.requests.filter((request) => request.message?.method === "initialize").length, 2)
  }),
)
