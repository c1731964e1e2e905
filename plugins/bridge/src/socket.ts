/**
 * A WebSocket on a unix socket. Bun's own WebSocket opens ws+unix addresses, and
 * is the only one that works there: the ws package needs an HTTP upgrade event
 * that Bun 1.3 does not give. Node has none that does, so it uses the package.
 */

import { connect } from "node:net"
import { Failure } from "./failure.ts"

/** What both WebSockets have in common, and all that is used of them. */
export interface Socket {
  onopen: (() => void) | null
  onmessage: ((event: { data: unknown }) => void) | null
  onclose: ((event: { code: number; reason: string }) => void) | null
  onerror: ((event: unknown) => void) | null
  send(text: string): void
  /** Says goodbye, and waits for the other side's: half a minute, in which a process does not end by itself. */
  close(code?: number, reason?: string): void
  /** Ends at once. */
  terminate(): void
}

/** Begins to connect to /v1/bridge on a unix socket; `path` is absolute. Rejects with DaemonUnavailable. */
export async function openSocket(path: string): Promise<Socket> {
  if (process.versions.bun) {
    if (!/^[\w./~%+@=,-]+$/.test(path)) throw unreachable(path)
    return new globalThis.WebSocket(`ws+unix://${path}:/v1/bridge`) as unknown as Socket
  }
  const { WebSocket } = await import("ws")
  // The package's own ws+unix addresses take no path with a blank, a colon or a letter beyond ASCII.
  const createConnection = () => connect(path)
  const options = { perMessageDeflate: false, createConnection }
  return new WebSocket("ws://localhost/v1/bridge", options) as unknown as Socket
}

/** Bun takes the path of a socket for that of a URL, and writes "%20" for a blank. */
function unreachable(path: string): Failure {
  return Failure(
    "DaemonUnavailable",
    `the runtime of opencode reaches no socket with a name such as ${path}`,
    "set TENON_RUNTIME_DIR to a directory of plain letters, for opencode and for tenon",
  )
}
