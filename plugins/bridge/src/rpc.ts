/**
 * JSON-RPC 2.0 over one connection: the table of what is pending in both
 * directions. Responses settle as they are read; each request of the daemon runs
 * by itself.
 */

import { check, paramsType, resultType, type Error as WireError, type Methods, type RPCMessage } from "@tenon/proto"
import { Failure, isFailure } from "./failure.ts"
import type { Socket } from "./socket.ts"

/** What the plugin does when the daemon asks: parameters in, result out. */
export type Handlers = {
  [M in keyof Methods]?: (
    params: Methods[M]["params"],
    signal: AbortSignal,
  ) => Promise<Methods[M]["result"]> | Methods[M]["result"]
}

/** How one request is waited for. */
export interface RequestOptions {
  /** Its abort sends $/cancelRequest with reason "user". */
  signal?: AbortSignal
  /** How long the answer is still waited for after the abort, in milliseconds; 0 by default. */
  grace?: number
}

/** One connection. */
export interface Rpc {
  request<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options?: RequestOptions,
  ): Promise<Methods[M]["result"]>
  notify<M extends keyof Methods>(method: M, params: Methods[M]["params"]): void
  /** How many requests wait for their answer. */
  waiting(): number
  /** Asks for any answer at all; nobody waits for it. */
  ask(): void
  /** Ends everything that is pending, both ways, with this failure. */
  end(failure: Failure): void
}

interface Pending {
  resolve(value: unknown): void
  reject(failure: Failure): void
  type: string | undefined
}

/** Speaks JSON-RPC over an open socket, whose messages it takes over. `heard` is told of each. */
export function rpc(socket: Socket, handlers: Handlers, heard: () => void): Rpc {
  const pending = new Map<number, Pending>()
  const handling = new Map<number | string, AbortController>()
  let last = 0
  let ended: Failure | undefined

  const send = (message: Omit<RPCMessage, "jsonrpc">) => write(frameOf(message))

  const write = (frame: string) => {
    if (!ended) socket.send(frame)
  }

  const settle = (message: RPCMessage) => {
    const waiting = pending.get(message.id as number)
    if (!waiting) return // nobody waits any more: late
    pending.delete(message.id as number)
    if (message.error) return waiting.reject(fromWire(message.error.message, message.error.data))
    try {
      waiting.resolve(waiting.type ? check(waiting.type, message.result) : undefined)
    } catch (error) {
      waiting.reject(Failure("InternalError", `the daemon's answer was not understood: ${(error as Error).message}`))
    }
  }

  const serve = async (message: RPCMessage) => {
    const method = message.method as keyof Methods
    const control = new AbortController()
    if (message.id !== undefined) handling.set(message.id, control)
    try {
      const result = await answer(handlers, method, message.params, control.signal)
      if (message.id !== undefined) send({ id: message.id, result: result ?? {} })
    } catch (error) {
      if (message.id !== undefined) send({ id: message.id, error: toWire(error) })
    } finally {
      if (message.id !== undefined) handling.delete(message.id)
    }
  }

  socket.onmessage = (event) => {
    heard()
    let message: RPCMessage
    try {
      message = check<RPCMessage>("RPCMessage", JSON.parse(String(event.data)))
    } catch {
      return // not ours to answer: it has no id that could be believed
    }
    if (message.method === "$/cancelRequest") {
      const cancel = message.params as Methods["$/cancelRequest"]["params"]
      return handling.get(cancel?.id)?.abort(cancel.reason)
    }
    if (message.method !== undefined) return void serve(message)
    settle(message)
  }

  return {
    notify: (method, params) => send({ method, params }),
    waiting: () => pending.size,
    ask: () => send({ id: ++last, method: "status/get", params: { session: "" } }),
    end(failure) {
      if (ended) return
      ended = failure
      for (const waiting of pending.values()) waiting.reject(failure)
      for (const control of handling.values()) control.abort(failure.message)
      pending.clear()
    },
    request(method, params, options = {}) {
      const { signal, grace = 0 } = options
      if (ended) return Promise.reject(ended)
      if (signal?.aborted) return Promise.reject(Failure("Cancelled", "cancelled"))
      const id = ++last
      let frame: string
      try {
        frame = frameOf({ id, method, params })
      } catch (error) {
        return Promise.reject(Failure("UsageError", `${method} cannot be sent as JSON: ${messageOf(error)}`))
      }
      return new Promise<never>((resolve, reject) => {
        let timer: ReturnType<typeof setTimeout> | undefined
        const onAbort = () => {
          send({ method: "$/cancelRequest", params: { id, reason: "user" } })
          timer = setTimeout(() => {
            pending.delete(id)
            done()
            reject(Failure("Cancelled", "cancelled"))
          }, grace)
        }
        const done = () => {
          clearTimeout(timer)
          signal?.removeEventListener("abort", onAbort)
        }
        pending.set(id, {
          type: resultType(method),
          resolve: (value) => (done(), resolve(value as never)),
          reject: (failure) => (done(), reject(failure)),
        })
        signal?.addEventListener("abort", onAbort, { once: true }) // removed by done
        write(frame)
      })
    },
  }
}

async function answer(handlers: Handlers, method: keyof Methods, params: unknown, signal: AbortSignal) {
  const handler = handlers[method] as ((params: unknown, signal: AbortSignal) => unknown) | undefined
  const type = paramsType(method)
  if (!handler || !type) throw Failure("UsageError", `no method "${method}"`)
  try {
    check(type, params)
  } catch (error) {
    throw Failure("UsageError", `parameters: ${(error as Error).message}`)
  }
  return await handler(params, signal)
}

function toWire(thrown: unknown): NonNullable<RPCMessage["error"]> {
  const failure = isFailure(thrown) ? thrown : Failure("InternalError", `the plugin failed: ${messageOf(thrown)}`)
  const data: WireError = failure.wire ?? { kind: failure.kind, message: failure.message, hint: failure.hint }
  return { code: failure.kind === "UsageError" ? -32602 : -32000, message: failure.message, data }
}

function fromWire(message: string, data: WireError | undefined): Failure {
  if (!data) return Failure("InternalError", message)
  return Failure(data.kind, data.message, data.hint, data)
}

/** One message as it is sent. Throws for what is nested too deeply, or is no JSON. */
function frameOf(message: Omit<RPCMessage, "jsonrpc">): string {
  return JSON.stringify({ jsonrpc: "2.0", ...message })
}

/** What was thrown, in words; not everything that can be thrown can be made a text. */
function messageOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown)
  } catch {
    return "for a reason that cannot be told"
  }
}
