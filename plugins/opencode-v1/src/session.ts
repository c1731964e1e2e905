/**
 * Tells the daemon which sessions there are: parent before child, with the
 * agent's rules, again after a reconnect. What is remembered here can be asked
 * for again; the daemon owns the state.
 */

import { wantedEnvironment, type Bridge } from "@tenon/bridge"
import type { AttachResult, Resolved, RuleList } from "@tenon/proto"
import type { Client, HostSession } from "./host.ts"
import { maxDepth } from "./limits.ts"
import { readRules, unconfirmed } from "./rules.ts"

/** A session that the daemon has been told of. */
export interface Attached extends AttachResult {
  rules?: RuleList
}

/** The sessions of one directory's plugin. */
export interface Sessions {
  /** Tells the daemon of a session, unless it knows everything already. Rejects when it cannot. */
  attach(id: string, agent?: string): Promise<Attached>
  /** What the last attach on any connection gave. */
  known(id: string): Attached | undefined
  /** Answers session/resolve. */
  resolve(id: string): Promise<Resolved>
  /** The host changed a session: tells the daemon, if it knows it and something it knows has changed. */
  updated(session: HostSession): void
  /** The host deleted the session. */
  deleted(id: string): void
  /** Tells a new daemon of every session of this one. */
  again(): Promise<void>
}

interface Entry {
  agent?: string
  attached?: Attached
  /** What was last sent, and on which connection: sending it again would change nothing. */
  sent?: string
  running?: Promise<Attached>
  /** What an update of the host must change to matter. */
  seen?: string
}

/** Makes the session table. */
export function sessionTable(client: Client, bridge: () => Bridge, env: NodeJS.ProcessEnv): Sessions {
  const entries = new Map<string, Entry>()

  const entryOf = (id: string): Entry => {
    const entry = entries.get(id) ?? {}
    entries.set(id, entry)
    return entry
  }

  const read = async (id: string): Promise<HostSession | undefined> => {
    const { data } = await client.session.get({ path: { id } })
    return data
  }

  const send = async (id: string, depth: number): Promise<Attached> => {
    const entry = entryOf(id)
    const session = await read(id)
    if (!session) throw new Error(`opencode does not know session ${id}`)
    entry.seen = digest(session)
    if (session.parentID && depth < maxDepth) await attach(session.parentID, undefined, depth + 1)
    const agent = entry.agent ?? session.agent ?? "build"
    const rules = (await readRules(client, session, agent).catch(() => undefined)) ?? unconfirmed(entry.attached?.rules)
    const params = {
      session: id,
      ...(session.parentID ? { parent: session.parentID } : {}),
      directory: session.directory,
      agent,
      ...(session.title ? { title: session.title } : {}),
      env: wantedEnvironment(env, bridge().current()?.wants ?? []),
      ...(rules ? { rules } : {}),
    }
    const key = JSON.stringify([bridge().current()?.connection, params])
    if (entry.attached && entry.sent === key) return entry.attached
    const result = await bridge().request("session/attach", params)
    entry.attached = { ...result, ...(rules ? { rules } : {}) }
    entry.sent = key
    return entry.attached
  }

  const attach = (id: string, agent: string | undefined, depth: number): Promise<Attached> => {
    const entry = entryOf(id)
    const changed = agent !== undefined && agent !== entry.agent
    if (changed) entry.agent = agent
    if (entry.running && !changed) return entry.running
    // After the one that runs: two attaches of a session must not overtake each other.
    const before = entry.running?.catch(() => {}) ?? Promise.resolve()
    const running = before.then(() => send(id, depth))
    entry.running = running
    const done = () => {
      if (entry.running === running) delete entry.running
    }
    running.then(done, done)
    return running
  }

  return {
    attach: (id, agent) => attach(id, agent, 0),
    known: (id) => entries.get(id)?.attached,
    async resolve(id) {
      const session = await read(id).catch(() => undefined)
      if (!session) return { known: false, session: id }
      const agent = entries.get(id)?.agent ?? session.agent ?? "build"
      const rules = await readRules(client, session, agent).catch(() => undefined)
      return {
        known: true,
        session: id,
        ...(session.parentID ? { parent: session.parentID, root: await rootOf(read, session) } : { root: id }),
        directory: session.directory,
        agent,
        ...(rules ? { rules } : {}),
      }
    },
    updated(session) {
      const entry = entries.get(session.id)
      if (!entry?.attached || entry.seen === digest(session)) return // the host updates at every message
      attach(session.id, undefined, 0).catch(() => {}) // told by the next call
    },
    deleted(id) {
      if (!entries.delete(id)) return
      bridge()
        .request("session/detach", { session: id, deleted: true })
        .catch(() => {}) // a lost bridge detaches too
    },
    async again() {
      for (const entry of entries.values()) delete entry.sent
      await Promise.allSettled([...entries.keys()].map((id) => attach(id, undefined, 0)))
    },
  }
}

function digest(session: HostSession): string {
  return JSON.stringify([session.parentID, session.directory, session.title, session.permission])
}

async function rootOf(read: (id: string) => Promise<HostSession | undefined>, session: HostSession): Promise<string> {
  let top = session
  for (let depth = 0; top.parentID && depth < maxDepth; depth++) {
    const parent = await read(top.parentID)
    if (!parent) break
    top = parent
  }
  return top.id
}
