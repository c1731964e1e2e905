/** The locations of a host: one for each directory and workspace that a session has been in. */

import { LocationHost } from "./location.ts"
import { permissionOf } from "./toolset.ts"
import type { Core } from "./core.ts"
import type { Loader } from "./loader.ts"
import type { Location, PluginSource } from "./types.ts"
import type { SessionInfo } from "./contract.ts"

export interface Place {
  directory: string
  workspaceID?: string
}

export class Locations {
  #all = new Map<string, { location: LocationHost; ready: Promise<void>; handle: Location }>()

  constructor(
    private readonly core: Core,
    private readonly loader: Loader,
    private readonly roots: readonly string[],
    private readonly plugins: readonly PluginSource[],
  ) {}

  /** The location with its plugins active. */
  async ready(place: Place): Promise<LocationHost> {
    const { location, ready } = this.#entry(place)
    await ready
    return location
  }

  /** The location of a session; its plugins may still be on their way. */
  of(session: SessionInfo): LocationHost {
    return this.#entry(session.location).location
  }

  handle(place: Place): Location {
    return this.#entry(place).handle
  }

  handles(): Location[] {
    return [...this.#all.values()].map(({ handle }) => handle)
  }

  open(): string[] {
    return [...this.#all.values()].flatMap(({ location }) => location.mcp.open())
  }

  async close(): Promise<void> {
    for (const { location, ready } of this.#all.values()) {
      await ready
      await location.shutdown()
    }
  }

  #entry(place: Place) {
    const key = `${place.directory}\n${place.workspaceID ?? ""}`
    const known = this.#all.get(key)
    if (known) return known
    const location = new LocationHost({ core: this.core, loader: this.loader, roots: this.roots, ...place })
    const entry = { location, ready: location.configure([...this.plugins]), handle: handleOf(this.core, location) }
    this.#all.set(key, entry)
    return entry
  }
}

function handleOf(core: Core, location: LocationHost): Location {
  return {
    info: location.info,
    plugins: () => location.plugins(),
    plugin: (id) => location.plugin(id),
    reload: (id) => location.reload(id),
    unload: (id) => location.unload(id),
    configure: (sources) => location.configure(sources),
    tools: async () =>
      [...location.tools.read().tools.values()].map((tool) => ({
        id: tool.id,
        name: tool.name,
        ...(tool.namespace !== undefined && { namespace: tool.namespace }),
        codemode: tool.options.codemode !== false,
        permission: permissionOf(tool),
      })),
    mcp: {
      servers: () => location.mcp.servers(),
      configs: async () => structuredClone(Object.fromEntries(location.mcp.state.read())),
      settled: () => location.mcp.settled(),
      connects: (name) => location.mcp.connects(name),
    },
    rpc: (definition) => core.rpc.client(location.info.directory, definition, () => {}),
    shutdown: () => location.shutdown(),
  }
}
