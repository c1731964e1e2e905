/**
 * What tools cost a model's context, counted by a real tokenizer (o200k_base):
 * the tools of four real servers as a host sends them directly, against tenon's
 * own tools, its part of the system prompt at several budgets, and what a
 * typical task reads besides. Prints Markdown for docs/performance.md.
 * Usage: make context-cost
 */

import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { encode } from "gpt-tokenizer/encoding/o200k_base"
import { join } from "node:path"
import { about, schemaOf, tools } from "../plugins/bridge/src/index.ts"
import { hostEnvironment } from "./e2e/lib/host.ts"
import { npmServer, root, tenonBin } from "./e2e/lib/program.ts"
import { makeScenery } from "./e2e/lib/scene.ts"

/** A tool as a host hands it to the model's interface. */
interface Offered {
  name: string
  description: string
  parameters: unknown
}

const packages = join(root, "test/node_modules")
const servers: Record<string, { package: string; command(project: string): string[] }> = {
  everything: { package: "@modelcontextprotocol/server-everything", command: () => npmServer("everything") },
  filesystem: {
    package: "@modelcontextprotocol/server-filesystem",
    command: (project) => npmServer("filesystem", project),
  },
  playwright: {
    package: "@playwright/mcp",
    command: () => [process.execPath, join(packages, "@playwright/mcp/cli.js"), "--headless"],
  },
  devtools: {
    package: "chrome-devtools-mcp",
    command: () => [process.execPath, join(packages, "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js")],
  },
}

/** The task: what is looked for, and the tools that the program then uses. */
const task = {
  words: "take a screenshot of a page",
  tools: ["playwright.browser_navigate", "playwright.browser_take_screenshot", "filesystem.write_file"],
}

const budgets = [500, 1_000, 2_000, 4_000]

const tokens = (text: string) => encode(text).length
const costOf = (list: Offered[]) => tokens(JSON.stringify(list))
const share = (n: number, whole: number) => `${Math.round((100 * n) / whole)} %`
const number = (n: number) => n.toLocaleString("en-US")

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")
}

/** A client of a server on standard input and output. */
async function connected(command: string[], env: NodeJS.ProcessEnv, cwd: string): Promise<Client> {
  const client = new Client({ name: "context-cost", version: "1" })
  const [program = "", ...args] = command
  const plain = Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]))
  await client.connect(new StdioClientTransport({ command: program, args, env: plain, cwd, stderr: "ignore" }))
  return client
}

const scenery = makeScenery(({ project }) => ({
  servers: Object.fromEntries(
    Object.entries(servers).map(([name, { command }]) => [name, { command: command(project) }]),
  ),
}))
const { project } = scenery.place
const env = hostEnvironment(scenery.place)

try {
  const direct: [string, Offered[]][] = []
  for (const [name, { package: of, command }] of Object.entries(servers)) {
    const client = await connected(command(project), env, project)
    const list = (await client.listTools()).tools
    await client.close()
    direct.push([
      of,
      list.map((tool) => ({
        name: `${name}_${tool.name}`,
        description: tool.description ?? "",
        parameters: tool.inputSchema,
      })),
    ])
  }
  const everything = direct.flatMap(([, list]) => list)
  const whole = costOf(everything)

  const ours: Offered[] = Object.entries(tools).map(([name, { description, args }]) => ({
    name,
    description,
    parameters: schemaOf(args),
  }))
  const tenon = await connected([tenonBin, "mcp"], env, project)
  const ask = async (tool: string, args: object) => {
    const { content, _meta = {} } = await tenon.callTool({ name: tool, arguments: { ...args } })
    const [first] = content as { text?: string }[]
    return { text: first?.text ?? "", shown: Number(_meta["tenon/shown"]), total: Number(_meta["tenon/total"]) }
  }
  const search = tokens((await ask("search", { query: task.words })).text)
  const types = tokens((await ask("types", { paths: task.tools })).text)
  const catalogues: [number, string, number][] = []
  for (const budget of budgets) {
    const { text, shown, total } = await ask("catalog", { budget })
    const cost = tokens(`${about}\n\n${text.replace(/\nfingerprint: .*\n?$/, "")}`)
    catalogues.push([budget, `${shown} of ${total}`, cost])
  }
  await tenon.close()

  process.stdout.write(
    `${table(
      ["tools given directly", "tools", "tokens"],
      [
        ...direct.map(([of, list]) => [`\`${of}\``, String(list.length), number(costOf(list))]),
        ["**together**", String(everything.length), `**${number(whole)}**`],
      ],
    )}\n\n${table(
      ["through tenon", "signatures shown", "in every request", "with the task", "of direct"],
      catalogues.map(([budget, shown, catalogue]) => {
        const fixed = costOf(ours) + catalogue
        const all = fixed + search + types
        return [`budget ${number(budget)}`, shown, number(fixed), number(all), share(all, whole)]
      }),
    )}\n\n` +
      `"In every request" is tenon's ${ours.length} tools (${number(costOf(ours))}) and its part of the system prompt. ` +
      `The task reads one search (${number(search)}) and the types of ${task.tools.length} tools (${number(types)}) once.\n`,
  )
} finally {
  await scenery.stop()
}
