/**
 * Nothing that a test has started outlives it: processes are known by the
 * TENON_RUNTIME_DIR in their environment, which is below the test's directory and
 * which every host, command and daemon hands on.
 */

import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join, sep } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

/** A process that is still there. */
export interface Leftover {
  pid: number
  /** Where its daemon's socket is. */
  runtime: string
  command: string
}

/** How long a daemon may take to end, once it was told to, or has lost its socket (milliseconds). */
export const leaving = 30_000

/** The processes that live below a directory, this one aside. None where there is no /proc to ask. */
export function processesBelow(directory: string): Leftover[] {
  if (!existsSync("/proc/self/environ")) return []
  return readdirSync("/proc").flatMap((entry) => {
    const pid = Number(entry)
    if (!Number.isInteger(pid) || pid === process.pid) return []
    const runtime = /(?:^|\0)TENON_RUNTIME_DIR=([^\0]*)/.exec(read(pid, "environ"))?.[1]
    if (runtime === undefined || !runtime.startsWith(directory)) return []
    return [{ pid, runtime, command: read(pid, "cmdline").replaceAll("\0", " ").trim() }]
  })
}

/** In words. */
export const toldOf = (left: Leftover[]) => left.map(({ pid, command }) => `${pid} ${command}`).join("\n")

/**
 * Ends what lives below a directory of tests, waits until it is gone, and removes
 * the directory. `stop` tells its daemon to end. More than once, since a client
 * that was killed may have been about to start one. Throws when something stays.
 */
export async function clear(directory: string, stop: () => Promise<unknown>): Promise<void> {
  for (const deadline = Date.now() + leaving; ; await pause(50)) {
    await stop()
    const left = processesBelow(directory + sep)
    if (left.length === 0) break
    if (Date.now() > deadline) throw new Error(`${directory} is left, and these live on:\n${toldOf(left)}`)
  }
  rmSync(directory, { recursive: true, force: true })
}

/**
 * The same at the end of a process, which cannot wait for promises: what a test
 * that failed has not cleared. What stays is told of, and is a failure.
 */
export function clearAtExit(directory: string, tenon: string): void {
  const below = () => processesBelow(directory + sep)
  for (const deadline = Date.now() + leaving; below().length > 0 && Date.now() < deadline; sleep(50)) {
    for (const runtime of new Set(below().map((each) => each.runtime))) {
      const env = {
        PATH: process.env.PATH,
        HOME: directory,
        TENON_RUNTIME_DIR: runtime,
        TENON_STATE_DIR: join(directory, "s"),
      }
      spawnSync(tenon, ["daemon", "stop", "--force"], { env, stdio: "ignore", timeout: leaving })
    }
  }
  const left = below()
  if (left.length > 0) {
    process.exitCode = 1
    process.stderr.write(`${directory} is left, and these live on:\n${toldOf(left)}\n`)
    for (const { pid } of left) {
      try {
        process.kill(pid, "SIGKILL")
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  rmSync(directory, { recursive: true, force: true })
}

function sleep(ms: number) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** A file of a process; nothing when it is gone, is another user's, or a zombie. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8")
  } catch {
    return ""
  }
}
