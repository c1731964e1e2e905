/** A script that the agent starts from bash is the same session, with the same verdicts. */

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { fake, startScene, type Scene } from "./lib/scene.ts"
import { until } from "./lib/until.ts"

let scene: Scene

before(async () => {
  scene = await startScene((place) => ({
    servers: { srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 } },
    opencode: {
      permission: { "srv_*": "ask", srv_echo: "allow", srv_counter: "allow", srv_pid: "deny" },
      agent: { careful: { mode: "primary", permission: { srv_echo: "deny" } } },
    },
  }))
})
after(() => scene.stop())

const bash = (command: string) => ({
  tool: "bash",
  args: { command: `${command}; echo "exit $?"`, description: "run" },
})
const exec = (code: string) => ({ tool: "tenon_exec", args: { code } })

test("bash and tools share one session and one instance", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [
    [exec("await tools.srv.counter({})")],
    [bash("tenon call srv counter")],
    [bash("tenon exec -e 'await tools.srv.counter({})'")],
    [bash('echo "$TENON_SESSION_ID"')],
    [exec("await tools.srv.counter({})")],
    "done",
  ])
  assert.deepEqual(model.seen(session), ["1", "2\nexit 0\n", "3\nexit 0\n", `${session}\nexit 0\n`, "4"])
})

test("two sessions' shells are told apart at the same time", async () => {
  const { host, model } = scene
  const [one, two] = [await host.session(), await host.session()]
  // status first: a shell waits 250 ms for its session to be known, a busy machine may need longer
  const steps = [[{ tool: "tenon_status", args: {} }], [bash('echo "$TENON_SESSION_ID"')], "done"]
  await Promise.all([one, two].map((session) => host.turn(session, steps)))
  assert.deepEqual([model.seen(one)[1], model.seen(two)[1]], [`${one}\nexit 0\n`, `${two}\nexit 0\n`])
})

test("allow passes, deny is refused with exit code 4, for call and exec alike", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [
    [bash("tenon call srv echo text=hi")],
    [bash("tenon call srv pid")],
    [bash("tenon exec -e 'try { await tools.srv.pid({}) } catch (e) { e.kind }'")],
    [bash("tenon exec -e 'await tools.srv.pid({})'")],
    "done",
  ])
  const [allowed, denied, caught, thrown] = model.seen(session)
  assert.equal(allowed, "hi\nexit 0\n")
  assert.match(denied!, /srv_pid[\s\S]*exit 4/)
  assert.equal(caught, "PermissionDenied\nexit 0\n")
  assert.match(thrown!, /exit 4/)
})

test("the agent's rules follow into its shell", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [[bash("tenon call srv echo text=hi")], "done"], { agent: "careful" })
  await host.turn(session, [[bash("tenon call srv echo text=hi")], "done"], { agent: "build" })
  const [careful, build] = model.seen(session)
  assert.match(careful!, /exit 4/)
  assert.equal(build, "hi\nexit 0\n")
})

test("ask goes to the approvals queue with a toast, and the user answers it elsewhere", async () => {
  const { host, model } = scene
  const session = await host.session()
  const turn = host.turn(session, [[bash("tenon call srv cwd")], [bash("tenon call srv args")], "done"])
  const pending = async () => JSON.parse((await scene.tenon("approvals", "--json")).stdout)[0]
  const first = await until("a question", pending)
  assert.deepEqual([first.key, first.session], ["srv_cwd", session])
  await until("a toast", () => host.events.find((event) => event.type === "tui.toast.show"))
  assert.equal((await scene.tenon("approve", first.id)).code, 0)
  const second = await until("another question", async () => {
    const next = await pending()
    return next?.key === "srv_args" ? next : undefined
  })
  assert.equal((await scene.tenon("deny", second.id)).code, 0)
  await turn
  const [approved, denied] = model.seen(session)
  assert.equal(approved, `${scene.place.home}\nexit 0\n`) // where servers of the user's file run
  assert.match(denied!, /exit 4/)
})

test("an agent cannot answer its own questions, nor stop the daemon", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [
    [bash("tenon approve any")],
    [bash("tenon daemon stop")],
    [bash("env -u TENON_TICKET tenon daemon stop")],
    "done",
  ])
  for (const seen of model.seen(session)) assert.match(seen, /exit 4/)
})

test("without its ticket, or with another session's id, a shell is a stranger", async () => {
  const { host, model } = scene
  const other = await host.session()
  await host.turn(other, [[exec("await tools.srv.counter({})")], "done"])
  const session = await host.session()
  await host.turn(session, [
    [bash("env -u TENON_TICKET tenon call srv cwd")],
    [bash(`TENON_SESSION_ID=${other} tenon call srv cwd`)],
    [bash(`env -u TENON_TICKET TENON_SESSION_ID=${other} tenon exec -e 'await tools.srv.counter({})'`)],
    "done",
  ])
  for (const seen of model.seen(session)) assert.match(seen, /exit 4/)
  await host.turn(other, [[exec("await tools.srv.counter({})")], "done"])
  assert.equal(model.seen(other).at(-1), "2") // nobody else has counted there
})
