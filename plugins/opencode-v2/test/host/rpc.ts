/** Calls between plugins, and from clients to plugins: the last registration of an id answers. */

import { decode } from "./schema.ts"
import { feed, type EventHub } from "./events.ts"
import { messageOf } from "./core.ts"
import { strict } from "./strict.ts"
import type { Instance } from "./instance.ts"
import type { RpcClient, RpcDefinition, RpcDomain, RpcHandler, RpcRegistration } from "./contract.ts"

interface Registered {
  directory: string
  definition: RpcDefinition
  handlers: Record<string, RpcHandler>
  /** Aborts its running handlers. */
  end: AbortController
}

/** A failure with a type: the definition's own, or one of the host's that start with `rpc.`. */
export class RpcError extends Error {
  constructor(
    readonly type: string,
    message: string,
    readonly data?: unknown,
  ) {
    super(message)
  }
}

export class Rpc {
  #registered: Registered[] = []

  constructor(
    private readonly events: EventHub,
    private readonly strictContext: boolean,
  ) {}

  /** `ctx.rpc` of a plugin. */
  domain(instance: Instance, directory: string): RpcDomain {
    const client = (definition: RpcDefinition) =>
      this.client(directory, definition, (end) => void instance.scope.add(end))
    const register = async (definition: RpcDefinition, handlers: Record<string, RpcHandler>) => {
      if (instance.scope.closed) throw new Error(`plugin ${instance.id} is not active`)
      const entry: Registered = { directory, definition, handlers, end: new AbortController() }
      this.#registered.push(entry)
      const remove = instance.scope.add(() => {
        this.#registered = this.#registered.filter((other) => other !== entry)
        entry.end.abort(new Error("unregistered"))
      })
      const emit = async (name: string, data: unknown) => {
        const schema = definition.events?.[name]?.schema
        if (!schema) throw new Error(`rpc ${definition.id} has no event ${name}`)
        this.events.publish(`rpc.${definition.id}.${name}`, await decode(schema, asJson(data)), { directory })
      }
      return Object.freeze<RpcRegistration>({ dispose: remove.dispose, events: { emit } })
    }
    return strict("rpc", Object.assign(client, { register }) as RpcDomain, [], this.strictContext)
  }

  /** The methods of a definition, for a caller in a location. */
  client(directory: string, definition: RpcDefinition, closed: (end: () => void) => void): RpcClient {
    const type = (name: string) => `rpc.${definition.id}.${name}`
    const listen = (name: string, push: (data: any) => void) =>
      this.events.listen((event) => {
        if (event.type === type(name) && event.location?.directory === directory) push(structuredClone(event.data))
      })
    const events: RpcClient["events"] = {
      on: (name, handler, options) => {
        const off = listen(name, handler)
        options?.signal?.addEventListener("abort", off, { once: true })
        closed(off)
        return off
      },
      subscribe: (name, options) => feed((push) => listen(name, push), options?.signal, closed),
    }
    const methods = Object.keys(definition.methods).map((method) => [
      method,
      (input?: unknown, options?: { signal?: AbortSignal }) =>
        this.call(directory, definition.id, method, input, options?.signal),
    ])
    return { ...Object.fromEntries(methods), events }
  }

  /** @throws RpcError */
  async call(directory: string, id: string, method: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
    const entry = this.#registered.findLast((one) => one.directory === directory && one.definition.id === id)
    const shape = entry?.definition.methods[method]
    const handler = entry?.handlers[method]
    if (!entry || !shape || !handler)
      throw new RpcError("rpc.unavailable", `no handler of ${id}.${method} is registered`)
    const given = await attempt("rpc.input", () => decode(shape.input, asJson(input)))
    const ended = signal ? AbortSignal.any([signal, entry.end.signal]) : entry.end.signal
    const error = (type: string, message: string, data?: unknown) => {
      if (type.startsWith("rpc.")) throw new Error(`error types that start with rpc. are reserved: ${type}`)
      return new RpcError(type, message, asJson(data))
    }
    const answer = await abortable(ended, () => handler(given, { signal: ended, error }))
    if (answer instanceof RpcError) throw answer
    return attempt("rpc.output", () => decode(shape.output, asJson(answer)))
  }
}

async function attempt<T>(type: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new RpcError(type, messageOf(error))
  }
}

/** A caller that has gone is not kept waiting by a handler that does not listen. */
async function abortable<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  let off = () => {}
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(new RpcError("rpc.aborted", "the call was aborted"))
    signal.addEventListener("abort", abort, { once: true })
    off = () => signal.removeEventListener("abort", abort)
    if (signal.aborted) abort()
  })
  try {
    return await Promise.race([work(), aborted])
  } catch (error) {
    throw error instanceof RpcError ? error : new RpcError("rpc.failed", messageOf(error))
  } finally {
    off()
  }
}

function asJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
