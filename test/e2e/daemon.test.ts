/** A daemon that is missing, killed or slow costs a turn one sentence and nothing else. */

import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { startHost, runOnce } from "./lib/host.ts"
import { startModel } from "./lib/model.ts"
import { makePlace, pluginFile, scratch } from "./lib/program.ts"
import { fake, hostConfig, leave, startScene, writeConfig } from "./lib/scene.ts"
import { until } from "./lib/until.ts"

const exec = (code: string) => ({ tool: "tenon_exec", args: { code } })

test("a daemon killed in mid-turn is a clear failure, and the next call works", async () => {
  const scene = await startScene((place) => ({ servers: { srv: { command: fake(place, "srv"), scope: "session" } } }))
  try {
    const { host, model } = scene
    const session = await host.session()
    const turn = host.turn(session, [
      [exec("await tools.srv.pid({})")],
      [exec("await tools.srv.sleep({ ms: 120000 })")],
      [exec("[await tools.srv.counter({}), await tools.srv.pid({})].join()")],
      "done",
    ])
    await until("the call is under way", () => scene.journal("srv").some((each) => each.params?.name === "sleep"))
    const old = scene.daemon()
    process.kill(old, "SIGKILL")
    const last = await turn
    const [server, failed, next] = model.seen(session)
    assert.match(failed!, /tenon is not available: the connection to the tenon daemon was lost/)
    const [counter, pid] = next!.split(",")
    assert.equal(counter, "1")
    assert.notEqual(pid, server)
    assert.notEqual(scene.daemon(), old)
    await until("the old daemon's server is gone", () => isGone(Number(server))) // no child outlives its daemon
    assert.equal(last.parts.find((part) => part.type === "text")?.text, "done")
  } finally {
    await scene.stop()
  }
})

test("a missing program is one sentence, and the turn goes on", async () => {
  const place = makePlace()
  const model = await startModel()
  const host = await startHost(place, model, hostConfig({ options: { bin: "/nowhere/tenon" } }))
  try {
    const session = await host.session()
    const last = await host.turn(session, [
      [exec("1")],
      [{ tool: "bash", args: { command: "echo fine", description: "d" } }],
      "done",
    ])
    assert.deepEqual(model.seen(session), [
      "tenon is not available: the tenon program was not found: /nowhere/tenon does not exist " +
        '(install tenon, or name it with the plugin option "bin")',
      "fine\n",
    ])
    assert.equal(last.parts.find((part) => part.type === "text")?.text, "done")
  } finally {
    await host.stop()
    await model.stop()
  }
})

test("a program that hangs adds no wait to the start or to a turn, beside another plugin", async () => {
  const place = makePlace()
  const dir = scratch()
  const hanging = join(dir, "tenon")
  writeFileSync(hanging, `#!/bin/sh\necho $$ > ${dir}/started\nexec sleep 600\n`, { mode: 0o700 })
  const model = await startModel()
  const host = await startHost(place, model, hostConfig({ options: { bin: hanging }, plugins: [otherPlugin(dir)] }))
  try {
    const session = await host.session()
    await host.turn(session, [
      [{ tool: "other_hello", args: { name: "tenon" } }],
      [{ tool: "bash", args: { command: "echo fine", description: "d" } }],
      "done",
    ])
    assert.deepEqual(model.seen(session), ["hello tenon", "fine\n"])
    assert.ok(existsSync(join(dir, "started"))) // it was asked, and nobody waited for it
  } finally {
    await host.stop()
    // A host that was ended before it let go of the plugin leaves the program, which would end by itself were it tenon.
    if (existsSync(join(dir, "started"))) end(Number(readFileSync(join(dir, "started"), "utf8")))
    await model.stop()
  }
})

test("works beside another plugin, and once although its file is named twice", async () => {
  const dir = scratch()
  const again = join(dir, "again.js")
  writeFileSync(again, `export { default } from ${JSON.stringify(pluginFile)}\n`)
  const scene = await startScene((place) => ({
    servers: { srv: { command: fake(place, "srv"), scope: "session" } },
    plugins: [otherPlugin(dir), again],
    // the first of the two gets no options: it finds the program by PATH
  }))
  try {
    const { host, model } = scene
    const session = await host.session()
    await host.turn(session, [[{ tool: "other_hello", args: { name: "you" } }], "done"])
    assert.deepEqual(model.seen(session), ["hello you"])
    const request = model.requests.findLast((each) => each.session === session)!
    assert.equal(request.tools.filter((tool) => tool.name === "tenon_exec").length, 1)
    const system = request.messages.filter((each) => each.role === "system").map((each) => String(each.content))
    assert.equal(system.join("\n").split("are reached through tenon").length, 2)
  } finally {
    await scene.stop()
  }
})

test("in `opencode run` nothing but the host's own lines is printed, and a question fails at once", async () => {
  const place = makePlace()
  const model = await startModel()
  writeConfig(place, { servers: { srv: { command: fake(place, "srv") } } })
  try {
    const config = { ...hostConfig({}), permission: { srv_counter: "ask" } }
    const steps = [
      [exec("try { await tools.srv.counter({}) } catch (e) { e.kind }")],
      [exec("await tools.srv.echo({ text: 'hi' })")],
      "done",
    ]
    const out = await runOnce(place, model, config, steps, ["--format", "json"])
    for (const line of out.stdout.trim().split("\n")) JSON.parse(line)
    assert.equal(out.code, 0)
    const [asked, echoed] = model.seen(model.requests[0]!.session)
    // Denied by the host, or given up because a busy host did not even show it within 2 s.
    assert.match(asked!, /^(PermissionDenied$|error ApprovalRequired: srv_counter)/)
    assert.equal(echoed, "hi")
  } finally {
    await leave(place)
    await model.stop()
  }
})

test("a disposed instance gives its sessions their grace and comes back to them", async () => {
  const scene = await startScene((place) => ({ servers: { srv: { command: fake(place, "srv"), scope: "session" } } }))
  try {
    const { host, model } = scene
    const session = await host.session()
    await host.turn(session, [[exec("await tools.srv.counter({})")], "done"])
    await host.call("POST", "/instance/dispose")
    await until(
      "the bridge is gone",
      async () => JSON.parse((await scene.tenon("daemon", "status", "--json")).stdout).bridges.length === 0,
    )
    await host.turn(session, [[exec("await tools.srv.counter({})")], "done"])
    assert.equal(model.seen(session).at(-1), "2")
  } finally {
    await scene.stop()
  }
})

/** Whether a process has ended; one that nobody has collected yet has. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return true
  }
}

/** Ends a process, if it has not ended. */
function end(pid: number) {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has.
  }
}

/** A plugin of somebody else's, with a tool and hooks of its own. */
function otherPlugin(dir: string): string {
  const file = join(dir, "other/index.js")
  mkdirSync(join(dir, "other"), { recursive: true })
  writeFileSync(
    file,
    `export default async () => ({
      tool: { other_hello: { description: "says hello", args: { name: { type: "string" } }, execute: async ({ name }) => "hello " + name } },
      "shell.env": async (_, output) => { output.env.OTHER = "1" },
      "chat.message": async () => {},
    })\n`,
  )
  return file
}
