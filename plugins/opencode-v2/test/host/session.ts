/** Sessions: where they are, whose rules they have, what they have called. */

import { createHash } from "node:crypto"
import { newID } from "./core.ts"
import { defaultAgent } from "./rules.ts"
import type { CallResult, SessionInput, SessionRef } from "./types.ts"
import type { EventHub } from "./events.ts"
import type { LocationInfo, ModelRef, PermissionRule, SessionInfo } from "./contract.ts"

export interface TranscriptEntry {
  id: string
  tool: string
  input: unknown
  result?: CallResult
}

export interface Session {
  info: SessionInfo
  /** Set over HTTP: the whole environment of the session's shells. */
  environment?: Record<string, string>
  transcript: TranscriptEntry[]
  messages: unknown[]
}

export class SessionStore {
  #sessions = new Map<string, Session>()

  /** @param projects roots of projects. */
  constructor(
    private readonly events: EventHub,
    private readonly projects: readonly string[],
  ) {}

  /** A directory belongs to the longest project root that holds it, else it is its own. */
  projectOf(directory: string): LocationInfo["project"] {
    const holds = (root: string) => directory === root || directory.startsWith(`${root}/`)
    const root = this.projects.filter(holds).sort((a, b) => b.length - a.length)[0] ?? directory
    return { id: createHash("sha1").update(root).digest("hex"), directory: root, canonical: root }
  }

  create(input: SessionInput & { directory: string; metadata?: Record<string, any>; model?: ModelRef }): SessionInfo {
    const parent = input.parentID === undefined ? undefined : this.get(input.parentID).info
    const now = Date.now()
    const info: SessionInfo = {
      id: input.id ?? newID("ses"),
      ...(parent && { parentID: parent.id }),
      projectID: this.projectOf(input.directory).id,
      agent: input.agent ?? parent?.agent ?? defaultAgent,
      model: input.model ?? { providerID: "scripted", id: "scripted-1" },
      title: input.title ?? "New session",
      ...(input.metadata && { metadata: input.metadata }),
      permissions: structuredClone(input.permissions ?? parent?.permissions ?? []),
      location: { directory: input.directory, ...(input.workspaceID && { workspaceID: input.workspaceID }) },
      cost: 0,
      tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
      time: { created: now, updated: now },
    }
    if (this.#sessions.has(info.id)) throw new Error(`Session already exists: ${info.id}`)
    this.#sessions.set(info.id, { info, transcript: [], messages: [] })
    this.#publish("session.created", info, { info })
    return info
  }

  /** @throws when there is none. */
  get(ref: SessionRef): Session {
    const id = typeof ref === "string" ? ref : ref.id
    const session = this.#sessions.get(id)
    if (!session) throw new Error(`Session not found: ${id}`)
    return session
  }

  find(id: string): Session | undefined {
    return this.#sessions.get(id)
  }

  update(id: string, change: { title?: string; metadata?: Record<string, any>; permissions?: PermissionRule[] }): void {
    const { info } = this.get(id)
    if (change.title !== undefined) info.title = change.title
    if (change.metadata !== undefined) info.metadata = change.metadata
    // The whole list: what was there before is gone.
    if (change.permissions !== undefined) info.permissions = structuredClone(change.permissions)
    info.time.updated = Date.now()
    if (change.permissions) this.#publish("session.permissions", info, { permissions: info.permissions })
    this.#publish("session.updated", info, { info })
  }

  move(id: string, directory: string, workspaceID?: string): void {
    const { info } = this.get(id)
    info.location = { directory, ...(workspaceID && { workspaceID }) }
    info.projectID = this.projectOf(directory).id
    this.#publish("session.moved", info, { location: info.location })
  }

  remove(id: string): void {
    const { info } = this.get(id)
    this.#sessions.delete(id)
    this.#publish("session.deleted", info, { info })
  }

  /** Publishes with the session's id and place. */
  #publish(type: string, info: SessionInfo, data: object): void {
    this.events.publish(type, { sessionID: info.id, ...data }, info.location)
  }
}
