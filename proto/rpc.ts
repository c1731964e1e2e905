/**
 * The envelope of the bridge: JSON-RPC 2.0, one message a WebSocket text frame.
 * Twin of rpc.go; both are held against schema/rpc.json by their tests.
 */

import type { Error } from "./result.ts"

/**
 * RPCMessage is one frame of the bridge: a request (method and id), a notification (method only), or a
 * response (id, and result or error).
 */
export interface RPCMessage {
  jsonrpc: "2.0"
  /** number or string, chosen by the sender of the request */
  id?: number | string
  method?: string
  params?: unknown
  result?: unknown
  error?: RPCError
}

/**
 * RPCError is the failure of one request. Data is always there in an answer of tenon's; a host's own
 * failure may come without.
 */
export interface RPCError {
  code: number
  message: string
  data?: Error
}

/** Done answers a request that has nothing to say. */
export interface Done {}
