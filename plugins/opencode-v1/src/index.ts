/**
 * tenon's plugin for opencode v1: one function, one bridge for each directory
 * that opencode has open. It holds no state that the daemon does not own, never
 * prints, and keeps no turn waiting.
 */

import {
  argumentsOf,
  connect,
  hookWait,
  hostEnvironment,
  instructionsFor,
  readOptions,
  schemaOf,
  sessionTable,
  within,
  type Arguments,
  type Bridge,
} from "@tenon/bridge"
import type { HostSession, Hooks, PluginInput } from "./host.ts"
import { instruct } from "./instructions.ts"
import { outcomes } from "./outcome.ts"
import { permissionTable } from "./permission.ts"
import { questionDesk } from "./question.ts"
import { openScreen } from "./screen.ts"
import { factsOf, sourceOf } from "./session.ts"
import { shellEnvironment } from "./shell.ts"
import { toolsOf } from "./tools.ts"

/** Set when the bundle is built. */
declare const __VERSION__: string

/** The plugin. Loaded twice in one instance of the host (two files, one re-exporting the other) it works once. */
export default async function tenon(input: PluginInput, given?: Record<string, unknown>): Promise<Hooks> {
  if (isSecond(input.client)) return {}
  const options = readOptions(given, process.argv, process.env)
  const { client } = input
  const bridge = (): Bridge => link
  const sessions = sessionTable(sourceOf(client), bridge, process.env)
  const screen = openScreen(bridge)
  const permissions = permissionTable(client, bridge, screen)
  const questions = questionDesk(client, permissions, screen, options.interactive)
  const outcome = outcomes(bridge)
  const instructions = instructionsFor(bridge, sessions)

  const link = connect({
    bin: options.bin,
    env: process.env,
    hello: {
      build: { version: __VERSION__, commit: "" },
      plugin: "opencode-tenon",
      host: "opencode-v1",
      runtime: process.versions.bun ? `bun ${process.versions.bun}` : `node ${process.versions.node}`,
      pid: process.pid,
      directory: input.directory,
      worktree: input.worktree,
      interactive: options.interactive,
      ...(options.config ? { config: options.config } : {}),
      env: hostEnvironment(process.env),
    },
    handlers: {
      "session/resolve": ({ session }) => sessions.resolve(session),
      "permission/ask": (params) => permissions.ask(params),
      "elicitation/ask": (params) => questions.ask(params),
      "permission/withdraw": ({ id }) => (permissions.withdraw(id), {}),
      "notice/show": async ({ level, message }) => {
        await client.tui.showToast({ body: { title: "tenon", message, variant: level } })
        return {}
      },
      "catalog/changed": () => instructions.changed(),
    },
    onOpen() {
      instructions.changed() // while there was no connection, nobody told of changes
      return sessions.again()
    },
  })

  return {
    tool: toolsOf({ bridge, sessions, permissions }),
    async "tool.definition"({ toolID }, output) {
      const args: Arguments | undefined = Object.hasOwn(argumentsOf, toolID)
        ? argumentsOf[toolID as keyof typeof argumentsOf]
        : undefined
      if (args) output.jsonSchema = schemaOf(args)
    },
    async "chat.message"({ sessionID, agent }, output) {
      // Early, so that the first shell of the turn finds its ticket; a daemon that
      // is not there yet is not waited for.
      const attaching = sessions.attach(sessionID, agent ?? output.message?.agent)
      await within(attaching, link.current() ? hookWait : 0)
    },
    async "experimental.chat.system.transform"({ sessionID }, output) {
      await instruct(sessionID, output.system, instructions)
    },
    async "shell.env"({ sessionID }, output) {
      Object.assign(output.env, await shellEnvironment(sessionID, sessions, link, options, process.env))
    },
    async "tool.execute.after"({ tool, sessionID, callID }, output) {
      outcome.succeeded(tool, sessionID, callID, output.title)
    },
    async event({ event }) {
      permissions.onEvent(event)
      outcome.onEvent(event)
      const session = event.properties?.info as HostSession | null | undefined
      if (typeof session?.id !== "string") return
      if (event.type === "session.deleted") {
        sessions.deleted(session.id)
        instructions.forget(session.id)
      }
      if (event.type === "session.updated") sessions.updated(factsOf(session))
    },
    async dispose() {
      screen.close()
      await link.close()
    },
  }
}

/** Both copies of the code find the same set, by the symbol's name. */
function isSecond(client: object): boolean {
  const shared = globalThis as { [seen]?: WeakSet<object> }
  const clients = (shared[seen] ??= new WeakSet())
  if (clients.has(client)) return true
  clients.add(client)
  return false
}

const seen = Symbol.for("opencode-tenon.instances")
