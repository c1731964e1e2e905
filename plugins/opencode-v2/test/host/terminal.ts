/** Loads a `./tui` entry and plays the terminal around it. */

import { existsSync, statSync } from "node:fs"
import { entryOfDirectory } from "./entry.ts"
import { feed } from "./events.ts"
import { importFresh } from "./loader.ts"
import { strict } from "./strict.ts"
import type { Core } from "./core.ts"
import type { HostEvent, RpcDefinition } from "./contract.ts"
import type { Dialog, Tui, TuiOptions } from "./tui.ts"

/** @throws when the entry is not `{id, setup}`, or its setup throws. */
export async function openTui(
  core: Core,
  entry: string | object,
  options: TuiOptions & { directory: string },
): Promise<Tui> {
  const { id, setup } = definition(typeof entry === "string" ? await importFresh(fileOf(entry)) : entry)
  const { directory } = options
  const ends: (() => void)[] = []
  const toasts: { message: string; variant?: string }[] = []
  const dialogs: Dialog[] = []
  const listeners = new Set<(event: HostEvent) => void>()
  ends.push(core.events.listen((event) => listeners.forEach((listener) => listener(structuredClone(event)))))
  const listen = (listener: (event: HostEvent) => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const on = (name: string, members: object) => strict(name, members, [], core.switches.strictContext)
  const show = async (dialog: Dialog) => {
    dialogs.push(dialog)
    if (!options.answers) return new Promise<undefined>(() => {})
    return options.answers(dialog)
  }
  const kinds = ["confirm", "select", "prompt", "alert"] as const
  const dialog = Object.fromEntries(kinds.map((kind) => [kind, (input: object) => show({ ...input, kind } as Dialog)]))
  const context = on("tui context", {
    options: structuredClone(options.options ?? {}),
    client: on(
      "client",
      clientOf(core, directory, listen, (end) => ends.push(end)),
    ),
    data: on("data", {
      on: (type: string, callback: (event: HostEvent) => void) =>
        listen((event) => void (event.type === type && callback(event))),
      listen,
    }),
    ui: on("ui", {
      dialog: on("ui.dialog", dialog),
      toast: on("ui.toast", {
        show: (toast: { message: string; variant?: string }) => void toasts.push({ ...toast }),
      }),
    }),
    location: { directory },
  })
  const cleanup: unknown = await setup(context)
  return {
    id,
    toasts,
    dialogs,
    emit: (event) => listeners.forEach((listener) => listener({ id: "evt_test", data: {}, ...event })),
    close: async () => {
      if (typeof cleanup === "function") await cleanup()
      for (const end of ends.splice(0)) end()
      listeners.clear()
    },
  }
}

/** The part of the full client that a TUI plugin of ours may need: permissions, sessions, RPC, events. */
function clientOf(
  core: Core,
  directory: string,
  listen: (listener: (event: HostEvent) => void) => () => void,
  closed: (end: () => void) => void,
) {
  const { permissions, sessions, rpc } = core
  return {
    permission: {
      create: (input: any) => permissions.create(input),
      list: async ({ sessionID }: { sessionID: string }) => permissions.pending(sessionID),
      reply: async (input: any) =>
        permissions.reply(input.sessionID, input.requestID, input[core.switches.replyKey], input.message),
    },
    session: {
      get: async ({ sessionID }: { sessionID: string }) => structuredClone(sessions.get(sessionID).info),
    },
    rpc: (definition: RpcDefinition) => rpc.client(directory, definition, closed),
    event: { subscribe: (options?: { signal?: AbortSignal }) => feed(listen, options?.signal, closed) },
  }
}

function fileOf(entry: string): string {
  if (!existsSync(entry) || statSync(entry).isFile()) return entry
  const file = entryOfDirectory(entry, "tui")
  if (!file) throw new Error(`Plugin entrypoint not found: ${entry}`)
  return file
}

function definition(module: object): { id: string; setup: (context: object) => unknown } {
  const exported: any = "default" in module ? module.default : undefined
  if (typeof exported?.id !== "string" || typeof exported.setup !== "function") {
    throw new Error("a TUI plugin exports {id, setup} by default")
  }
  return exported
}
