/**
 * Gives shells their identity, though the host does not say whose they are: the
 * agent's through a mark in the command, the user's by having none. A shell that
 * may be either gets neither's rights.
 */

import {
  directoryIdentity,
  identityOf,
  maskInherited,
  sessionIdentity,
  shellAids,
  within,
  hookWait,
  type Bridge,
  type Identity,
  type Options,
  type Sessions,
} from "@tenon/bridge"
import type { Events } from "./events.ts"
import type { AfterEvent, BeforeEvent, Context, ShellEvent } from "./host.ts"
import { markTable, processShelf, type Marks } from "./marks.ts"
import { sessionIn } from "./session.ts"

/** What shells are told with. */
export interface ShellRoom {
  bridge(): Bridge
  sessions: Sessions
  options: Options
  env: NodeJS.ProcessEnv
  directory: string
}

/** Nothing of the session is on its way after these. */
const turnOver = /^session\.(execution\.(succeeded|failed|interrupted)|idle|deleted)$/
/** One call has ended, whatever it came to. */
const callOver = /^session\.tool\.(success|failed)$/

/** Registers the three hooks. None of them throws, and none waits longer than 250 ms. */
export async function shells(ctx: Context, events: Events, room: ShellRoom): Promise<void> {
  const marks = markTable(Date.now, processShelf(), room.directory)
  events.on((type, data) => {
    const session = sessionIn(data)
    if (session === undefined) return
    if (turnOver.test(type)) marks.forget(session)
    // A call that another plugin's hook refused has no execute.after.
    if (callOver.test(type)) for (const call of callsIn(data)) marks.ended({ session, call })
  })
  await ctx.tool.hook("execute.before", (event) => markCommand(event, marks, room))
  await ctx.tool.hook("execute.after", (event) => commandEnded(event, marks))
  await ctx.shell.hook("create.before", (event) => giveIdentity(event, marks, room))
}

function markCommand(event: BeforeEvent, marks: Marks, room: ShellRoom): void {
  const command = (event.input as { command?: unknown } | undefined)?.command
  if (event.tool !== "shell" || typeof command !== "string") return
  const { text, token } = marks.put({ session: event.sessionID, call: event.id }, command)
  const marked = { ...(event.input as object), command: text }
  try {
    // Replaced, not changed: the old object may be frozen, and may be the transcript's.
    event.input = marked
  } catch {
    // Read-only: there is no way in this release.
  }
  if (event.input !== marked) return marks.drop(token)
  // Early, so that the ticket is there when the shell starts.
  if (room.bridge().current()) room.sessions.attach(event.sessionID).catch(() => {})
}

/** The call that an event is about, under the names that releases give it. */
function callsIn(data: any): string[] {
  return [data.id, data.callID, data.toolCallID].filter((id) => typeof id === "string")
}

function commandEnded(event: AfterEvent, marks: Marks): void {
  if (event.tool === "shell") marks.ended({ session: event.sessionID, call: event.id })
}

async function giveIdentity(event: ShellEvent, marks: Marks, room: ShellRoom): Promise<void> {
  try {
    const found = marks.take(event.command)
    if (found) event.command = found.command // first: nothing below may keep the mark in
    const identity = await identityFor(found?.mark?.session, found !== undefined || marks.underway(), room)
    const more = additions(event.env, identity, room)
    // The map stays the host's, unless it does not let itself be added to.
    if (Object.isExtensible(event.env)) Object.assign(event.env, more)
    else event.env = { ...event.env, ...more }
  } catch {
    // A shell without an identity is a stranger, and a shell.
  }
}

/** `agents`: without a session it is, or may be, an agent's all the same. */
async function identityFor(
  session: string | undefined,
  agents: boolean,
  room: ShellRoom,
): Promise<Identity | undefined> {
  if (session !== undefined) return sessionIdentity(session, room.sessions, room.bridge())
  if (!agents) return directoryIdentity(room.bridge())
  // Its mark is over, or it has none while an agent's command is on its way: this
  // may be it, with the mark lost to another plugin or never read by the host. It
  // gets no user's rights.
  return within(lostIdentity(room), hookWait)
}

/**
 * A session of its own for agents' shells that cannot be told apart. Without
 * rules of the host, every call of it is asked about.
 */
async function lostIdentity(room: ShellRoom): Promise<Identity | undefined> {
  const hello = await room.bridge().opened(hookWait)
  if (!hello) return undefined
  const session = hello.session.replace(/^dir:/, "agents:")
  const { ticket, socket } = await room.bridge().request("session/attach", {
    session,
    directory: room.directory,
    title: "shells that opencode does not tell apart",
  })
  return identityOf(session, ticket, socket)
}

/**
 * What is added to a shell's variables. What somebody has set for this shell
 * stays, unlike what the host itself was started with: that is an outer
 * session's.
 */
function additions(env: ShellEvent["env"], identity: Identity | undefined, room: ShellRoom): Record<string, string> {
  const isSet = (name: string) => env[name] !== undefined && env[name] !== room.env[name]
  const who = isSet("TENON_SESSION_ID") || isSet("TENON_TICKET") ? {} : (identity ?? maskInherited(room.env))
  const aids = Object.entries(shellAids(room.options, room.env)).filter(([name]) => !isSet(name))
  return { ...who, ...Object.fromEntries(aids) }
}
