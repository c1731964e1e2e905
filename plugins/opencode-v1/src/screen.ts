/**
 * Questions that no tool call can ask, those of scripts from bash and the forms
 * of servers, at tenon's entry in the TUI. opencode runs the TUI and its plugins in two threads of one
 * process; a broadcast channel is the line between them, and ends at the process.
 */

import { askLine, plain, plainJSON, type Bridge, type Field, type LineAnswer } from "@tenon/bridge"
import type { Ask, AskReply, Question } from "@tenon/proto"
import { openChannel } from "./channel.ts"

/** The line. */
export interface ScreenLine {
  /** Asks. "unavailable" when no TUI shows it, or it was taken back. */
  ask(params: Ask): Promise<AskReply>
  /** Has a form filled in, or a page consented to. Undefined when no TUI shows it, or it was taken back. */
  fill(params: Question, message: string, fields: Field[], url?: string): Promise<LineAnswer | undefined>
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
      if (message?.to !== "plugin" || !message.data) return
      const { id, ...given } = message.data
      if (message.method === "shown") line.shown(id)
      else line.answer(id, given)
    }
  }
  const put = async (data: { id: string; [more: string]: unknown }): Promise<LineAnswer | undefined> => {
    const control = new AbortController()
    open.set(data.id, control)
    try {
      return await line.put(data, control.signal, () => bridge().notify("permission/shown", { id: data.id }))
    } finally {
      open.delete(data.id)
    }
  }
  return {
    async ask({ id, origin, key, server, tool, arguments: args }) {
      const details = { server, tool, ...(args === undefined ? {} : { arguments: args }) }
      const given = await put({
        id,
        session: origin.session,
        title: plain(`Call tool ${key}`, 200),
        message: plainJSON(details),
        always: true,
      })
      if (!given?.reply) return { reply: "unavailable" }
      return given.feedback ? { reply: given.reply, feedback: given.feedback } : { reply: given.reply }
    },
    fill({ id, origin, server }, message, fields, url) {
      const title = plain(`${server} asks`, 200)
      return put({ id, session: origin.session, title, message, fields, ...(url ? { url } : {}) })
    },
    withdraw: (id) => open.get(id)?.abort(),
    close() {
      for (const control of open.values()) control.abort()
      // After the withdrawals, which are sent in the turns of the loop to come.
      setTimeout(() => channel?.close(), 0)
    },
  }
}
