/** The MCP servers of a location: configuration, transforms, and one connection for each server. */

import { isDeepStrictEqual } from "node:util"
import { State, type Batch } from "./transforms.ts"
import { McpConnection } from "./mcpconnection.ts"
import { mcpEditor, merged } from "./mcpconfig.ts"
import { mcpTools } from "./mcptools.ts"
import { patience } from "./events.ts"
import type { Core } from "./core.ts"
import type { HostTool } from "./tool.ts"
import type { LocationInfo, McpEditor, McpServerConfig, McpServerInfo } from "./contract.ts"

type Configs = Map<string, McpServerConfig>

export class McpServers {
  readonly state: State<Configs, McpEditor>
  #connections = new Map<string, McpConnection>()
  #connects = new Map<string, number>()
  #closing: Promise<void>[] = []

  /** @param changed the tools of some server are others now. */
  constructor(
    private readonly core: Core,
    private readonly location: LocationInfo,
    batch: Batch,
    private readonly changed: () => void,
  ) {
    this.state = new State<Configs, McpEditor>(
      {
        initial: () => merged(core.config.mcp),
        editor: mcpEditor,
        changed: (configs) => this.#apply(structuredClone(configs)),
        twice: core.switches.replayTwice,
      },
      batch,
    )
  }

  servers(): McpServerInfo[] {
    return [...this.#connections.values()].map((connection) => ({ name: connection.name, ...connection.status }))
  }

  connects(name: string): number {
    return this.#connects.get(name) ?? 0
  }

  /** The tools of the servers that are connected. */
  tools(): HostTool[] {
    return [...this.#connections.values()].flatMap((connection) => mcpTools(this.core, connection))
  }

  /** Every connection is up or failed, and its tools are registered. @throws after 20 s. */
  async settled(): Promise<void> {
    this.state.read()
    for (const deadline = Date.now() + 2 * patience; ;) {
      const waiting = [...this.#connections.values()].filter((connection) => !connection.settled)
      if (waiting.length === 0) return
      if (Date.now() > deadline) throw new Error(`not settled: ${waiting.map((one) => one.name).join(", ")}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  async close(): Promise<void> {
    for (const connection of this.#connections.values()) this.#closing.push(connection.close())
    this.#connections.clear()
    await Promise.all(this.#closing)
  }

  open(): string[] {
    return [...this.#connections.keys()].map((name) => `mcp server ${name}`)
  }

  /** Only servers whose configuration is another one connect anew. */
  #apply(configs: Configs): void {
    let removed = false
    for (const [name, connection] of this.#connections) {
      if (isDeepStrictEqual(configs.get(name), connection.config)) continue
      this.#connections.delete(name)
      this.#closing.push(connection.close())
      removed = true
    }
    for (const [name, config] of configs) {
      if (this.#connections.has(name)) continue
      if (!config.disabled) this.#connects.set(name, this.connects(name) + 1)
      this.#connections.set(name, new McpConnection(this.core, this.location, name, config, this.changed))
    }
    if (removed) this.changed()
  }
}
