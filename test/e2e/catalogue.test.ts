/** The catalogue inside the real host: in the system prompt, changes behind it, and the tools that show it. */

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { fake, startScene, type Scene } from "./lib/scene.ts"

let scene: Scene

before(async () => {
  scene = await startScene((place) => ({ servers: { srv: { command: fake(place, "srv") } } }))
})
after(() => scene.stop())

/** Plays turns until tenon's part fits: what takes longer than 250 ms is in a later request. */
async function told(session: string, what: RegExp) {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    await scene.host.turn(session, ["done"])
    if (what.test(part(session))) return
  }
  assert.match(part(session), what)
}

/** tenon's part of the system prompt in a session's newest request. */
function part(session: string): string {
  const request = scene.model.requests.filter((each) => each.session === session).at(-1)
  const system = request?.messages.filter((message) => message.role === "system") ?? []
  const text = JSON.stringify(system.map((message) => message.content))
  return text.slice(text.indexOf("MCP servers of this project"))
}

test("a session is told what there is, and then what changed, without anything being started for it", async () => {
  const { host } = scene
  const session = await host.session()
  await told(session, /tools\.srv: not listed yet/)
  assert.equal(scene.journal("srv").length, 0, "nothing is started to be shown")

  await host.turn(session, [
    [{ tool: "tenon_catalog", args: {} }],
    [{ tool: "tenon_types", args: { paths: ["srv.echo"] } }],
    [{ tool: "tenon_exec", args: { code: "await tools.srv.load({})" } }],
    "done",
  ])
  const [catalogue, types] = scene.model.seen(session)
  assert.match(catalogue!, /never as tools of their own[^]*tools\.srv: \d+ tools\n  echo\(args: \{ text: string \}\)/)
  assert.match(types!, /function echo\(args: \{ text: string/)

  const next = await host.session()
  await told(next, /tools\.srv: \d+ tools/)
  await told(session, /tools\.srv: not listed yet[^]*Tools changed[^]*\+ tools\.srv\.extra\(/)
})
