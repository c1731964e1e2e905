/**
 * A connection that outlives its daemon: found or started, greeted, lost, found
 * again. Whoever needs it waits with a bound; nothing here keeps a host waiting.
 */

import { protocol, type Hello, type HelloResult, type Methods } from "@tenon/proto"
import { startDaemon } from "./daemon.ts"
import { Failure, isFailure } from "./failure.ts"
import { rpc, type Handlers, type RequestOptions, type Rpc } from "./rpc.ts"
import { openSocket } from "./socket.ts"
import { watch } from "./watch.ts"
import { within } from "./within.ts"

/** What a bridge needs to know of its host. */
export interface BridgeOptions {
  /** The tenon program: a path, or a name to be found in PATH. */
  bin: string
  /** The host's environment, in which the program runs: it decides what TENON_SOCKET and its like mean. */
  env: NodeJS.ProcessEnv
  hello: Omit<Hello, "protocol">
  handlers: Handlers
  /** Runs after each hello and before `opened` resolves: tells the daemon again what it must know. */
  onOpen?(hello: HelloResult): Promise<void>
  /** After how many milliseconds of silence a daemon that is waited for is asked for a sign of life; see watch.ts. */
  silence?: number
}

/** A bridge to the daemon. */
export interface Bridge {
  /** The daemon's hello once connected, or undefined after `ms` milliseconds. */
  opened(ms: number): Promise<HelloResult | undefined>
  /** The present connection's hello, or undefined. */
  current(): HelloResult | undefined
  /** Sends a request on the present connection; fails with DaemonUnavailable when there is none. */
  request<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options?: RequestOptions,
  ): Promise<Methods[M]["result"]>
  /** Sends a notification if there is a connection. */
  notify<M extends keyof Methods>(method: M, params: Methods[M]["params"]): void
  /** Why there is no connection. */
  problem(): Failure
  /** Ends the connection for good. */
  close(): Promise<void>
}

/** Waits between attempts, in milliseconds; the last one repeats. */
const backoff = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000]
/** From the socket's open to the daemon's hello. */
const helloTimeout = 5_000
/** How long a close waits for the daemon's answer. */
const closeTimeout = 200

/** What is to be done about a daemon that does not answer. */
const silent =
  "it may be stopped or hang, and whether what was running has taken effect is unknown; tenon daemon status looks, tenon daemon stop --force ends it"

interface Open {
  hello: HelloResult
  rpc: Rpc
  close(): Promise<void>
}

/** Begins to connect, at once and in the background. */
export function connect(options: BridgeOptions): Bridge {
  let open: Open | undefined
  let attempt: Promise<Open> | undefined // the one that runs
  let problem = Failure("DaemonUnavailable", "the tenon daemon is not connected yet")
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let closed = false
  const closing = new AbortController()

  const lost = (why: Failure) => {
    open = undefined
    problem = why
    retry()
  }

  const retry = () => {
    if (closed) return
    clearTimeout(timer)
    timer = setTimeout(() => void now().catch(() => {}), backoff[Math.min(failures, backoff.length - 1)]!)
    timer.unref()
  }

  const now = (): Promise<Open> => {
    if (closed) return Promise.reject(Failure("DaemonUnavailable", "the plugin was closed"))
    if (open) return Promise.resolve(open)
    clearTimeout(timer)
    attempt ??= dial(options, closing.signal, lost, (found) => (open = found))
      .then((found) => {
        failures = 0
        if (closed) void found.close()
        return found
      })
      .catch((error: unknown) => {
        failures++
        open = undefined
        if (closed) throw error
        problem = isFailure(error) ? error : Failure("DaemonUnavailable", `no tenon daemon: ${String(error)}`)
        retry()
        throw problem
      })
      .finally(() => (attempt = undefined))
    return attempt
  }

  void now().catch(() => {}) // kept in `problem`

  return {
    opened: async (ms) => (await within(now(), ms))?.hello,
    current: () => open?.hello,
    request: (method, params, how) => (open ? open.rpc.request(method, params, how) : Promise.reject(problem)),
    notify: (method, params) => open?.rpc.notify(method, params),
    problem: () => problem,
    async close() {
      closed = true
      clearTimeout(timer)
      closing.abort()
      await open?.close()
    },
  }
}

/**
 * One attempt: the program's word, then hello. `greeted` is
 * called between hello and onOpen, so that onOpen can already send.
 */
async function dial(
  options: BridgeOptions,
  closing: AbortSignal,
  lost: (why: Failure) => void,
  greeted: (open: Open) => void,
): Promise<Open> {
  const path = await startDaemon(options.bin, options.env, closing)
  if (closing.aborted) throw Failure("DaemonUnavailable", "the plugin was closed")
  const socket = await openSocket(path)
  let isOpen = false
  let end = (_why: Failure) => {}
  const life = watch(
    {
      waits: () => connection.waiting() > 0,
      ask: () => connection.ask(),
      dead: () => end(Failure("DaemonUnavailable", "the tenon daemon does not answer", silent)),
    },
    options.silence,
  )
  const connection = rpc(socket, options.handlers, life.heard)
  const gone = new Promise<void>((resolve) => {
    end = (why) => {
      end = () => {}
      life.end()
      connection.end(why)
      socket.terminate() // of one that hangs no more is heard
      if (isOpen) lost(why)
      resolve()
    }
    socket.onclose = (event) =>
      end(
        Failure(
          "DaemonUnavailable",
          `the connection to the tenon daemon was lost${event.reason ? `: ${event.reason}` : ""}`,
          "what was running has ended; try again",
        ),
      )
  })
  socket.onerror = () => {} // onclose follows and says all there is
  const opening = new Promise<void>((resolve) => {
    socket.onopen = () => resolve()
    void gone.then(resolve)
  })
  if (
    !(await within(
      opening.then(() => true),
      helloTimeout,
    ))
  ) {
    const why = refusal(undefined, options.hello.build.version)
    end(why)
    throw why
  }
  const hello = await within(
    connection.request("bridge/hello", { protocol, ...options.hello }).catch((failure: Failure) => failure),
    helloTimeout,
  )
  if (hello === undefined || isFailure(hello) || hello.protocol !== protocol) {
    end(Failure("DaemonUnavailable", "the tenon daemon refused this plugin"))
    throw refusal(hello, options.hello.build.version)
  }
  const open: Open = {
    hello,
    rpc: connection,
    close: async () => {
      socket.close(1000, "")
      await within(gone, closeTimeout)
      socket.terminate() // a daemon that hangs says no goodbye
    },
  }
  isOpen = true
  greeted(open)
  await options.onOpen?.(hello).catch(() => {}) // what could not be told is told by the next call
  return open
}

function refusal(hello: HelloResult | Failure | undefined, version: string): Failure {
  if (hello === undefined) return Failure("DaemonUnavailable", "the tenon daemon did not answer within 5 s")
  if (isFailure(hello)) return hello
  return Failure(
    "ProtocolMismatch",
    `the tenon daemon ${hello.build.version} speaks protocol ${hello.protocol}, this plugin ${version} speaks ${protocol}`,
    "run tenon opencode install with the newer of the two",
  )
}
