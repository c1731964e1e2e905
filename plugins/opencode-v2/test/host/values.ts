/** Domains that are named values and nothing more here: agents, commands, skills, providers and the like. */

import { agentRules } from "./rules.ts"
import { State, type Batch } from "./transforms.ts"
import type { Core } from "./core.ts"
import type { ValueEditor } from "./contract.ts"

export type ValueState = State<Map<string, any>, ValueEditor>

export const valueDomains = [
  "agent",
  "command",
  "integration",
  "reference",
  "skill",
  "provider",
  "model",
  "catalog",
] as const
export type ValueName = (typeof valueDomains)[number]

export class ValueStates {
  #states: Map<ValueName, ValueState>

  constructor(core: Core, batch: Batch) {
    const state = (name: ValueName): ValueState =>
      new State<Map<string, any>, ValueEditor>(
        { initial: () => initial(core, name), editor: valueEditor, twice: core.switches.replayTwice },
        batch,
      )
    this.#states = new Map(valueDomains.map((name) => [name, state(name)]))
  }

  of(name: ValueName): ValueState {
    return this.#states.get(name) as ValueState
  }

  all(): ValueState[] {
    return [...this.#states.values()]
  }
}

function initial(core: Core, name: ValueName): Map<string, any> {
  if (name !== "agent") return new Map()
  const agents = { build: {}, ...core.config.agents }
  // As the host merges them: built-in, configured for all, the agent's own.
  const merged = (id: string) => structuredClone([...agentRules(core.config, id)])
  return new Map(Object.keys(agents).map((id) => [id, { id, name: id, permissions: merged(id) }]))
}

/** Values go in and out as copies. */
function valueEditor(values: Map<string, any>): ValueEditor {
  return {
    list: () => [...values].map(([name, value]) => [name, structuredClone(value)]),
    get: (name) => structuredClone(values.get(name)),
    set: (name, value) => void values.set(name, structuredClone(value)),
    update: (name, update) => {
      if (!values.has(name)) return
      const draft = structuredClone(values.get(name))
      update(draft)
      values.set(name, structuredClone(draft))
    },
    remove: (name) => void values.delete(name),
  }
}
