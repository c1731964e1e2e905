/** The configuration of MCP servers, and the editor that plugins change it with. */

import { checkValue } from "./schema.ts"
import { messageOf } from "./core.ts"
import type { McpConfig } from "./types.ts"
import type { McpEditor, McpServerConfig, McpTimeout } from "./contract.ts"

/** Milliseconds. */
const defaults: Required<McpTimeout> = { startup: 30_000, catalog: 30_000, execution: 12 * 60 * 60 * 1000 }

const texts = { type: "object", additionalProperties: { type: "string" } }
const number = { type: "number" }
const common = {
  disabled: { type: "boolean" },
  codemode: { type: "boolean" },
  timeout: { type: "object", properties: { startup: number, catalog: number, execution: number } },
  protocol: { enum: ["legacy", "auto", "2026-07-28"] },
}
const local = {
  type: "object",
  required: ["type", "command"],
  properties: {
    ...common,
    type: { const: "local" },
    command: { type: "array", items: { type: "string" }, minItems: 1 },
    cwd: { type: "string" },
    environment: texts,
  },
}
const remote = {
  type: "object",
  required: ["type", "url"],
  properties: {
    ...common,
    type: { const: "remote" },
    url: { type: "string" },
    headers: texts,
    oauth: { anyOf: [{ const: false }, { type: "object" }] },
  },
}

/** The servers of all documents; a later document replaces a server's whole entry. */
export function merged(config: McpConfig | McpConfig[] | undefined): Map<string, McpServerConfig> {
  const servers = new Map<string, McpServerConfig>()
  for (const document of [config ?? []].flat()) {
    for (const [name, server] of Object.entries(document.servers ?? {})) servers.set(name, structuredClone(server))
  }
  return servers
}

/** A server's own time limits over the common ones over the defaults. */
export function timeoutsOf(config: McpConfig | McpConfig[] | undefined, server: McpServerConfig): Required<McpTimeout> {
  return Object.assign({ ...defaults }, ...[config ?? []].flat().map((document) => document.timeout), server.timeout)
}

/** Configurations go in and out as copies. */
export function mcpEditor(servers: Map<string, McpServerConfig>): McpEditor {
  const set = (name: string, config: McpServerConfig) => {
    const given = JSON.parse(JSON.stringify(config) ?? "null")
    try {
      checkValue(given?.type === "remote" ? remote : local, given)
    } catch (error) {
      throw new Error(`invalid configuration of MCP server ${name}: ${messageOf(error)}`)
    }
    const fields = Object.keys(given.type === "remote" ? remote.properties : local.properties)
    servers.set(name, Object.fromEntries(Object.entries(given).filter(([key]) => fields.includes(key))) as never)
  }
  return {
    list: () => [...servers].map(([name, config]) => [name, structuredClone(config)]),
    get: (name) => structuredClone(servers.get(name)),
    set,
    update: (name, update) => {
      const draft = structuredClone(servers.get(name))
      if (!draft) return
      update(draft)
      set(name, draft)
    },
    remove: (name) => void servers.delete(name),
  }
}
