/** One plugin at work in one location. */

import { LoadError, type Definition, type Planned } from "./loader.ts"
import { Scope } from "./scope.ts"
import { messageOf, newID, type Log } from "./core.ts"
import type { Context, PluginState } from "./contract.ts"
import type { Owner } from "./transforms.ts"

export class Instance implements Owner {
  readonly scope = new Scope()
  id: string
  #definition: Definition | undefined
  #failure: { error: string; ref: string } | undefined
  #active = false
  #cleanup: (() => void | Promise<void>) | undefined
  #closing: Promise<void> | undefined

  constructor(
    readonly planned: Planned,
    readonly revision: number,
    readonly order: number,
    private readonly log: Log,
  ) {
    this.id = planned.name
  }

  get state(): PluginState {
    return this.#failure ? { id: this.id, status: "failed", ...this.#failure } : { id: this.id, status: "active" }
  }

  get failed(): boolean {
    return this.#failure !== undefined
  }

  /** Imports the module. False: it failed, and says so in its state. */
  async load(): Promise<boolean> {
    try {
      this.#definition = await this.planned.load()
      this.id = this.#definition.id
      return true
    } catch (error) {
      this.#fail(error)
      return false
    }
  }

  /** Runs the setup. What it registered is gone again if it throws. */
  async start(context: Context): Promise<void> {
    try {
      const cleanup = await (this.#definition as Definition).start(context)
      if (typeof cleanup === "function") this.#cleanup = cleanup as () => void
      this.#active = true
    } catch (error) {
      this.#fail(error)
    }
    // A transform may have disabled the plugin during its own setup.
    if (this.#failure) await this.stop()
  }

  /** A transform threw in a replay: this plugin goes, the others stay. */
  fail(error: unknown): void {
    if (this.#failure) return
    this.#fail(error)
    // Before the end of the setup the caller of start stops it.
    if (this.#active) this.stop().catch((reason) => this.log.warn("plugin disposal failed", reason))
  }

  /** For two plugins of one id, the second. */
  refuse(error: Error): void {
    this.#fail(error)
  }

  /** Awaits the plugin's own cleanup, then takes its registrations out, newest first. */
  stop(): Promise<void> {
    this.#closing ??= this.#stop()
    return this.#closing
  }

  async #stop(): Promise<void> {
    try {
      await this.#cleanup?.()
    } catch (error) {
      this.log.warn("plugin cleanup failed", error)
    }
    await this.scope.close()
  }

  #fail(error: unknown): void {
    const ref = newID("err")
    this.#failure = { error: error instanceof LoadError ? error.message : "Plugin failed to load", ref }
    this.log.warn("failed to load plugin", { plugin: this.id, ref, error: messageOf(error), cause: error })
  }
}
