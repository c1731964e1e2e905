/**
 * A reload of the plugin evaluates its module anew, so the next instance knows no
 * session, and the daemon lets go of what nobody claims within its grace. The
 * instance that ends leaves its sessions' ids to the one that follows in the same
 * process and directory.
 */

interface Left {
  ids: string[]
  until: number
}

/** What is not taken after so long is of no use: the daemon's grace is over (milliseconds). */
const kept = 60_000

const shelf = Symbol.for("opencode-tenon.v2.sessions")

/** Leaves sessions to the next instance of a directory. */
export function leave(directory: string, ids: string[]): void {
  const left = table()
  for (const [each, { until }] of left) if (until < Date.now()) left.delete(each)
  if (ids.length > 0) left.set(directory, { ids, until: Date.now() + kept })
}

/** Takes what the last instance left. */
export function take(directory: string): string[] {
  const found = table().get(directory)
  table().delete(directory)
  return found && found.until > Date.now() ? found.ids : []
}

/** By the symbol's name, every copy of the code finds the same one. */
function table(): Map<string, Left> {
  const shared = globalThis as { [shelf]?: Map<string, Left> }
  return (shared[shelf] ??= new Map())
}
