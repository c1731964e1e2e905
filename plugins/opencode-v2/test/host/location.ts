/** One directory with its own instance of every plugin, its own tools, hooks and MCP servers. */

import { Batch, State, type Owner } from "./transforms.ts"
import { builtins } from "./builtins.ts"
import { createContext } from "./context.ts"
import { HookTable } from "./hooks.ts"
import { Instance } from "./instance.ts"
import { McpServers } from "./mcp.ts"
import { toolEditor, type ToolSet } from "./toolset.ts"
import { ValueStates } from "./values.ts"
import type { Core } from "./core.ts"
import type { Loader, Planned } from "./loader.ts"
import type { LocationInfo, PluginState, ToolEditor } from "./contract.ts"
import type { PluginSource } from "./types.ts"

export interface LocationOptions {
  core: Core
  loader: Loader
  roots: readonly string[]
  directory: string
  workspaceID?: string
}

export class LocationHost {
  readonly info: LocationInfo
  readonly hooks: HookTable
  readonly tools: State<ToolSet, ToolEditor>
  readonly values: ValueStates
  readonly mcp: McpServers
  readonly batch = new Batch()
  readonly core: Core
  #instances: Instance[] = []
  // Activations run one after another.
  #work: Promise<void> = Promise.resolve()

  constructor(private readonly options: LocationOptions) {
    const { core, directory, workspaceID } = options
    this.core = core
    const project = core.sessions.projectOf(directory)
    this.info = Object.freeze({ directory, ...(workspaceID && { workspaceID }), project: Object.freeze(project) })
    this.hooks = new HookTable(core.switches.severAsyncContext)
    this.mcp = new McpServers(core, this.info, this.batch, () => this.tools.touch())
    this.tools = new State<ToolSet, ToolEditor>(
      {
        initial: () => ({
          tools: new Map([...builtins(core, this), ...this.mcp.tools()].map((tool) => [tool.id, tool])),
          namespaces: new Map(),
        }),
        editor: (set) => toolEditor(set, core.switches, core.log),
        twice: core.switches.replayTwice,
      },
      this.batch,
    )
    this.values = new ValueStates(core, this.batch)
  }

  plugins(): readonly PluginState[] {
    return this.#instances.map((instance) => instance.state)
  }

  plugin(id: string): PluginState | undefined {
    return this.plugins().find((state) => state.id === id)
  }

  /** Activates a configuration: what is the same up to the first difference stays. */
  configure(sources: PluginSource[]): Promise<void> {
    return this.#activate(() => this.options.loader.plan(this.options.roots, sources))
  }

  async reload(id: string): Promise<void> {
    const instance = this.#find(id)
    this.options.loader.changed(instance.planned.key)
    await this.#activate(() => this.#instances.map((one) => one.planned))
  }

  async unload(id: string): Promise<void> {
    const { planned } = this.#find(id)
    await this.#activate(() => this.#instances.map((one) => one.planned).filter((other) => other !== planned))
  }

  async shutdown(): Promise<void> {
    await this.#activate(() => [])
    await this.mcp.close()
  }

  async #activate(plan: () => Planned[]): Promise<void> {
    const work = this.#work.then(() => this.#apply(plan()))
    this.#work = work.catch(() => {})
    await work
  }

  async #apply(planned: Planned[]): Promise<void> {
    const { loader, core } = this.options
    const same = (instance: Instance | undefined, at: number) =>
      instance?.planned.key === planned[at]?.key &&
      instance?.revision === loader.revision(planned[at]?.key ?? "") &&
      JSON.stringify(instance?.planned.options) === JSON.stringify(planned[at]?.options)
    let kept = 0
    while (kept < this.#instances.length && same(this.#instances[kept], kept)) kept++
    const replaced = this.#instances.splice(kept)
    for (const instance of [...replaced].reverse()) await instance.stop()
    // What failed is not tried again before its source changes.
    const lost = (plan: Planned) =>
      replaced.find((one) => one.failed && one.planned.key === plan.key && one.revision === loader.revision(plan.key))
    await this.batch.run(async () => {
      for (const plan of planned.slice(kept)) {
        const failed = lost(plan)
        if (failed) {
          this.#instances.push(failed)
          continue
        }
        const order = this.#instances.length + 1
        const instance = new Instance(plan, loader.revision(plan.key), order, core.log)
        const loaded = await instance.load()
        const twin = loaded && this.#instances.some((other) => other.id === instance.id)
        this.#instances.push(instance)
        if (twin) instance.refuse(new Error(`Duplicate plugin id: ${instance.id}`))
        if (loaded && !twin) await instance.start(createContext(instance, this))
      }
    })
    // Callbacks that threw at the end of the batch have disabled their plugins.
    await Promise.all(this.#instances.filter((instance) => instance.failed).map((instance) => instance.stop()))
    // Sees to it that the domains are built once, and says so if a callback cannot.
    for (const state of [this.tools, ...this.values.all()]) state.read()
  }

  #find(id: string): Instance {
    const instance = this.#instances.find((one) => one.id === id)
    if (!instance) throw new Error(`no plugin ${id} in ${this.info.directory}`)
    return instance
  }

  /** Whoever the host's own registrations belong to. */
  static readonly host: Owner = { order: 0, fail: () => {} }
}
