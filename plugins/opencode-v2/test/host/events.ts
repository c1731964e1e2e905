/** The host's feed of events: live, in order, for everybody. */

import { newID } from "./core.ts"
import type { HostEvent } from "./contract.ts"
import type { EventLog } from "./types.ts"

/** How long a wait of a test lasts, in milliseconds. */
export const patience = 10_000

export class EventHub implements EventLog {
  readonly all: HostEvent[] = []
  #listeners = new Set<(event: HostEvent) => void>()

  publish(type: string, data: unknown, location?: HostEvent["location"]): void {
    const event: HostEvent = {
      id: newID("evt"),
      created: Date.now(),
      type,
      data: data === undefined ? {} : JSON.parse(JSON.stringify(data)),
      ...(location && { location }),
    }
    this.all.push(event)
    for (const listener of [...this.#listeners]) listener(event)
  }

  of(type: string): HostEvent[] {
    return this.all.filter((event) => event.type === type)
  }

  listen(listener: (event: HostEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  get listeners(): number {
    return this.#listeners.size
  }

  waitFor(type: string, matches: (event: HostEvent) => boolean = () => true): Promise<HostEvent> {
    const past = this.all.find((event) => event.type === type && matches(event))
    if (past) return Promise.resolve(past)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        off()
        reject(new Error(`no event ${type} within ${patience} ms`))
      }, patience)
      const off = this.listen((event) => {
        if (event.type !== type || !matches(event)) return
        clearTimeout(timer)
        off()
        resolve(event)
      })
    })
  }

  /**
   * Events from now on, each its own copy. Ends by `break`, by the signal, or by `closed` (the plugin's unload), whose
   * function of registration is given the end of the iterator.
   */
  subscribe(signal: AbortSignal | undefined, closed: (end: () => void) => void): AsyncIterable<HostEvent> {
    return feed((push) => this.listen((event) => push(structuredClone(event))), signal, closed)
  }
}

/** Turns a listener into an iterable that queues what is not read yet. Listening starts at once, not at the first read. */
export function feed<T>(
  listen: (push: (value: T) => void) => () => void,
  signal: AbortSignal | undefined,
  closed: (end: () => void) => void,
): AsyncIterable<T> {
  const queue: T[] = []
  let wake: (() => void) | undefined
  let over = false
  const off = listen((value) => {
    queue.push(value)
    wake?.()
  })
  const end = () => {
    if (over) return
    over = true
    off()
    signal?.removeEventListener("abort", end)
    wake?.()
  }
  signal?.addEventListener("abort", end)
  closed(end)
  if (signal?.aborted) end()
  const iterator: AsyncIterator<T> = {
    async next() {
      while (queue.length === 0 && !over) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      // What was queued when the feed ended is dropped: a plugin that is gone hears nothing more.
      return over ? { done: true, value: undefined } : { done: false, value: queue.shift() as T }
    },
    async return() {
      end()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
