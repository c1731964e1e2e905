/**
 * The bridge client alone, to be run by Node and by Bun: connects through the
 * program named in its first argument, attaches a session, makes one call,
 * aborts another, and prints what it saw as one JSON document.
 */

import { connect, hostEnvironment, isFailure } from "../../../plugins/bridge/src/index.ts"

const [bin = "tenon", directory = "/"] = process.argv.slice(2)
const bridge = connect({
  bin,
  env: process.env,
  hello: {
    build: { version: "0.0.0", commit: "" },
    plugin: "opencode-tenon",
    host: "opencode-v1",
    pid: process.pid,
    directory,
    interactive: false,
    env: hostEnvironment(process.env),
  },
  handlers: {},
})
const hello = await bridge.opened(60_000)
if (!hello) throw bridge.problem()
const session = `ses_${process.pid}`
const rules = {
  version: "1",
  agent: "build",
  confirmed: true,
  rules: [{ permission: "*", pattern: "*", action: "allow" as const }],
}
const attached = await bridge.request("session/attach", { session, directory, agent: "build", rules })
const call = (tool: string, args: object, signal?: AbortSignal) =>
  bridge.request(
    "call/start",
    { origin: { session }, directory, server: "srv", tool, arguments: args, text: { bytes: 1_000 } },
    signal ? { signal, grace: 100 } : {},
  )
const echoed = await call("echo", { text: "hi" })
const control = new AbortController()
const slow = call("sleep", { ms: 120_000 }, control.signal).catch((error: unknown) => error)
setTimeout(() => control.abort(), 200)
const stopped = await slow
await bridge.close()
const runtime = process.versions.bun ? "bun" : "node"
const cancelled = isFailure(stopped) && stopped.kind
process.stdout.write(JSON.stringify({ runtime, session: attached.session === session, echoed: echoed.text, cancelled }))
