/** Records what the host's own tools came to, so that tenon's history shows a session's work in one place. */

import type { Bridge } from "@tenon/bridge"
import type { HostEvent } from "./host.ts"

/** Members that a part of a tool should have. */
interface ToolPart {
  type?: unknown
  tool?: unknown
  callID?: unknown
  sessionID?: unknown
  messageID?: unknown
  state?: { status?: unknown; time?: { start?: unknown; end?: unknown } | null } | null
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
      if (event.type !== "message.part.updated") return
      const part = event.properties?.part as ToolPart | null | undefined
      if (part?.type !== "tool" || part.state?.status !== "error") return
      const { tool, callID: call, sessionID: session, messageID: message } = part
      if (!isName(tool) || !isName(call) || !isName(session) || isOurs(tool) || told.has(call)) return
      told.add(call)
      if (told.size > remembered) told.delete(told.values().next().value!)
      const { start, end } = part.state.time ?? {}
      bridge().notify("tool/outcome", {
        origin: { session, call, ...(isName(message) ? { message } : {}) },
        tool,
        status: "error",
        ...(typeof start === "number" && typeof end === "number" ? { ms: Math.max(0, Math.round(end - start)) } : {}),
      })
    },
  }
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== ""
}
