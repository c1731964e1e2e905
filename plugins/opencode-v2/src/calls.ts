/**
 * The calls of tenon's tools that run now. Each has a signal, also in releases
 * that give none: there the session's interrupt event fires it.
 */

import type { Events } from "./events.ts"
import type { ToolContext } from "./host.ts"
import { sessionIn } from "./session.ts"

/** One call while it runs. */
export interface Call {
  ctx: ToolContext
  /** Fires when the user stops it, and when the plugin is unloaded. */
  signal: AbortSignal
  /** Set when the user refused a question of this call without a word: the turn is to end. */
  declined?: boolean
}

/** All of them. */
export interface Calls {
  /** Begins a call; pairs with leave. */
  enter(ctx: ToolContext): Call
  leave(call: Call): void
  /** The call that the host names so, while it runs. */
  find(session: string, id: string | undefined): Call | undefined
  /** Stops all. */
  close(): void
}

/** Makes the table. */
export function callTable(events: Events): Calls {
  const calls = new Map<string, { call: Call; control: AbortController; stop(): void }>()
  events.on((type, data) => {
    if (type !== "session.execution.interrupted") return
    const session = sessionIn(data)
    for (const { call, control } of calls.values()) if (call.ctx.sessionID === session) control.abort()
  })
  return {
    enter(ctx) {
      const control = new AbortController()
      const stop = () => control.abort()
      if (ctx.signal?.aborted) stop()
      ctx.signal?.addEventListener("abort", stop, { once: true }) // removed by leave
      const call = { ctx, signal: control.signal }
      calls.set(keyOf(ctx.sessionID, ctx.id), { call, control, stop })
      return call
    },
    leave({ ctx }) {
      const key = keyOf(ctx.sessionID, ctx.id)
      ctx.signal?.removeEventListener("abort", calls.get(key)?.stop ?? (() => {}))
      calls.delete(key)
    },
    find: (session, id) => (id === undefined ? undefined : calls.get(keyOf(session, id))?.call),
    close() {
      for (const { control } of calls.values()) control.abort()
    },
  }
}

function keyOf(session: string, id: string): string {
  return JSON.stringify([session, id])
}
