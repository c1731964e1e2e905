/** What belongs to one plugin instance, and goes with it. */

import type { Registration } from "./contract.ts"

export class Scope {
  #disposers: (() => void | Promise<void>)[] = []
  #closed = false

  get closed(): boolean {
    return this.#closed
  }

  /** Registers an end. Its dispose is idempotent; the scope calls it at the latest when it closes. */
  add(dispose: () => void | Promise<void>): Registration {
    let done: Promise<void> | undefined
    const once = () => {
      this.#disposers = this.#disposers.filter((other) => other !== once)
      done ??= Promise.resolve(dispose())
      return done
    }
    this.#disposers.push(once)
    return { dispose: once }
  }

  /** Disposes, newest first; every dispose runs although one fails. @throws the first failure. */
  async close(): Promise<void> {
    this.#closed = true
    const failures: unknown[] = []
    for (let last = this.#disposers.pop(); last; last = this.#disposers.pop()) {
      try {
        await last()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
