/**
 * Asks the tenon program where the daemon listens, which starts it when it does
 * not run. Only the program knows the rules for the socket's place; the plugin
 * does not repeat them.
 */

import { spawn } from "node:child_process"
import { Failure } from "./failure.ts"

/** How long the program may take; it waits for the daemon to be ready. */
const startTimeout = 20_000
/** Of what it says, so many characters are kept. */
const mostOutput = 64 * 1024

/**
 * The path of a running daemon's socket. Rejects with DaemonUnavailable; also when
 * `stop` fires, and then the program starts nothing any more.
 */
export function startDaemon(
  bin: string,
  env: NodeJS.ProcessEnv,
  stop?: AbortSignal,
  timeout: number = startTimeout,
): Promise<string> {
  return new Promise((resolve, reject) => {
    if (stop?.aborted) return reject(Failure("DaemonUnavailable", "the plugin was closed"))
    // Detached: a Ctrl-C in the host's terminal must not reach the start of a
    // daemon that outlives the host.
    const child = spawn(bin, ["daemon", "start", "--json"], { detached: true, stdio: ["ignore", "pipe", "pipe"], env })
    let out = ""
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out = (out + text).slice(0, mostOutput)))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-500)))
    const kill = (why: string) => {
      // With what it has started, except for a daemon, which has left its group: that
      // may hold the pipes open, so their end is not waited for.
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
      } catch {
        // It has ended by itself.
      }
      child.stdout.destroy()
      child.stderr.destroy()
      done()
      reject(Failure("DaemonUnavailable", why))
    }
    const onStop = () => kill("the plugin was closed")
    const timer = setTimeout(() => {
      kill(`the tenon daemon did not start: ${bin} did not answer within ${timeout / 1_000} s`)
    }, timeout)
    const done = () => {
      clearTimeout(timer)
      stop?.removeEventListener("abort", onStop)
    }
    stop?.addEventListener("abort", onStop, { once: true }) // removed by done
    child.on("error", (error: NodeJS.ErrnoException) => {
      done()
      if (error.code === "ENOENT") return reject(missing(bin))
      reject(Failure("DaemonUnavailable", `the tenon program ${bin} cannot be run: ${error.message}`))
    })
    child.on("close", (code, signal) => {
      done()
      const socket = socketIn(out)
      if (code === 0 && socket) return resolve(socket)
      const why = said.trim().split("\n").pop() || (signal ? `ended by ${signal}` : `exit status ${code}`)
      reject(Failure("DaemonUnavailable", `the tenon daemon did not start: ${why}`, "tenon daemon status says more"))
    })
  })
}

function missing(bin: string): Failure {
  const where = bin.includes("/") ? `${bin} does not exist` : `${bin} is not in PATH`
  return Failure(
    "DaemonUnavailable",
    `the tenon program was not found: ${where}`,
    'install tenon, or name it with the plugin option "bin"',
  )
}

/** The socket in what the program has said; undefined when that is no answer. */
export function socketIn(out: string): string | undefined {
  try {
    const answer = JSON.parse(out) as { socket?: unknown }
    return typeof answer.socket === "string" && answer.socket !== "" ? answer.socket : undefined
  } catch {
    return undefined
  }
}
