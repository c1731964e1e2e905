/** What a model is sent, and the tools that it can call with it. */

import { catalogueOf } from "./catalogue.ts"
import { agentRules, whollyDenied } from "./rules.ts"
import { inputSchemaOf, permissionOf } from "./toolset.ts"
import { programTool } from "./codemode.ts"
import { hookEvent } from "./strict.ts"
import { ToolFailure, type HostTool } from "./tool.ts"
import type { Core } from "./core.ts"
import type { LocationHost } from "./location.ts"
import type { ContextEvent, ModelRequestEvent } from "./contract.ts"
import type { ModelRequest } from "./types.ts"
import type { Session } from "./session.ts"

/** The tools of one request: what a call runs, whatever is registered by then. */
export interface Snapshot {
  /** @throws ToolFailure with the text for a name that is not offered. */
  find(name: string): HostTool
}

const snapshots = new WeakMap<ModelRequest, Snapshot>()

export function snapshotOf(request: ModelRequest): Snapshot {
  const snapshot = snapshots.get(request)
  if (!snapshot) throw new Error("this request was not made by the host")
  return snapshot
}

/** Makes a request: snapshot of the tools, then the hooks `context` and `model.request`. */
export async function requestOf(core: Core, location: LocationHost, session: Session): Promise<ModelRequest> {
  const { info } = session
  const agent = info.agent ?? "build"
  const rules = [...agentRules(core.config, agent), ...(info.permissions ?? [])]
  const hidden = (permission: string) => whollyDenied(rules, permission, core.switches.hideRule)
  const { tools, namespaces } = location.tools.read()
  const shown = [...tools.values()].filter((tool) => !hidden(permissionOf(tool)))
  const direct = shown.filter((tool) => tool.options.codemode === false).sort((a, b) => (a.id < b.id ? -1 : 1))
  const offered = new Map(direct.map((tool) => [tool.id, tool]))
  const inside = shown.filter((tool) => tool.options.codemode !== false)
  const codemode = !hidden("execute")
  if (codemode) offered.set("execute", programTool(core, location, inside))
  const catalogue = codemode ? catalogueOf(inside, namespaces) : ""

  const model = info.model ?? { providerID: "scripted", id: "scripted-1" }
  const system = ["You are opencode.", ...(catalogue ? [catalogue] : [])]
  const entries = [...offered].map(
    ([name, tool]) => [name, { description: tool.description, input: inputSchemaOf(tool) }] as const,
  )
  const origins = new Map<object, string>(entries.map(([name, entry]) => [entry, name]))
  const event: ContextEvent = hookEvent(
    {
      system: system.map((text) => ({ type: "text" as const, text })),
      messages: structuredClone(session.messages),
      options: {} as Record<string, any>,
      tools: Object.fromEntries(entries) as ContextEvent["tools"],
    },
    { sessionID: info.id, agent, model, kind: "step" },
    core.switches.readonlyWrites,
    // Hooks of this event work by changing its parts in place.
    false,
  )
  await location.hooks.fire("context", event, model.providerID)
  // The same object under another key is a tool renamed; an object that was never offered is none.
  const named = new Map<string, HostTool>()
  for (const [name, entry] of Object.entries(event.tools)) {
    const tool = offered.get(origins.get(entry) ?? name)
    if (tool && (origins.has(entry) || offered.has(name))) named.set(name, tool)
  }
  const wire: ModelRequestEvent = { headers: {} }
  await location.hooks.fire("model.request", wire, model.providerID)

  const request: ModelRequest = {
    sessionID: info.id,
    agent,
    system: event.system.map((part) => part.text),
    tools: [...named].map(([name, tool]) => ({
      name,
      description: event.tools[name]?.description ?? tool.description,
      input: event.tools[name]?.input ?? inputSchemaOf(tool),
    })),
    catalogue,
    messages: event.messages,
    options: event.options,
    headers: wire.headers,
  }
  const find = (name: string): HostTool => {
    const tool = named.get(name)
    if (tool) return tool
    if (offered.has(name)) throw new ToolFailure(`Tool is not available for this request: ${name}`)
    if (core.switches.unknownToolText === "unknown") throw new ToolFailure(`Unknown tool: ${name}`)
    throw new ToolFailure(
      `No tool named "${name}" is currently available. Please use a tool from the available tool list.`,
    )
  }
  snapshots.set(request, { find })
  return request
}
