/** Tools of MCP servers as tools of the host. */

import { Blocked } from "./permission.ts"
import { effectiveID, hostTool, normalized } from "./toolset.ts"
import { messageOf } from "./core.ts"
import { Declined, Interrupted, ToolFailure, type Caller, type HostTool } from "./tool.ts"
import type { CallToolResult, Tool } from "@modelcontextprotocol/client"
import type { Content, JsonSchema, ToolResult } from "./contract.ts"
import type { Core } from "./core.ts"
import type { McpConnection } from "./mcpconnection.ts"

export function mcpTools(core: Core, connection: McpConnection): HostTool[] {
  return connection.tools.flatMap((tool) => {
    const namespace = normalized(connection.name)
    const name = normalized(tool.name)
    const id = effectiveID(name, namespace)
    const info = {
      name,
      description: tool.description ?? "",
      input: (tool.inputSchema as JsonSchema | undefined) ?? { type: "object", properties: {} },
      output: (tool.outputSchema as JsonSchema | undefined) ?? {},
      options: { namespace, codemode: connection.config.codemode !== false },
    }
    try {
      // Of a server's tools the whole id is held to the limit.
      if (id.length > core.switches.toolNameLimit) throw new Error(`Invalid tool name: ${id}`)
      return [hostTool(info, (input, caller) => run(core, connection, tool, id, input, caller), core.switches)]
    } catch (error) {
      core.log.warn("Skipping invalid tool registration", messageOf(error))
      return []
    }
  })
}

async function run(
  core: Core,
  connection: McpConnection,
  tool: Tool,
  id: string,
  input: any,
  caller: Caller,
): Promise<ToolResult> {
  const { sessionID, agent, messageID } = caller
  const source = { type: "tool" as const, messageID, id: caller.id }
  try {
    await core.permissions.assert(
      { sessionID, agent, action: id, resources: ["*"], save: ["*"], metadata: {}, source },
      caller.signal,
    )
  } catch (error) {
    throw error instanceof Blocked ? new ToolFailure(`Unable to execute ${id}`) : error
  }
  if (caller.signal.aborted) throw new Interrupted()
  try {
    return resultOf(await connection.call(tool.name, input, sessionID, caller.signal), tool.outputSchema !== undefined)
  } catch (error) {
    throw error instanceof ToolFailure || error instanceof Declined ? error : new ToolFailure(messageOf(error))
  }
}

/** @throws ToolFailure for a result that is an error. */
export function resultOf(result: CallToolResult, hasSchema: boolean): ToolResult {
  const content = result.content.map(contentOf)
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  if (result.isError) throw new ToolFailure(text || "MCP tool returned an error")
  return { content, output: result.structuredContent ?? outputOf(text, hasSchema) }
}

/** The value of a result that has no structured one. */
function outputOf(text: string, hasSchema: boolean): unknown {
  if (text === "") return null
  if (hasSchema || !/^[{[]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function contentOf(block: CallToolResult["content"][number]): Content {
  const file = (data: string, mime: string): Content => ({ type: "file", uri: `data:${mime};base64,${data}`, mime })
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text }
    case "image":
    case "audio":
      return file(block.data, block.mimeType)
    case "resource_link":
      return { type: "text", text: block.uri }
    case "resource": {
      const { resource } = block
      if ("text" in resource) return { type: "text", text: resource.text }
      return file(resource.blob, resource.mimeType ?? "application/octet-stream")
    }
  }
}
