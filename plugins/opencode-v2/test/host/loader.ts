/** Which plugins a configuration means, and what their modules export. */

import { existsSync, readdirSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, extname, isAbsolute, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { entryOfDirectory, entryOfPackage } from "./entry.ts"
import type { Context, Cleanup } from "./contract.ts"
import type { Log } from "./core.ts"
import type { Switches } from "./switches.ts"
import type { PluginSource } from "./types.ts"

/** A plugin that a configuration asks for, not yet imported. */
export interface Planned {
  /** What removals match and what a failed plugin is called: a package's name, a file's without its ending. */
  name: string
  /** Tells sources apart. */
  key: string
  options: Record<string, any>
  /** @throws a LoadError, or whatever the import throws. */
  load(): Promise<Definition>
}

/** What a plugin exports, whichever flavour. */
export interface Definition {
  id: string
  start(context: Context): unknown
}
export type Started = Cleanup | void

/** A failure whose text is for the user as it is. */
export class LoadError extends Error {}

const wrongShape = "Plugin must export a default definition with an id and an effect or setup function."

export interface LoaderOptions {
  directory: string
  packages?: string
  switches: Switches
  log: Log
}

let evaluation = 0

export class Loader {
  // A module is evaluated once for each revision of its source, whatever the number of locations.
  #evaluated = new Map<string, Promise<object>>()
  #revisions = new Map<string, number>()

  constructor(private readonly options: LoaderOptions) {}

  /** The revision of a source; a change makes every location load it anew. */
  revision(key: string): number {
    return this.#revisions.get(key) ?? 0
  }

  /** The source has changed: the next load evaluates it again. */
  changed(key: string): void {
    this.#revisions.set(key, this.revision(key) + 1)
  }

  /** Discovered plugins, then configured ones in order; a removal takes out those before it. */
  plan(roots: readonly string[], entries: readonly PluginSource[]): Planned[] {
    const planned = roots.flatMap((root) => this.#discover(root))
    for (const entry of entries) {
      if (typeof entry === "string" && entry.startsWith("-")) {
        remove(planned, entry)
        continue
      }
      const plugin = this.#configured(entry)
      if (plugin) planned.push(plugin)
    }
    return planned
  }

  #discover(root: string): Planned[] {
    const found: string[] = []
    for (const folder of ["plugin", "plugins"]) {
      const directory = join(root, folder)
      if (!existsSync(directory)) continue
      for (const name of readdirSync(directory)) {
        const path = join(directory, name)
        if (statSync(path).isDirectory() || [".ts", ".js"].includes(extname(name))) found.push(path)
      }
    }
    return found.sort().map((path) => this.#local(path, {}))
  }

  #configured(entry: PluginSource): Planned | undefined {
    if (typeof entry === "object" && "module" in entry) {
      const { module, options = {}, name = "inline" } = entry
      const key = `inline:${keyOf(module)}`
      const make = async () => (typeof module === "function" ? await module() : module) as object
      return { name, key, options, load: async () => define(await this.#evaluate(key, make)) }
    }
    const { package: specification, options = {} } = typeof entry === "string" ? { package: entry } : entry
    if (!isLocal(specification)) return this.#named(specification, options)
    const path = specification.startsWith("file:")
      ? fileURLToPath(specification)
      : resolve(this.options.directory, specification)
    const isFile = existsSync(path) && statSync(path).isFile()
    if (isFile && !this.options.switches.localFilePlugins) {
      this.options.log.warn("configured plugin path must be a directory", path)
      return undefined
    }
    return this.#local(path, options)
  }

  #local(path: string, options: Record<string, any>): Planned {
    const find = () => {
      if (!existsSync(path)) return undefined
      return statSync(path).isFile() ? path : entryOfDirectory(path, "server")
    }
    return { name: basename(path, extname(path)), key: path, options, load: () => this.#import(path, path, find) }
  }

  #named(name: string, options: Record<string, any>): Planned {
    const directory = join(this.options.packages ?? this.options.directory, "node_modules", name)
    const find = () =>
      existsSync(join(directory, "package.json"))
        ? entryOfPackage(directory, "server", this.options.switches.packageRootFallback)
        : undefined
    return { name, key: `package:${name}`, options, load: () => this.#import(`package:${name}`, name, find) }
  }

  async #import(key: string, target: string, find: () => string | undefined): Promise<Definition> {
    const file = find()
    if (!file) throw new LoadError(`Plugin entrypoint not found: ${target}`)
    return define(await this.#evaluate(key, () => importFresh(file)))
  }

  #evaluate(key: string, make: () => Promise<object>): Promise<object> {
    const revised = `${key}#${this.revision(key)}`
    const module = this.#evaluated.get(revised) ?? make()
    this.#evaluated.set(revised, module)
    return module
  }
}

/** Evaluates a module again, with fresh state. What it imports in turn is shared within the process. */
export function importFresh(file: string): Promise<object> {
  // Without a package.json that says otherwise, Node's loader keeps a module as CommonJS, whatever the query.
  delete createRequire(import.meta.url).cache[file]
  return import(`${pathToFileURL(file).href}?evaluation=${++evaluation}`)
}

function define(module: object): Definition {
  const exported: unknown = "default" in module ? module.default : undefined
  if (typeof exported !== "object" || exported === null) throw new LoadError(wrongShape)
  const { id, effect, setup } = exported as Record<string, unknown>
  if (typeof id !== "string") throw new LoadError(wrongShape)
  if (typeof effect === "function") return { id, start: (context) => effect.call(exported, context) }
  if (typeof setup === "function") return { id, start: (context) => setup.call(exported, context) }
  throw new LoadError(wrongShape)
}

function isLocal(specification: string): boolean {
  return /^\.\.?\//.test(specification) || specification.startsWith("file:") || isAbsolute(specification)
}

/** Takes plugins out by name: `-name`, `-prefix.*`, `-*`. */
function remove(planned: Planned[], entry: string): void {
  const target = entry.slice(1)
  if (target === "") throw new Error("Plugin remove operation requires a target")
  const matches = (name: string) =>
    target === "*" || (target.endsWith(".*") ? name.startsWith(target.slice(0, -1)) : name === target)
  for (let at = planned.length - 1; at >= 0; at--) {
    if (matches((planned[at] as Planned).name)) planned.splice(at, 1)
  }
}

const keys = new WeakMap<object, string>()
let keyed = 0

function keyOf(module: object): string {
  const key = keys.get(module) ?? String(++keyed)
  keys.set(module, key)
  return key
}
