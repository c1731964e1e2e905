/** The text that tells a model which tools its programs have. */

import { asJsonSchema } from "./schema.ts"
import type { HostTool } from "./tool.ts"

/** Estimated tokens; a token is four characters. */
const budget = 2_000
const charactersPerToken = 4
const descriptionLength = 120
const identifier = /^[A-Za-z_$][A-Za-z0-9_$]*$/

/** `tools.ns.name`, in brackets where a part is no identifier. */
export function pathOf(tool: HostTool): string {
  const parts = [...(tool.namespace?.split(".") ?? []), tool.name]
  return `tools${parts.map((part) => (identifier.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`)).join("")}`
}

/** The name in `toolCalls`: `ns.name`. */
export function dottedName(tool: HostTool): string {
  return tool.namespace ? `${tool.namespace}.${tool.name}` : tool.name
}

/** Pinned tools always; the rest by turns of the namespaces, shortest line first, while the budget lasts. */
export function catalogueOf(tools: readonly HostTool[], namespaces: ReadonlyMap<string, string>): string {
  if (tools.length === 0) return ""
  const lines = new Map(tools.map((tool) => [tool, lineOf(tool)]))
  const groups = new Map<string, HostTool[]>()
  for (const tool of tools) groups.set(tool.namespace ?? "", [...(groups.get(tool.namespace ?? "") ?? []), tool])
  const listed = new Set(tools.filter((tool) => tool.options.pinned))
  let left = budget * charactersPerToken
  for (const tool of listed) left -= (lines.get(tool) as string).length + 1
  const queues = [...groups.values()].map((group) =>
    group
      .filter((tool) => !listed.has(tool))
      .sort((a, b) => (lines.get(a) as string).length - (lines.get(b) as string).length),
  )
  for (let open = queues; open.length > 0; open = open.filter((queue) => queue.length > 0)) {
    for (const queue of open) {
      const tool = queue.shift()
      const cost = tool ? (lines.get(tool) as string).length + 1 : 0
      // The shortest of this namespace is too long: so is the rest of it.
      if (cost > left) queue.length = 0
      if (!tool || cost > left) continue
      listed.add(tool)
      left -= cost
    }
  }
  const hidden = tools.length - listed.size
  const text: string[] = [`Tools for programs${hidden > 0 ? ` (${hidden} more: use search)` : ""}:`]
  for (const [namespace, group] of groups) {
    const description = namespaces.get(namespace)
    if (description) text.push(`// ${namespace}: ${description}`)
    text.push(...group.filter((tool) => listed.has(tool)).map((tool) => lines.get(tool) as string))
  }
  return text.join("\n")
}

export function lineOf(tool: HostTool): string {
  const input = typeOf(asJsonSchema(tool.input, "input"))
  const output = tool.output ? typeOf(asJsonSchema(tool.output, "output")) : "unknown"
  const description = (tool.description.split("\n")[0] as string).slice(0, descriptionLength)
  return `${pathOf(tool)}(input: ${input}): Promise<${output}>${description && ` // ${description}`}`
}

function typeOf(schema: any): string {
  if (schema?.type === "object" && schema.properties) {
    const required: string[] = schema.required ?? []
    const fields = Object.entries(schema.properties).map(([name, inner]) => {
      const key = identifier.test(name) ? name : JSON.stringify(name)
      return `${key}${required.includes(name) ? "" : "?"}: ${typeOf(inner)}`
    })
    return `{ ${fields.join("; ")} }`
  }
  if (schema?.type === "array") return `${typeOf(schema.items)}[]`
  if (schema?.type === "integer") return "number"
  return ["string", "number", "boolean", "null"].includes(schema?.type) ? schema.type : "unknown"
}
