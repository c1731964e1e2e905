/**
 * The host's event stream, read once for the whole plugin. It is live only:
 * what is said while nobody listens is lost, so whoever waits for an answer is
 * told when the stream breaks.
 */

import type { Context, HostEvent } from "./host.ts"

/** The stream. */
export interface Events {
  /** Whether it is being read. */
  alive(): boolean
  /** Hears every event, by the name that later releases give it. */
  on(listener: (type: string, data: any) => void): void
  /** Hears that the stream broke: what came meanwhile is not known. */
  onLost(listener: () => void): void
  close(): void
}

/** Waits between attempts, in milliseconds; the last one repeats. */
const backoff = [100, 500, 2_000, 10_000]

/** Begins to read. */
export function readEvents(ctx: Context): Events {
  const control = new AbortController()
  const listeners: ((type: string, data: any) => void)[] = []
  const lost: (() => void)[] = []
  let reading = false
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  const tell = (event: HostEvent) => {
    if (typeof event?.type !== "string") return // nothing that anybody listens for
    const type = event.type.replace(/^permission\.v2\./, "permission.") // early 2.0.x
    for (const listener of listeners) {
      try {
        listener(type, event.data ?? {})
      } catch {
        // One listener's mistake is not the others'.
      }
    }
  }

  const read = async () => {
    reading = true
    try {
      for await (const event of ctx.event.subscribe({ signal: control.signal })) {
        failures = 0
        tell(event)
      }
    } catch {
      // The same as an end: whoever waits is told below.
    }
    reading = false
    for (const listener of lost) listener()
    if (control.signal.aborted) return
    timer = setTimeout(() => void read(), backoff[Math.min(failures++, backoff.length - 1)]!)
    timer.unref?.()
  }
  void read()

  return {
    alive: () => reading,
    on: (listener) => void listeners.push(listener),
    onLost: (listener) => void lost.push(listener),
    close() {
      clearTimeout(timer)
      control.abort()
    },
  }
}
