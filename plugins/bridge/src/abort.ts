/**
 * A host's cancel key. v1's signal also fires some 15 ms after every successful
 * call, so whoever listens must stop listening when the work is done.
 */

/** A promise that rejects when the signal fires; `stop` removes the listener and is to be called in `finally`. */
export function aborted(signal: AbortSignal): { promise: Promise<never>; stop(): void } {
  let stop = () => {}
  const promise = new Promise<never>((_, reject) => {
    const onAbort = () => reject(new Error("aborted"))
    if (signal.aborted) return onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    stop = () => signal.removeEventListener("abort", onAbort)
  })
  promise.catch(() => {}) // may fire when nobody waits
  return { promise, stop }
}

/** The value of `work`, or a rejection as soon as the signal fires. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const stopped = aborted(signal)
  work.catch(() => {}) // may fail when nobody waits
  try {
    return await Promise.race([work, stopped.promise])
  } finally {
    stopped.stop()
  }
}
