/**
 * Questions that no tool call can ask, those of scripts from bash, at tenon's
 * entry in the TUI. opencode runs the TUI and its plugins in two threads of one
 * process; a broadcast channel is the line between them, and ends at the process.
 */

import { askLine, plain, plainJSON, type Bridge } from "@tenon/bridge"
import type { Ask, AskReply } from "@tenon/proto"
import { openChannel } from "./channel.ts"

/** The line. */
export interface ScreenLine {
  /** Asks. "unavailable" when no TUI shows it, or it was taken back. */
  ask(params: Ask): Promise<AskReply>
  withdraw(id: string): void
  /** Takes everything back. */
  close(): void
}

/** Opens the line; a runtime without channels has none. */
export function openScreen(bridge: () => Bridge): ScreenLine {
  const channel = openChannel()
  const open = new Map<string, AbortController>()
  const line = askLine(async (event, data) => {
    channel?.postMessage({ to: "tui", event, data })
    return channel !== undefined
  })
  if (channel) {
    channel.onmessage = ({ data: message }) => {
      if (message?.to !== "plugin") return
      const { id, ...given } = message.data
      if (message.method === "shown") line.shown(id)
      else line.answer(id, given)
    }
  }
  return {
    async ask({ id, origin, key, server, tool, arguments: args }) {
      const control = new AbortController()
      open.set(id, control)
      try {
        const details = { server, tool, ...(args === undefined ? {} : { arguments: args }) }
        const data = {
          id,
          session: origin.session,
          title: plain(`Call tool ${key}`, 200),
          message: plainJSON(details),
          always: true,
        }
        const shown = () => bridge().notify("permission/shown", { id })
        const given = await line.put(data, control.signal, shown)
        if (!given?.reply) return { reply: "unavailable" }
        return given.feedback ? { reply: given.reply, feedback: given.feedback } : { reply: given.reply }
      } finally {
        open.delete(id)
      }
    },
    withdraw: (id) => open.get(id)?.abort(),
    close() {
      for (const control of open.values()) control.abort()
      // After the withdrawals, which are sent in the turns of the loop to come.
      setTimeout(() => channel?.close(), 0)
    },
  }
}
