/** Processes that the host starts; none outlives it. */

import { spawn, type ChildProcess } from "node:child_process"

export interface Started {
  output: string
  exit: number | null
}

export class Processes {
  #running = new Set<ChildProcess>()

  get running(): string[] {
    return [...this.#running].map((child) => `process ${child.pid} ${child.spawnargs.join(" ")}`)
  }

  /**
   * Runs a command in a shell, in its own process group, until it ends, the signal or the limit ends it.
   *
   * @param timeout milliseconds; undefined: none.
   */
  run(
    command: string,
    options: { shell: string; cwd: string; env: Record<string, string>; timeout?: number; signal: AbortSignal },
  ): Promise<Started> {
    return new Promise((resolve, reject) => {
      const { shell, cwd, env, timeout, signal } = options
      const child = spawn(shell, ["-c", command], { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] })
      this.#running.add(child)
      let output = ""
      const end = () => endGroup(child)
      const timer = timeout === undefined ? undefined : setTimeout(end, timeout)
      child.stdout.on("data", (data) => (output += data))
      child.stderr.on("data", (data) => (output += data))
      signal.addEventListener("abort", end, { once: true })
      if (signal.aborted) end()
      const over = () => {
        this.#running.delete(child)
        clearTimeout(timer)
        signal.removeEventListener("abort", end)
      }
      child.on("error", (error) => {
        over()
        reject(error)
      })
      child.on("close", (exit) => {
        over()
        resolve({ output, exit })
      })
    })
  }

  /** Ends what still runs, and waits for it. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#running].map((child) => {
        const closed = new Promise((resolve) => child.once("close", resolve))
        endGroup(child)
        return closed
      }),
    )
  }
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    // It has ended by itself.
  }
}
