/** Records what the host's own tools came to, so that tenon's history shows a session's work in one place. */

import type { Bridge } from "@tenon/bridge"
import type { HostEvent } from "./host.ts"

interface ToolPart {
  type?: string
  tool?: string
  callID?: string
  sessionID?: string
  messageID?: string
  state?: { status?: string; time?: { start?: number; end?: number } }
}

/** Outcomes of one directory's plugin. */
export interface Outcomes {
  /** tool.execute.after, which the host fires for successes only. */
  succeeded(tool: string, session: string, call: string, title: string | undefined): void
  /** Part updates, the only word about failures. */
  onEvent(event: HostEvent): void
}

/** A part is updated again after its end; so many calls are remembered not to tell of one twice. */
const remembered = 256

/** Makes the recorder. tenon's own tools have runs and calls of their own there. */
export function outcomes(bridge: () => Bridge): Outcomes {
  const told = new Set<string>()
  const isOurs = (tool: string) => tool.startsWith("tenon_")
  return {
    succeeded(tool, session, call, title) {
      if (isOurs(tool)) return
      bridge().notify("tool/outcome", { origin: { session, call }, tool, status: "ok", ...(title ? { title } : {}) })
    },
    onEvent(event) {
      const part = event.type === "message.part.updated" ? (event.properties.part as ToolPart) : undefined
      if (part?.type !== "tool" || part.state?.status !== "error") return
      if (!part.tool || !part.callID || !part.sessionID || isOurs(part.tool) || told.has(part.callID)) return
      told.add(part.callID)
      if (told.size > remembered) told.delete(told.values().next().value!)
      const { start, end } = part.state.time ?? {}
      bridge().notify("tool/outcome", {
        origin: { session: part.sessionID, call: part.callID, ...(part.messageID ? { message: part.messageID } : {}) },
        tool: part.tool,
        status: "error",
        ...(start !== undefined && end !== undefined ? { ms: Math.max(0, Math.round(end - start)) } : {}),
      })
    },
  }
}
