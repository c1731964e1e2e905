/** The cancel key stops the program, its calls and its questions. */

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { fake, startScene, type Scene } from "./lib/scene.ts"
import { until } from "./lib/until.ts"

let scene: Scene

before(async () => {
  scene = await startScene((place) => ({
    servers: { srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 } },
    opencode: { permission: { srv_args: "ask" } },
  }))
})
after(() => scene.stop())

const exec = (code: string) => ({ tool: "tenon_exec", args: { code } })
const sleeping = () => scene.journal("srv").filter((each) => each.params?.name === "sleep").length
const cancels = () => scene.journal("srv").filter((each) => each.method === "notifications/cancelled")

test("an abort ends the tool within the host's 250 ms and cancels every call with its reason", async () => {
  const { host } = scene
  // The host itself keeps the clock: a tool that is later than 250 ms gets the
  // state "error". A busy machine may pause longer than that, so there are three
  // tries for the time; the cancels must arrive in each.
  let inTime = false
  for (let attempt = 0; attempt < 3 && !inTime; attempt++) {
    const session = await host.session()
    const [before, cancelled] = [sleeping(), cancels().length]
    const turn = host.turn(session, [
      [exec("await Promise.all([tools.srv.sleep({ ms: 120000 }), tools.srv.sleep({ ms: 120000 })])")],
      "not reached",
    ])
    await until("both calls", () => sleeping() === before + 2)
    await host.abort(session)
    const last = await turn
    assert.equal(last.info.error?.name, "MessageAbortedError")
    await until("both cancels", () => cancels().length === cancelled + 2)
    assert.deepEqual(
      cancels()
        .slice(cancelled)
        .map((each) => each.params.reason),
      ["user", "user"],
    )
    const runs = JSON.parse((await scene.tenon("runs", "list", "--json")).stdout)
    assert.equal(runs.find((run: any) => run.session === session)?.status, "cancelled")
    const [part] = await host.parts(session)
    inTime = part?.state.status === "completed"
  }
  assert.ok(inTime, "the tool never returned within 250 ms")
})

test("an abort takes a pending question back, from opencode and from the daemon", async () => {
  const { host } = scene
  const session = await host.session()
  const turn = host.turn(session, [[exec("await tools.srv.args({})")], "not reached"])
  await host.request(session)
  await host.abort(session)
  await turn
  await until("opencode's list is empty", () => host.pending(session).length === 0)
  await until(
    "the daemon's list is empty",
    async () => (await scene.tenon("approvals", "--json")).stdout.trim() === "[]",
  )
  assert.equal(scene.journal("srv").filter((each) => each.params?.name === "args").length, 0)
})

test("an abort ends a program that only computes", async () => {
  const { host } = scene
  const session = await host.session()
  const turn = host.turn(session, [[exec("for (;;) {}")], "not reached"])
  const run = async () =>
    JSON.parse((await scene.tenon("runs", "list", "--json")).stdout).find((each: any) => each.session === session)
  await until("it runs", async () => (await run())?.status === "running")
  await host.abort(session)
  await turn
  await until("it has ended", async () => (await run())?.status === "cancelled")
})

test("what has succeeded is not cancelled by the signal that follows it", async () => {
  const { host, model } = scene
  const session = await host.session()
  const before = cancels().length
  await host.turn(session, [[exec("await tools.srv.counter({})")], [exec("await tools.srv.counter({})")], "done"])
  assert.deepEqual(model.seen(session), ["1", "2"])
  assert.equal(cancels().length, before)
})
