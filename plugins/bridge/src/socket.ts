/**
 * A WebSocket on a unix socket. Bun's own WebSocket opens ws+unix addresses, and
 * is the only one that works there: the ws package needs an HTTP upgrade event
 * that Bun 1.3 does not give. Node has none that does, so it uses the package.
 */

/** What both WebSockets have in common, and all that is used of them. */
export interface Socket {
  onopen: (() => void) | null
  onmessage: ((event: { data: unknown }) => void) | null
  onclose: ((event: { code: number; reason: string }) => void) | null
  onerror: ((event: unknown) => void) | null
  send(text: string): void
  close(code?: number, reason?: string): void
}

/** Begins to connect to /v1/bridge on a unix socket; `path` is absolute. */
export async function openSocket(path: string): Promise<Socket> {
  const address = `ws+unix://${path}:/v1/bridge`
  if (process.versions.bun) return new globalThis.WebSocket(address) as unknown as Socket
  const { WebSocket } = await import("ws")
  return new WebSocket(address, { perMessageDeflate: false }) as unknown as Socket
}
