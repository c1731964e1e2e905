/** The tools of a location, and the editor that plugins change them with. */

import { executorOf, promised, type HostTool } from "./tool.ts"
import { messageOf, type Log } from "./core.ts"
import { asJsonSchema, checkSchema } from "./schema.ts"
import type { IdentifiedTool, Mutable, ToolEditor, ToolInfo, ToolOptions } from "./contract.ts"
import type { Switches } from "./switches.ts"

export interface ToolSet {
  tools: Map<string, HostTool>
  /** Descriptions of namespaces. */
  namespaces: Map<string, string>
}

const segment = /^[A-Za-z0-9_-]{1,64}$/

/** Characters that a name may not have become `_`. */
export function normalized(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_")
}

/** The id of a tool for the model, hooks and rules. */
export function effectiveID(name: string, namespace?: string): string {
  return namespace ? `${namespace.replaceAll(".", "_")}_${name}` : name
}

/**
 * A tool as registered.
 *
 * @throws with the text that the host logs when the registration is invalid.
 */
export function registered(info: ToolInfo, switches: Switches, run = executorOf(info.execute, switches)): HostTool {
  const given: unknown = info.name
  if (typeof given !== "string") throw new Error(`Invalid tool name: ${String(given)}`)
  const name = normalized(given)
  if (name === "" || name.length > switches.toolNameLimit) throw new Error(`Invalid tool name: ${given}`)
  const namespace = info.options?.namespace
  if (namespace !== undefined && !namespace.split(".").every((part) => segment.test(part))) {
    throw new Error(`Invalid tool namespace: "${namespace}"`)
  }
  const id = effectiveID(name, namespace)
  if (id === "execute" && info.options?.codemode === false) {
    throw new Error(`Tool name "execute" is reserved for CodeMode`)
  }
  const invalid = (detail: string) => new Error(`Invalid tool definition ${id}: ${detail}`)
  if (typeof info.description !== "string") throw invalid("description is not a string")
  if (typeof info.execute !== "function") throw invalid("execute is not a function")
  try {
    checkSchema(info.input, "input")
    if (info.output !== undefined) checkSchema(info.output, "output")
  } catch (error) {
    throw invalid(messageOf(error))
  }
  const options: ToolOptions = { ...info.options }
  return { id, name, namespace, description: info.description, input: info.input, output: info.output, options, run }
}

/** The permission that hides a tool. */
export function permissionOf(tool: HostTool): string {
  return tool.options.permission ?? tool.id
}

export function toolEditor(set: ToolSet, switches: Switches, log: Log): ToolEditor {
  const skip = (error: unknown) => log.warn("Skipping invalid tool registration", messageOf(error))
  return {
    list: () => [...set.tools.values()].map(handed),
    get: (id) => {
      const tool = set.tools.get(id)
      return tool && handed(tool)
    },
    namespace: ({ name, description }) => void set.namespaces.set(name, description),
    add: (info) => {
      try {
        const tool = registered(info, switches)
        // A replacement takes the place of the last, so that the order is that of the registrations.
        set.tools.delete(tool.id)
        set.tools.set(tool.id, tool)
      } catch (error) {
        skip(error)
      }
    },
    update: (id, update) => {
      const before = set.tools.get(id)
      if (!before) return
      const draft = handed(before)
      const given = draft.execute
      update(draft as Mutable<ToolInfo>)
      try {
        const info = { ...draft, name: before.name, options: { ...draft.options, namespace: before.namespace } }
        // An executor left alone stays the host's own, interruptible and with typed failures.
        const kept = draft.execute === given
        const run = kept ? before.run : executorOf(draft.execute, switches)
        const after = registered(info as ToolInfo, switches, run)
        set.tools.set(id, { ...after, id })
      } catch (error) {
        skip(error)
      }
    },
    remove: (id) => void set.tools.delete(id),
  }
}

/** A tool of the host's own. */
export function hostTool(info: Omit<ToolInfo, "execute">, run: HostTool["run"], switches: Switches): HostTool {
  return registered({ ...info, execute: promised(run) }, switches, run)
}

/** A copy for a plugin: editing it changes nothing by itself. */
export function handed(tool: HostTool): IdentifiedTool {
  const { id, name, description, input, output, options } = tool
  const execute = promised(tool.run)
  return { id, name, description, input, ...(output !== undefined && { output }), options: { ...options }, execute }
}

/** The schemas as the model reads them. */
export function inputSchemaOf(tool: HostTool): Record<string, unknown> {
  return asJsonSchema(tool.input, "input")
}
