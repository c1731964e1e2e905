/** What all locations of a host share. */

import { randomBytes } from "node:crypto"
import type { HostConfig, LogEntry } from "./types.ts"
import type { Release, Switches } from "./switches.ts"
import type { EventHub } from "./events.ts"
import type { Permissions } from "./permission.ts"
import type { SessionStore } from "./session.ts"
import type { ScriptedUser } from "./user.ts"
import type { Storage } from "./storage.ts"
import type { Processes } from "./process.ts"
import type { Rpc } from "./rpc.ts"
import type { Turns } from "./turn.ts"

export interface Core {
  readonly release: Release
  readonly switches: Switches
  readonly config: HostConfig
  readonly env: Record<string, string | undefined>
  readonly log: Log
  readonly events: EventHub
  readonly permissions: Permissions
  readonly sessions: SessionStore
  readonly user: ScriptedUser
  readonly storage: Storage
  readonly processes: Processes
  readonly rpc: Rpc
  readonly turns: Turns
  generate(input: { prompt: string; sessionID?: string }): Promise<string>
  admit(sessionID: string, text: string): Promise<{ text: string }>
}

export class Log {
  readonly entries: LogEntry[] = []

  warn(message: string, detail?: unknown): void {
    this.entries.push({ level: "warn", message, detail })
  }

  error(message: string, detail?: unknown): void {
    this.entries.push({ level: "error", message, detail })
  }
}

/** An id as the host makes them: the prefix says of what. */
export function newID(prefix: "ses" | "msg" | "per" | "evt" | "frm" | "err" | "call"): string {
  return `${prefix}_${randomBytes(prefix === "err" ? 4 : 10).toString("hex")}`
}

/** The message of anything that can be thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
