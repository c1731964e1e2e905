/**
 * Asks the tenon program where the daemon listens, which starts it when it does
 * not run. Only the program knows the rules for the socket's place; the plugin
 * does not repeat them.
 */

import { spawn } from "node:child_process"
import { Failure } from "./failure.ts"

/** How long the program may take; it waits for the daemon to be ready. */
const startTimeout = 20_000

/** The path of a running daemon's socket. Rejects with DaemonUnavailable. */
export function startDaemon(bin: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    // Detached: a Ctrl-C in the host's terminal must not reach the start of a
    // daemon that outlives the host.
    const child = spawn(bin, ["daemon", "start", "--json"], { detached: true, stdio: ["ignore", "pipe", "pipe"], env })
    let out = ""
    let said = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-500)))
    const timer = setTimeout(() => child.kill("SIGKILL"), startTimeout)
    child.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      if (error.code === "ENOENT") return reject(missing(bin))
      reject(Failure("DaemonUnavailable", `the tenon program ${bin} cannot be run: ${error.message}`))
    })
    child.on("close", (code, signal) => {
      clearTimeout(timer)
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

function socketIn(out: string): string | undefined {
  try {
    const answer = JSON.parse(out) as { socket?: unknown }
    return typeof answer.socket === "string" ? answer.socket : undefined
  } catch {
    return undefined
  }
}
