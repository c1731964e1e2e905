/** The double of an MCP server, as tests of the host configure and read it. */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { McpLocalConfig } from "../host/index.ts"
import type { Message } from "./server/answers.mjs"

const script = fileURLToPath(new URL("./server/stdio.mjs", import.meta.url))

/** The double over stdio; what it hears is kept under its name. */
export function double(directory: string, name: string, environment: Record<string, string> = {}): McpLocalConfig {
  const log = join(directory, `${name}.mcp.log`)
  return { type: "local", command: [process.execPath, script], environment: { MCP_LOG: log, ...environment } }
}

/** What the double of this name has heard, in order. */
export function heard(directory: string, name: string): Message[] {
  const log = join(directory, `${name}.mcp.log`)
  if (!existsSync(log)) return []
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}
