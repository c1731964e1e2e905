/**
 * The client that the conformance suite starts for each of its client scenarios:
 * tenon in a home of its own, with the suite's server as its only one. What a
 * scenario wants done is done as a user does it, by commands; a form is answered
 * over the daemon's socket, in place of the terminal.
 *
 *   client.mjs ADDRESS     the scenario's name is in MCP_CONFORMANCE_SCENARIO
 */

import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const address = process.argv.at(-1)
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ""
const tenon = process.env.TENON_BIN
const home = mkdtempSync(join(tmpdir(), "tcc-"))
const env = {
  PATH: process.env.PATH,
  HOME: home,
  XDG_CONFIG_HOME: join(home, "config"),
  TENON_RUNTIME_DIR: join(home, "run"),
  TENON_STATE_DIR: join(home, "state"),
}
mkdirSync(join(home, "config", "tenon"), { recursive: true })
writeFileSync(
  join(home, "config", "tenon", "config.json"),
  JSON.stringify({ servers: { suite: { type: "http", url: address, ...login() } } }),
)

/** What the server's entry says of its login: a client that is registered already, or a document. */
function login() {
  const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}")
  if (scenario === "auth/basic-cimd") {
    return { oauth: { clientMetadataUrl: "https://conformance-test.local/client-metadata.json" } }
  }
  return given.client_id ? { oauth: { clientId: given.client_id, clientSecret: given.client_secret } } : {}
}

/** Runs a command and gives what it printed. */
function run(...words) {
  const { status, stdout, stderr } = spawnSync(tenon, words, { env, cwd: home, encoding: "utf8" })
  console.log(`tenon ${words.join(" ")}: exit ${status}\n${stdout}${stderr}`)
  return { status, stdout, stderr }
}

/** Logs in as a user does, whose browser follows the page back to tenon. */
function logIn() {
  const child = spawn(tenon, ["auth", "suite", "--no-browser"], {
    env,
    cwd: home,
    stdio: ["ignore", "inherit", "pipe"],
  })
  createInterface({ input: child.stderr }).on("line", (line) => {
    console.log(line)
    const page = /^open (http\S+)$/.exec(line)?.[1]
    if (page) fetch(page).then(async (response) => console.log(`browser: ${response.status} ${await response.text()}`))
  })
  return new Promise((resolve) => child.on("close", resolve))
}

/** Calls, and logs in wherever that is what is missing; a user gives up in the end. */
async function callWithLogins() {
  for (let tries = 0; ; tries++) {
    const { status } = run("call", "suite", "test-tool")
    if (status !== 4 || tries === 3) return status
    if ((await logIn()) !== 0) return 1
  }
}

/** One request on the daemon's socket. */
function send(path, body, onLine) {
  const { socket } = JSON.parse(run("daemon", "start", "--json").stdout)
  return new Promise((resolve, reject) => {
    const out = request(
      {
        socketPath: socket,
        method: "POST",
        path,
        headers: {
          "Content-Type": "application/json",
          Accept: "application/x-ndjson",
          "Tenon-Protocol": "1",
          "Tenon-Interactive": "1",
          "Tenon-Dir": home,
        },
      },
      (response) => {
        console.log(`POST ${path}: ${response.statusCode}`)
        const lines = createInterface({ input: response })
        lines.on("line", (line) => line && onLine?.(JSON.parse(line)))
        lines.on("close", resolve)
      },
    )
    out.on("error", reject)
    out.end(JSON.stringify(body))
  })
}

const scenarios = {
  // The server has no tools: to be told so is all that can come of it.
  initialize: () => (run("call", "suite", "any").stderr.includes("UnknownTool") ? 0 : 1),
  tools_call: () => run("call", "suite", "add_numbers", "a:=5", "b:=3").status,
  "sse-retry": () => run("call", "suite", "test_reconnection").status,
  // Accepts the form as it stands: the fields that are left out have defaults.
  async "elicitation-sep1034-client-defaults"() {
    let asked = false
    await send("/v1/call", { server: "suite", tool: "test_client_elicitation_defaults" }, (frame) => {
      console.log(JSON.stringify(frame))
      if (frame.type !== "question") return
      asked = true
      void send(`/v1/questions/${frame.data.id}`, { result: { action: "accept", content: {} } })
    })
    return asked ? 0 : 1
  },
}

let status = 1
try {
  // The rest are about OAuth: the server has to be reached, whatever that takes.
  status = (await (scenarios[scenario] ?? callWithLogins)()) ?? 1
} finally {
  run("daemon", "stop", "--force")
  rmSync(home, { recursive: true, force: true })
}
process.exit(status)
