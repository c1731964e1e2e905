/** Work that nobody waits for once it is interrupted. */

import { Interrupted } from "./tool.ts"

/** The work's result, or Interrupted as soon as the signal aborts; what comes later is dropped. */
export function orInterrupted<T>(signal: AbortSignal, work: Promise<T>, error: Error = new Interrupted()): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(error)
    signal.addEventListener("abort", abort, { once: true })
    if (signal.aborted) abort()
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort))
  })
}

/** As a tool sees it whose progress is not taken any more. */
export function unlessInterrupted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return orInterrupted(signal, work, new Error("All fibers interrupted"))
}
