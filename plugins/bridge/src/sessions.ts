/**
 * Tells the daemon which sessions there are: parent before child, with the
 * agent's rules, again after a reconnect. What is remembered here can be asked
 * for again; the daemon owns the state.
 */

import type { AttachResult, Resolved, Rule, RuleList } from "@tenon/proto"
import type { Bridge } from "./bridge.ts"
import { wantedEnvironment } from "./environment.ts"
import { maxDepth, maxSessions } from "./limits.ts"
import { listRules, unconfirmed } from "./rules.ts"

/** A session as its host knows it. */
export interface SessionFacts {
  id: string
  parentID?: string
  directory: string
  title?: string
  agent?: string
  /** The session's own rules, which stand behind its agent's. */
  rules?: Rule[]
}

/** Where the table reads what is true now. */
export interface SessionSource {
  /** Undefined when the host does not know the session; a rejection counts as that too. */
  session(id: string): Promise<SessionFacts | undefined>
  /** An agent's merged rules. Undefined when the host does not answer or does not know the agent. */
  agentRules(agent: string, directory: string): Promise<Rule[] | undefined>
}

/** A session that the daemon has been told of. */
export interface Attached extends AttachResult {
  /** As the host gave it at the last attach. */
  directory: string
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
  updated(session: SessionFacts): void
  /** The rules of a session may be others now: tells the daemon, if it knows the session and they are. */
  rulesChanged(id: string, agent?: string): Promise<void>
  /** The host deleted the session. */
  deleted(id: string): void
  /** The session is another instance's now. */
  left(id: string): void
  /** Tells a new daemon of every session of this one. */
  again(): Promise<void>
  /** The sessions that the daemon was told of, for whoever takes over. */
  ids(): string[]
  /** Takes over sessions, which are told of at the next connection. */
  adopt(ids: string[]): void
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

/** The agent of a session that names none. */
const defaultAgent = "build"

/** Makes the session table. */
export function sessionTable(source: SessionSource, bridge: () => Bridge, env: NodeJS.ProcessEnv): Sessions {
  const entries = new Map<string, Entry>()

  const entryOf = (id: string): Entry => {
    const entry = entries.get(id) ?? {}
    entries.delete(id)
    entries.set(id, entry) // the last of the map was used last
    if (entries.size > maxSessions) entries.delete(entries.keys().next().value!)
    return entry
  }

  const read = (id: string) => source.session(id).catch(() => undefined)

  const rulesOf = async (session: SessionFacts, agent: string): Promise<RuleList | undefined> => {
    const rules = await source.agentRules(agent, session.directory).catch(() => undefined)
    return rules && listRules(agent, [...rules, ...(session.rules ?? [])])
  }

  const send = async (id: string, depth: number): Promise<Attached> => {
    const entry = entryOf(id)
    const session = await source.session(id)
    if (!session) throw new Error(`opencode does not know session ${id}`)
    entry.seen = digest(session)
    const parent = session.parentID && !(await inCircle(read, session)) ? session.parentID : undefined
    if (parent && depth < maxDepth) await attach(parent, undefined, depth + 1)
    const agent = entry.agent ?? session.agent ?? defaultAgent
    const rules = (await rulesOf(session, agent)) ?? unconfirmed(entry.attached?.rules)
    const params = {
      session: id,
      ...(parent ? { parent } : {}),
      directory: session.directory,
      agent,
      ...(session.title ? { title: session.title } : {}),
      env: wantedEnvironment(env, bridge().current()?.wants ?? []),
      ...(rules ? { rules } : {}),
    }
    const key = JSON.stringify([bridge().current()?.connection, params])
    if (entry.attached && entry.sent === key) return entry.attached
    const result = await bridge().request("session/attach", params)
    entry.attached = { ...result, directory: session.directory, ...(rules ? { rules } : {}) }
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

  const detach = (id: string, deleted: boolean) => {
    if (!entries.delete(id)) return
    bridge()
      .request("session/detach", { session: id, deleted })
      .catch(() => {}) // a lost bridge detaches too
  }

  return {
    attach: (id, agent) => attach(id, agent, 0),
    known: (id) => entries.get(id)?.attached,
    async resolve(id) {
      const session = await read(id)
      if (!session) return { known: false, session: id }
      const agent = entries.get(id)?.agent ?? session.agent ?? defaultAgent
      const rules = await rulesOf(session, agent)
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
      if (!entry?.attached || entry.seen === digest(session)) return // v1 updates at every message
      attach(session.id, undefined, 0).catch(() => {}) // told by the next call
    },
    async rulesChanged(id, agent) {
      const entry = entries.get(id)
      if (!entry) return
      if (agent !== undefined) entry.agent = agent
      await entry.running?.catch(() => {})
      const { attached } = entry
      if (!attached || !bridge().current()) return // told by the next attach
      const session = await read(id)
      const rules =
        (session && (await rulesOf(session, entry.agent ?? session.agent ?? defaultAgent))) ??
        unconfirmed(attached.rules)
      if (!rules || (rules.version === attached.rules?.version && rules.confirmed === attached.rules.confirmed)) return
      delete entry.sent // the next attach carries all of it again
      attached.rules = rules
      await bridge().request("rules/changed", { session: id, rules })
    },
    deleted: (id) => detach(id, true),
    left: (id) => detach(id, false),
    async again() {
      for (const entry of entries.values()) delete entry.sent
      await Promise.allSettled([...entries.keys()].map((id) => attach(id, undefined, 0)))
    },
    ids: () => [...entries.keys()],
    adopt(ids) {
      for (const id of ids) entryOf(id)
    },
  }
}

function digest(session: SessionFacts): string {
  return JSON.stringify([session.parentID, session.directory, session.title, session.rules])
}

type Read = (id: string) => Promise<SessionFacts | undefined>

/** The sessions above one, nearest first, `most` at most; a host that tells a circle ends it. */
async function* above(read: Read, session: SessionFacts, most = maxDepth): AsyncGenerator<SessionFacts> {
  const met = new Set([session.id])
  let top = session
  for (let depth = 0; top.parentID && depth < most; depth++) {
    const parent = await read(top.parentID)
    if (!parent) return
    yield (top = parent)
    if (met.has(parent.id)) return
    met.add(parent.id)
  }
}

async function rootOf(read: Read, session: SessionFacts): Promise<string> {
  let root = session.id
  for await (const each of above(read, session)) root = each.id
  return root
}

/**
 * Whether a session is its own ancestor: attached parent first, it would wait for itself. However far the
 * circle reaches, since another attach may have begun anywhere in it.
 */
async function inCircle(read: Read, session: SessionFacts): Promise<boolean> {
  for await (const each of above(read, session, maxSessions)) if (each.id === session.id) return true
  return false
}
