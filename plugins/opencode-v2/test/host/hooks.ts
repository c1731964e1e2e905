/** Callbacks of a location's hooks, one after another on one shared event. */

import { AsyncLocalStorage } from "node:async_hooks"
import type { Owner } from "./transforms.ts"

interface Hook {
  owner: Owner
  serial: number
  callback: (event: any) => unknown
  providerID?: string
}

let serial = 0

export class HookTable {
  #hooks = new Map<string, Hook[]>()
  readonly #severed: (<T>(run: () => T) => T) | undefined

  /** @param sever hooks do not see the async context of whoever fires them. */
  constructor(sever: boolean) {
    this.#severed = sever ? AsyncLocalStorage.snapshot() : undefined
  }

  /** Registers at once; the function given back takes it out at once. */
  add(owner: Owner, name: string, callback: (event: any) => unknown, providerID?: string): () => void {
    const hook = { owner, serial: ++serial, callback, providerID }
    const all = [...(this.#hooks.get(name) ?? []), hook]
    all.sort((a, b) => a.owner.order - b.owner.order || a.serial - b.serial)
    this.#hooks.set(name, all)
    return () =>
      this.#hooks.set(
        name,
        (this.#hooks.get(name) ?? []).filter((other) => other !== hook),
      )
  }

  /** Fires in plugin order, then in order of registration, each awaited. What a callback gives back is ignored. */
  async fire(name: string, event: object, providerID?: string): Promise<void> {
    for (const hook of this.#hooks.get(name) ?? []) {
      // One that an earlier callback took out does not run any more.
      if (!this.#hooks.get(name)?.includes(hook)) continue
      if (hook.providerID && hook.providerID !== providerID) continue
      const run = () => hook.callback(event)
      await (this.#severed ? this.#severed(run) : run())
    }
  }
}
