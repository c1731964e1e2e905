/**
 * A daemon that is stopped, or hangs, keeps its connection: only silence tells.
 * Who waits for it must not wait for ever.
 */

/** After how many milliseconds of silence a sign of life is asked for. */
export const silence = 20_000

/** What a watch looks at and does. */
export interface Watched {
  /** Whether something is waited for: a daemon that nobody asks may be silent. */
  waits(): boolean
  /** Asks for a sign of life. */
  ask(): void
  /** The daemon has given none. Called once, and the watch has ended. */
  dead(): void
}

/** A watch that runs. */
export interface Watch {
  /** Something has come. */
  heard(): void
  end(): void
}

/** Begins to watch; after `every` milliseconds of silence it asks, and a third such time is the end. */
export function watch({ waits, ask, dead }: Watched, every: number = silence): Watch {
  let silent = 0
  const end = () => clearInterval(timer)
  const timer = setInterval(() => {
    if (!waits()) silent = 0
    else if (silent++ < 2)
      ask() // twice, since the first silence may be that of a machine that slept
    else {
      end()
      dead()
    }
  }, every)
  timer.unref()
  return { heard: () => void (silent = 0), end }
}
