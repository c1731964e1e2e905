/** MCP clients, by the protocol's own SDK: one that starts `tenon mcp`, one that speaks HTTP to the daemon. */

import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { ElicitRequestSchema, ListRootsRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { hostEnvironment } from "../lib/host.ts"
import { tenonBin } from "../lib/program.ts"
import { fake, makeScenery, type Scenery } from "../lib/scene.ts"
import { unixFetch } from "../lib/unixfetch.ts"
import { until } from "../lib/until.ts"
import type { Agent, Program, Question, Rules, Running, Surface } from "./surface.ts"

const without: Surface["without"] = {
  "sub-agent": "an MCP client does not say who its parent is",
  shell: "an MCP client has no shell that tenon knows of",
}

export const mcpStdio: Surface = { name: "MCP over stdio", without, start: (rules) => start(rules, stdio) }
export const mcpHttp: Surface = { name: "MCP over HTTP", without, start: (rules) => start(rules, http) }

/** Over the socket, as the user: nothing on HTTP starts the daemon. */
const http = async ({ place, tenon }: Scenery): Promise<Transport> => {
  await tenon("daemon", "start")
  const options = { fetch: unixFetch(join(place.runtime, "daemon.sock")) }
  return new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), options) as Transport
}

const stdio = async (scenery: Scenery): Promise<Transport> =>
  new StdioClientTransport({
    command: tenonBin,
    args: ["mcp"],
    env: hostEnvironment(scenery.place),
    cwd: scenery.place.project,
  })

async function start(rules: Rules, transport: (scenery: Scenery) => Promise<Transport>): Promise<Running> {
  const scenery = makeScenery((place) => ({
    servers: { srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 } },
    permissions: { rules },
  }))
  const clients = new Set<Client>()

  /** A client with a person before it. */
  const connect = async (questions: Question[]) => {
    const client = new Client(
      { name: "test", version: "1" },
      { capabilities: { elicitation: { form: {} }, roots: { listChanged: true } } },
    )
    client.setRequestHandler(ListRootsRequestSchema, () => ({
      roots: [{ uri: pathToFileURL(scenery.place.project).href, name: "project" }],
    }))
    client.setRequestHandler(
      ElicitRequestSchema,
      (request) =>
        new Promise<ElicitResult>((resolve) => {
          const [, server, tool] = /^Allow (\S+)\/(\S+)\?/.exec(request.params.message) ?? []
          questions.push({
            key: `${server}_${tool}`,
            async answer(answer, feedback) {
              resolve({ action: "accept", content: { answer, ...(feedback ? { feedback } : {}) } })
            },
          })
        }),
    )
    clients.add(client)
    client.onclose = () => clients.delete(client)
    // Over HTTP the SDK waits for the answer of a broken stream until its limit; an application gives up then.
    client.onerror = () => void client.close()
    await client.connect(await transport(scenery))
    return client
  }

  return {
    place: scenery.place,
    async agent() {
      const questions: Question[] = []
      let client = await connect(questions)
      const call = async (code: string, signal: AbortSignal) => {
        if (!clients.has(client)) client = await connect(questions) // as clients do when their server is gone
        const options = { signal, timeout: 600_000 }
        const result = await client.callTool({ name: "exec", arguments: { code } }, undefined, options)
        return (result.content as { text?: string }[]).map((part) => part.text ?? "").join("")
      }
      const agent: Agent = {
        id: "",
        begin(code): Program {
          const control = new AbortController()
          const asked = questions.length
          return {
            text: call(code, control.signal),
            question: (n = 0) => until(`question ${n}`, () => questions[asked + n]),
            abort: async () => control.abort("user"),
          }
        },
        shell: () => Promise.reject(new Error("no shell")),
      }
      return agent
    },
    tenon: scenery.tenon,
    journal: () => scenery.journal("srv"),
    daemon: scenery.daemon,
    async stop() {
      for (const client of clients) await client.close()
      await scenery.stop()
    },
  }
}
