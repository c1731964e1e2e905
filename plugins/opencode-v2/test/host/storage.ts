/** Values that survive a reload, apart for each plugin. */

import { strict } from "./strict.ts"
import type { Json, StorageDomain } from "./contract.ts"

/** Entries of one page of a scan, unless said otherwise. */
const pageSize = 100

export class Storage {
  #values = new Map<string, string>()

  /** The storage of one plugin, in every location. */
  of(pluginID: string, on: boolean): StorageDomain {
    const namespace = [...Array(pluginID.length).keys()]
      .map((at) => pluginID.charCodeAt(at).toString(16).padStart(4, "0"))
      .join("")
    const full = (key: string) => `${namespace}:${key}`
    return strict(
      "storage",
      {
        get: async (key: string) => {
          const text = this.#values.get(full(key))
          return text === undefined ? undefined : JSON.parse(text)
        },
        set: async (key: string, value: Json) => {
          const text = JSON.stringify(value)
          if (text === undefined) throw new Error(`value of ${key} is not JSON`)
          this.#values.set(full(key), text)
        },
        remove: async (key: string) => void this.#values.delete(full(key)),
        scan: async ({ prefix, after, limit = pageSize }: { prefix: string; after?: string; limit?: number }) => {
          const keys = [...this.#values.keys()]
            .filter((key) => key.startsWith(full(prefix)))
            .map((key) => key.slice(namespace.length + 1))
            .filter((key) => after === undefined || key > after)
            .sort()
          const page = keys.slice(0, limit)
          const entries = page.map((key) => ({ key, value: JSON.parse(this.#values.get(full(key)) as string) }))
          return { entries, ...(keys.length > limit && { next: page.at(-1) as string }) }
        },
      },
      [],
      on,
    )
  }
}
