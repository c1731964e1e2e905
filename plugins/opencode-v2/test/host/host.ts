/** Puts a host together. */

import { EventHub } from "./events.ts"
import { Loader } from "./loader.ts"
import { Locations } from "./locations.ts"
import { Log, type Core } from "./core.ts"
import { Permissions } from "./permission.ts"
import { Processes } from "./process.ts"
import { admit } from "./prompt.ts"
import { requestOf, snapshotOf } from "./request.ts"
import { Rpc } from "./rpc.ts"
import { serve } from "./http.ts"
import { SessionStore } from "./session.ts"
import { spawned, terminal, userShell } from "./shell.ts"
import { Storage } from "./storage.ts"
import { switchesOf } from "./switches.ts"
import { openTui } from "./terminal.ts"
import { Turns } from "./turn.ts"
import { ScriptedUser } from "./user.ts"
import type { Call, CallResult, Host, HostOptions, SessionRef, Sessions, StepOptions } from "./types.ts"
import type { Tui } from "./tui.ts"

/** Makes a host and its first location, with the plugins there. */
export async function createHost(options: HostOptions): Promise<Host> {
  const { version: release = "2.0.23", config = {}, directory } = options
  const switches = switchesOf(release, options.switches)
  const log = new Log()
  const events = new EventHub()
  const sessions = new SessionStore(events, options.projects ?? [])
  const processes = new Processes()
  let script = (_: { prompt: string; sessionID?: string }): string | Promise<string> => {
    throw new Error("no model is scripted: host.generates(…)")
  }

  const permissions = new Permissions({
    switches,
    config,
    events,
    scopeOf: (sessionID) => {
      const { info } = sessions.get(sessionID)
      const { hooks } = locations.of(info)
      return { agent: info.agent ?? "build", rules: info.permissions ?? [], projectID: info.projectID, hooks }
    },
    heard: (request) => user.hear(request),
  })
  const user: ScriptedUser = new ScriptedUser(
    () => permissions.pending(),
    async (id, decision, message) => {
      const request = permissions.pending().find((one) => one.id === id)
      if (!request) throw new Error(`Permission request not found: ${id}`)
      permissions.reply(request.sessionID, id, decision, message)
    },
    (type, data) => events.publish(type, data),
  )
  const core: Core = {
    release,
    switches,
    config,
    env: options.env ?? ownEnvironment(),
    log,
    events,
    permissions,
    sessions,
    user,
    storage: new Storage(),
    processes,
    rpc: new Rpc(events, switches.strictContext),
    turns: new Turns({
      sessions,
      events,
      switches,
      hooksOf: async (info) => (await locations.ready(info.location)).hooks,
      request: (session) => modelRequest(session),
      snapshotOf,
    }),
    generate: async (input) => script(input),
    admit: (sessionID, text) => admit(core, locations.of(sessions.get(sessionID).info).hooks, sessionID, text),
  }
  const loader = new Loader({ directory, packages: options.packages, switches, log })
  const locations = new Locations(core, loader, options.roots ?? [], options.plugins ?? [])
  const modelRequest = async (ref: SessionRef) => {
    const session = sessions.get(ref)
    return requestOf(core, await locations.ready(session.info.location), session)
  }
  const step = (session: SessionRef, calls: Call[], more?: StepOptions) =>
    core.turns.turn(session, (turn) => turn.step(calls, more))
  const call = async (session: SessionRef, tool: string, input?: unknown) =>
    (await step(session, [{ tool, input }])).results[0] as CallResult

  await locations.ready({ directory })
  const http = options.http ? await serve(core, locations) : undefined
  const tuis = new Set<Tui>()

  return {
    release,
    switches,
    log: log.entries,
    location: async (at = directory, workspaceID) => {
      await locations.ready({ directory: at, workspaceID })
      return locations.handle({ directory: at, workspaceID })
    },
    locations: () => locations.handles(),
    session: driven(core, locations, directory),
    modelRequest,
    step,
    call,
    execute: (session, code) => call(session, "execute", { code }),
    turn: (session, body) => core.turns.turn(session, body),
    prompt: (session, text) => core.admit(sessions.get(session).info.id, text),
    interrupt: async (session) => core.turns.interrupt(sessions.get(session).info.id),
    shell: {
      user: async (ref, command) => {
        const session = sessions.get(ref)
        return userShell(core, await locations.ready(session.info.location), session, command)
      },
      pty: (at, command) => terminal(core, at, command),
      get spawned() {
        return spawned.get(core) ?? []
      },
    },
    user,
    assert: (session, action, resources, more = {}) =>
      permissions.assert(
        { sessionID: sessions.get(session).info.id, action, resources, ...more },
        new AbortController().signal,
      ),
    evaluate: async (session, action, resources) =>
      (await permissions.evaluate({ sessionID: sessions.get(session).info.id, action, resources })).effect,
    saved: (projectID) => permissions.saved(projectID),
    events,
    generates: (next) => void (script = next),
    http: http?.access,
    tui: async (entry, more = {}) => {
      const tui = await openTui(core, entry, { directory, ...more })
      tuis.add(tui)
      return tui
    },
    open: () => [
      ...processes.running,
      ...locations.open(),
      ...(http?.open() ?? []),
      ...core.turns.running().map((id) => `turn of ${id}`),
      ...Array(events.listeners).fill("listener of events"),
    ],
    close: async () => {
      for (const id of core.turns.running()) core.turns.interrupt(id, "shutdown")
      await Promise.all(core.turns.running().map((id) => core.turns.idle(id)))
      for (const tui of tuis) await tui.close()
      await locations.close()
      user.close()
      await processes.close()
      await http?.close()
    },
  }
}

/** Sessions as the test drives them: as the user's client would. */
function driven(core: Core, locations: Locations, home: string): Sessions {
  const { sessions } = core
  return {
    create: async ({ directory, ...input } = {}) => {
      const parent = input.parentID === undefined ? undefined : sessions.get(input.parentID).info.location
      const place = directory
        ? { directory, workspaceID: input.workspaceID }
        : (parent ?? { directory: home, workspaceID: input.workspaceID })
      await locations.ready(place)
      return structuredClone(sessions.create({ ...input, ...place }))
    },
    get: (ref) => structuredClone(sessions.get(ref).info),
    move: async (ref, directory) => {
      await locations.ready({ directory })
      sessions.move(sessions.get(ref).info.id, directory)
    },
    remove: async (ref) => {
      const { id } = sessions.get(ref).info
      core.turns.interrupt(id, "superseded")
      sessions.remove(id)
    },
    environment: (ref, variables) => void (sessions.get(ref).environment = { ...variables }),
    transcript: (ref) => structuredClone(sessions.get(ref).transcript),
  }
}

/** The environment of the test, without what would tell a process where it runs. */
function ownEnvironment(): Record<string, string | undefined> {
  const private_ = /^(OPENCODE_|TENON_|NODE_TEST_|NODE_OPTIONS$)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !private_.test(name)))
}
