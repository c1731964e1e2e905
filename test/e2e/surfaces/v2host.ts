/**
 * opencode v2 as a process of its own, as it is in life: the contract host with
 * tenon's plugin, driven by messages. The parent is a user who is no ancestor of
 * what the host starts, and no descendant of it.
 */

import { createHost, type Host, type PermissionRequest } from "../../../plugins/opencode-v2/test/host/index.ts"
import { mkdirSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** What the parent may ask for. */
export interface Commands {
  start(options: { directory: string; bin: string; rules: Record<string, string>; version: string }): Promise<void>
  session(parent?: string): Promise<string>
  call(session: string, tool: string, input: unknown): Promise<string>
  interrupt(session: string): Promise<void>
  /** The requests of a session so far, answered or not. */
  asked(session: string): Promise<{ id: string; action: string }[]>
  reply(request: string, decision: "once" | "always" | "reject", message?: string): Promise<void>
  stop(): Promise<string[]>
}

const plugin = join(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))), "plugins/opencode-v2/dist")
let host: Host
const requests: PermissionRequest[] = []

const commands: Commands = {
  async start({ directory, bin, rules, version }) {
    host = await createHost({
      version: version as "2.0.23",
      directory,
      plugins: [{ package: plugin, options: { bin } }],
      config: {
        permissions: Object.entries(rules).map(([action, effect]) => ({
          action,
          resource: "*",
          effect: effect as "allow" | "ask" | "deny",
        })),
      },
      http: true,
      env: process.env,
    })
    // The managed service's registration: where the plugin finds the host's own API.
    const { url, password } = host.http!
    const registration = join(homedir(), ".local/state/opencode/service.json")
    mkdirSync(dirname(registration), { recursive: true })
    writeFileSync(registration, JSON.stringify({ url, password, pid: process.pid }), { mode: 0o600 })
    host.user.answers((request) => void requests.push(request))
    const failed = (await host.location()).plugins().find((state) => state.status === "failed")
    if (failed) throw new Error(JSON.stringify([failed, host.log]))
  },
  session: async (parent) => (await host.session.create(parent ? { parentID: parent } : {})).id,
  call: async (session, tool, input) => (await host.call(session, tool, input)).text,
  interrupt: async (session) => void (await host.interrupt(session)),
  asked: async (session) =>
    requests.filter((each) => each.sessionID === session).map(({ id, action }) => ({ id, action })),
  reply: (request, decision, message) => host.user.reply(request, decision, message),
  async stop() {
    await host.close()
    return host.open()
  },
}

process.on("message", async ({ id, method, args }: { id: number; method: keyof Commands; args: unknown[] }) => {
  try {
    process.send!({ id, value: await (commands[method] as (...args: unknown[]) => unknown)(...args) })
  } catch (error) {
    process.send!({ id, error: error instanceof Error ? error.stack : String(error) })
  }
})
process.on("disconnect", () => process.exit())
