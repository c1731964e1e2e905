/** One connection to an MCP server, as the host makes it: identity, capabilities, retries, time limits. */

import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Client, SdkHttpError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { elicited } from "./mcpquestion.ts"
import { messageOf, type Core } from "./core.ts"
import { timeoutsOf } from "./mcpconfig.ts"
import type { CallToolResult, Tool } from "@modelcontextprotocol/client"
import type { LocationInfo, McpRemoteConfig, McpServerConfig, McpStatus } from "./contract.ts"

/** Milliseconds: waits before connecting again, before a changed list is read, for the end of a session over HTTP. */
const retryDelays = [250, 1_000]
const listDelay = 100
const goodbye = 1_000

interface Connected {
  client: Client
  transport: StdioClientTransport | StreamableHTTPClientTransport
}

export class McpConnection {
  status: McpStatus = { status: "pending" }
  tools: Tool[] = []
  #connected: Connected | undefined
  #closed = new AbortController()
  #listTimer: NodeJS.Timeout | undefined
  #work: Promise<void>

  /** @param changed the list of tools is another one. */
  constructor(
    private readonly core: Core,
    private readonly location: LocationInfo,
    readonly name: string,
    readonly config: McpServerConfig,
    private readonly changed: () => void,
  ) {
    if (config.disabled) this.status = { status: "disabled" }
    this.#work = config.disabled ? Promise.resolve() : this.#start()
  }

  /** Up with its tools, failed or disabled. */
  get settled(): boolean {
    return this.status.status !== "pending" && this.#listTimer === undefined
  }

  /** @throws what the server or the connection says. */
  async call(tool: string, args: unknown, sessionID: string, signal: AbortSignal): Promise<CallToolResult> {
    const send = async () => {
      if (!this.#connected) throw new Error("MCP server is not connected")
      const params = {
        name: tool,
        arguments: (args ?? {}) as Record<string, unknown>,
        _meta: { "ai.opencode/sessionID": sessionID },
      }
      const { execution } = timeoutsOf(this.core.config.mcp, this.config)
      // The callback makes the SDK send a token of progress; progress does not extend the limit.
      const options = { signal, timeout: execution, onprogress: () => {}, resetTimeoutOnProgress: false }
      return this.#connected.client.callTool(params, options)
    }
    try {
      return await send()
    } catch (error) {
      if (!lostSession(error) || this.#closed.signal.aborted) throw error
      await this.#disconnect()
      await this.#connect()
      return send()
    }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    clearTimeout(this.#listTimer)
    await this.#work
    await this.#disconnect()
  }

  async #start(): Promise<void> {
    try {
      await this.#retried(() => this.#connect())
      await this.#retried(() => this.#list())
      this.#become({ status: "connected" })
    } catch (error) {
      await this.#disconnect()
      this.#become({ status: "failed", error: messageOf(error) })
    }
  }

  #become(status: McpStatus): void {
    if (this.#closed.signal.aborted) return
    this.status = status
    this.core.events.publish("mcp.status.changed", { server: this.name, ...status }, this.location)
    this.changed()
  }

  async #list(): Promise<void> {
    const { catalog } = timeoutsOf(this.core.config.mcp, this.config)
    const client = this.#connected?.client
    // A server without the capability has no tools.
    if (!client?.getServerCapabilities()?.tools) return
    const { tools } = await client.listTools(undefined, { timeout: catalog, signal: this.#closed.signal })
    this.tools = tools
  }

  /** Several notices in a row are one change. */
  #listSoon(): void {
    clearTimeout(this.#listTimer)
    this.#listTimer = setTimeout(() => {
      const listed = this.#list()
        .then(() => this.changed())
        .catch((error) => this.core.log.warn("failed to list the tools of an MCP server", error))
      void listed.finally(() => (this.#listTimer = undefined))
    }, listDelay)
  }

  async #connect(): Promise<void> {
    const { config } = this
    if (config.type === "local") return this.#open(() => this.#local())
    const url = new URL(config.url)
    const flat = config.codemode !== false && !url.searchParams.has("codemode")
    if (flat) url.searchParams.set("codemode", "false")
    try {
      await this.#open(() => remoteTransport(config, url))
    } catch (error) {
      // A server that cannot bear the parameter is asked once more without it.
      if (!flat || !(error instanceof SdkHttpError) || ![400, 404].includes(error.status)) throw error
      await this.#open(() => remoteTransport(config, new URL(config.url)))
    }
  }

  async #open(transportOf: () => Connected["transport"]): Promise<void> {
    const { startup } = timeoutsOf(this.core.config.mcp, this.config)
    const { protocol = "legacy" } = this.config
    const client = new Client(
      { name: "opencode", version: this.core.release },
      {
        capabilities: { roots: {}, elicitation: { form: { applyDefaults: true }, url: {} } },
        versionNegotiation: { mode: protocol === "2026-07-28" ? { pin: protocol } : protocol },
      },
    )
    client.setRequestHandler("roots/list", () => ({ roots: [{ uri: pathToFileURL(this.location.directory).href }] }))
    client.setRequestHandler("elicitation/create", (request, context) =>
      elicited(this.core, this.name, request.params, context.mcpReq.signal),
    )
    client.setNotificationHandler("notifications/tools/list_changed", () => this.#listSoon())
    const transport = transportOf()
    this.#connected = { client, transport }
    try {
      await client.connect(transport, { timeout: startup, signal: this.#closed.signal })
    } catch (error) {
      await this.#disconnect()
      throw error
    }
  }

  #local(): StdioClientTransport {
    const { command, cwd, environment } = this.config as { command: string[]; cwd?: string; environment?: object }
    const env: Record<string, string | undefined> = { ...this.core.env, ...environment }
    if (command[0] === "opencode") env["BUN_BE_BUN"] = "1"
    return new StdioClientTransport({
      command: command[0] as string,
      args: command.slice(1),
      cwd: resolve(this.location.directory, cwd ?? "."),
      env: Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)),
      stderr: "ignore",
    })
  }

  /** Connecting and listing are tried again after what may pass; calls never are. */
  async #retried(work: () => Promise<void>): Promise<void> {
    for (const delay of [...retryDelays, undefined]) {
      try {
        return await work()
      } catch (error) {
        if (delay === undefined || this.#closed.signal.aborted || !mayPass(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, delay))
      }
    }
  }

  async #disconnect(): Promise<void> {
    const connected = this.#connected
    this.#connected = undefined
    if (!connected) return
    const { client, transport } = connected
    if (transport instanceof StreamableHTTPClientTransport) await atMost(goodbye, transport.terminateSession())
    await client.close().catch(() => {})
  }
}

function remoteTransport(config: McpRemoteConfig, url: URL): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(url, { requestInit: { headers: config.headers } })
}

function mayPass(error: unknown): boolean {
  if (error instanceof SdkHttpError) {
    return [408, 429].includes(error.status) || (error.status >= 500 && error.status !== 501)
  }
  return error instanceof TypeError
}

function lostSession(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false
  return error.status === 404 || (error.status === 400 && messageOf(error).includes("Server not initialized"))
}

/** Waits for a parting word, but not for long, and not for its success. */
async function atMost(limit: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => (timer = setTimeout(resolve, limit)))
  await Promise.race([work.catch(() => {}), late])
  clearTimeout(timer)
}
