/** MCP clients that others wrote, against tenon as an MCP server: over stdio and over HTTP. */

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { after, before, test } from "node:test"
import { hostEnvironment } from "./lib/host.ts"
import { freePort, makePlace, root, tenonBin } from "./lib/program.ts"
import { leave, runTenon } from "./lib/scene.ts"

// Both want a newer Node than the plugins do.
const node = join(root, "test/runtimes/node_modules/.bin/node")
const clients = join(root, "test/clients/node_modules/.bin")
const token = "clients-0123456789abcdef"
const place = makePlace()
let address = ""

before(async () => {
  const port = await freePort()
  address = `http://127.0.0.1:${port}/mcp`
  const config = {
    servers: { fake: { command: [tenonBin, "fake-server"], scope: "session" } },
    listen: { address: `127.0.0.1:${port}`, token },
    permissions: { rules: { "fake_*": "allow" } }, // over the network nothing is allowed by itself
  }
  const file = join(place.home, ".config/tenon/config.json")
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(config))
  const started = await runTenon(place, ["daemon", "start"])
  assert.equal(started.code, 0, started.stderr)
})

after(() => leave(place))

/** Runs a client to its end and gives its standard output. */
function run(client: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: place.project, env: hostEnvironment(place), timeout: 120_000, maxBuffer: 16 << 20 }
    execFile(node, [join(clients, client), ...args], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${client} ${args.join(" ")}: ${error.message}\n${stdout}\n${stderr}`))
      else resolve(stdout)
    })
  })
}

/** The two ways to tenon, as the Inspector's command line names them; `server` is passed through. */
const inspected: Record<string, (server?: string) => string[]> = {
  stdio: (server = "") => ["--cli", "--config", inspectorConfig(server), "--server", "tenon"],
  http: (server = "") => [
    ...["--cli", server ? `${address}/${server}` : address, "--transport", "http"],
    ...["--header", `Authorization: Bearer ${token}`],
  ],
}

/** A config file: the Inspector would take tenon's own `--server` for its, and passes on no variables by itself. */
function inspectorConfig(server: string): string {
  const file = join(place.project, `inspector-${server}.json`)
  const entry = { command: tenonBin, args: server ? ["mcp", "--server", server] : ["mcp"] }
  const env = { TENON_RUNTIME_DIR: place.runtime, TENON_STATE_DIR: place.state }
  writeFileSync(file, JSON.stringify({ mcpServers: { tenon: { type: "stdio", ...entry, env } } }))
  return file
}

for (const [way, target] of Object.entries(inspected)) {
  test(`the Inspector lists, runs and reads over ${way}`, async () => {
    const list = JSON.parse(await run("mcp-inspector", ...target(), "--method", "tools/list"))
    assert.deepEqual(
      list.tools.map((tool: { name: string }) => tool.name),
      ["exec", "call", "search", "types", "catalog", "status"],
    )
    const code = 'const all = await Promise.all([1, 2].map((n) => fake.echo({ text: "n" + n }))); all.join("-")'
    const done = JSON.parse(
      await run(
        "mcp-inspector",
        ...target(),
        "--method",
        "tools/call",
        "--tool-name",
        "exec",
        "--tool-arg",
        `code=${code}`,
      ),
    )
    assert.equal(done.content[0].text, "n1-n2")
    const resources = JSON.parse(await run("mcp-inspector", ...target(), "--method", "resources/list"))
    assert.equal(resources.resources[0].uri, "tenon://catalog")
  })

  test(`the Inspector uses one server, passed through over ${way}`, async () => {
    const list = JSON.parse(await run("mcp-inspector", ...target("fake"), "--method", "tools/list"))
    assert.ok(list.tools.some((tool: { name: string }) => tool.name === "echo"))
    const args = ["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=through"]
    const done = JSON.parse(await run("mcp-inspector", ...target("fake"), ...args))
    assert.equal(done.content[0].text, "through")
  })
}

/** The two ways as mcporter names them; it calls what it is given by no name "server". */
const ported: Record<string, () => string[]> = {
  stdio: () => ["--stdio", `${tenonBin} mcp`, "--name", "tenon"],
  http: () => ["--http-url", address, "--allow-http", "--header", `Authorization=Bearer ${token}`, "--name", "tenon"],
}

for (const [way, target] of Object.entries(ported)) {
  test(`mcporter calls over ${way}`, async () => {
    const tool = way === "stdio" ? "call" : "tenon.call"
    const called = { server: "fake", tool: "echo", arguments: { text: "ported" } }
    const text = await run(
      "mcporter",
      "call",
      ...target(),
      way === "stdio" ? "call" : "tenon.call",
      "--args",
      JSON.stringify(called),
    )
    assert.match(text, /^ported$/m)
    const failed = await run("mcporter", "call", ...target(), tool, "--args", '{"server":"fak","tool":"echo"}').catch(
      (error: Error) => error.message,
    )
    assert.match(failed, /UnknownTool: no server is named "fak" here/)
  })
}
