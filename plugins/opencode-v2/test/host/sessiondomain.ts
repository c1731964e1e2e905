/** `ctx.session`: endpoints of sessions, and the hooks of model requests. */

import { endpoint, type Fields } from "./api.ts"
import type { Core } from "./core.ts"
import type { LocationInfo, SessionDomain } from "./contract.ts"

const hookNames = [
  "prompt",
  "context",
  "generate",
  "title",
  "compaction",
  "model.request",
  "http.request",
  "http.response",
  "experimental.ws.handshake",
  "experimental.ws.send",
  "experimental.ws.receive",
  "retry",
]

export function sessionDomain(
  core: Core,
  location: LocationInfo,
  hook: (names: string[]) => unknown,
  domain: <T extends object>(name: string, members: T, known?: string[]) => T,
): SessionDomain {
  const { sessions, switches, turns } = core
  const one: Fields = { sessionID: "string!" }
  const method = (name: string, fields: Fields, handler: (input: any) => unknown) =>
    endpoint(`session.${name}`, fields, handler)
  const createFields: Fields = {
    id: "string",
    title: "string",
    agent: "string",
    model: "object",
    metadata: "object",
    permissions: "array",
    location: "object",
    ...(switches.sessionCreateParent && { parentID: "string" as const }),
  }
  const members = {
    create: method("create", createFields, ({ location: place, ...input }) =>
      sessions.create({ ...input, directory: place?.directory ?? location.directory, workspaceID: place?.workspaceID }),
    ),
    get: method("get", one, ({ sessionID }) => ({ data: sessions.get(sessionID).info })),
    switchAgent: method("switchAgent", { ...one, agent: "string!" }, ({ sessionID, agent }) => {
      sessions.get(sessionID).info.agent = agent
      core.events.publish("session.agent.selected", { sessionID, agent })
    }),
    switchModel: method("switchModel", { ...one, model: "object!" }, ({ sessionID, model }) => {
      sessions.get(sessionID).info.model = model
      core.events.publish("session.model.selected", { sessionID, model })
    }),
    prompt: method("prompt", { ...one, text: "string!", delivery: "string", metadata: "object" }, (input) =>
      core.admit(input.sessionID, input.text),
    ),
    generate: method("generate", { ...one, prompt: "string!" }, async (input) => ({
      text: await core.generate(input),
    })),
    command: method("command", { ...one, name: "string!", arguments: "string" }, ({ sessionID, name, ...input }) =>
      core.admit(sessionID, `/${name} ${input.arguments ?? ""}`.trim()),
    ),
    synthetic: method("synthetic", { ...one, text: "string!" }, ({ sessionID, text }) => {
      sessions.get(sessionID).messages.push({ role: "user", synthetic: true, text })
    }),
    interrupt: method("interrupt", { ...one, [switches.interruptFlag]: "boolean" }, ({ sessionID }) => {
      sessions.get(sessionID)
      return { interrupted: turns.interrupt(sessionID) }
    }),
    move: method("move", { ...one, directory: "string!", workspaceID: "string" }, (input) =>
      sessions.move(input.sessionID, input.directory, input.workspaceID),
    ),
    wait: method("wait", one, ({ sessionID }) => turns.idle(sessionID)),
    context: method("context", one, ({ sessionID }) => ({ data: sessions.get(sessionID).messages })),
    hook: hook(hookNames),
    ...(switches.sessionUpdate && {
      update: method("update", { ...one, title: "string", metadata: "object", permissions: "array" }, (input) =>
        sessions.update(input.sessionID, input),
      ),
      remove: method("remove", one, ({ sessionID }) => sessions.remove(sessionID)),
      compact: method("compact", one, ({ sessionID }) => void sessions.get(sessionID)),
    }),
  }
  return domain("session", members as unknown as SessionDomain, ["update", "remove", "compact"])
}
