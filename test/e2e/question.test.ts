/** What a server asks in the middle of a call, in the real opencode v1 (serve: its dialogs are API clients'). */

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { fake, startScene, type Scene } from "./lib/scene.ts"

let scene: Scene

before(async () => {
  scene = await startScene((place) => ({
    servers: {
      srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 },
      free: { command: fake(place, "free"), scope: "session", maxInstances: 40 },
    },
    opencode: { permission: { srv_elicitation: "ask" } },
  }))
})
after(() => scene.stop())

/** A program that lets the server ask and gives what it was told. */
const asks = (server: string, args: object) => ({
  tool: "tenon_exec",
  args: { code: `JSON.stringify(await tools.${server}.elicit(${JSON.stringify(args)}))` },
})
const page = { text: "Sign in", url: "https://example.com/sign-in" }
const consent = { text: "Sure?", schema: { type: "object", properties: {} } }
const form = { text: "Who?" }

test("a page and a form without fields are asked about in opencode's dialog, each time anew", async () => {
  const { host, model } = scene
  const session = await host.session()
  const turn = host.turn(session, [[asks("srv", page)], [asks("srv", consent)], [asks("srv", page)], "done"])
  const first = await host.request(session)
  assert.equal(first.permission, "srv_elicitation")
  assert.equal(first.metadata.url, page.url)
  await host.reply(first, "always") // opens nothing: the next is asked again
  await host.reply(await host.request(session, 1), "once")
  await host.reply(await host.request(session, 2), "reject")
  await turn
  assert.deepEqual(model.seen(session), [
    '{"action":"accept"}',
    '{"action":"accept","content":{}}',
    '{"action":"decline"}',
  ])
})

test("what nobody saw, and what v1 cannot show, is declined at once, and the model reads why", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [[asks("free", page)], [asks("srv", form)], "done"])
  const [unseen, fields] = model.seen(session) as [string, string]
  assert.match(unseen, /"action":"decline"/)
  assert.match(unseen, /rules allow free_elicitation without asking/)
  assert.match(fields, /"action":"decline"/)
  assert.match(fields, /no forms/)
  assert.deepEqual(host.pending(session), [])
})
