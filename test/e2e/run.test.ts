/** The main job inside the real host: programs reach servers under the session's identity. */

import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { npmServer } from "./lib/program.ts"
import { fake, startScene, type Scene } from "./lib/scene.ts"
import { script } from "./lib/model.ts"

let scene: Scene

before(async () => {
  scene = await startScene((place) => ({
    servers: {
      srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 },
      here: { command: fake(place, "here"), scope: "directory" },
      everything: { command: npmServer("everything") },
      files: { command: npmServer("filesystem", place.project) },
      memory: {
        command: npmServer("memory"),
        scope: "session",
        env: { MEMORY_FILE_PATH: join(place.state, "memory.json") },
      },
    },
  }))
})
after(() => scene.stop())

const exec = (code: string, more: object = {}) => ({ tool: "tenon_exec", args: { code, ...more } })

test("a program's result reaches the model, and nothing around it", async () => {
  const { host, model } = scene
  const session = await host.session()
  const turn = await host.turn(session, [
    [
      exec('const said = await tools.srv.echo({ text: "hello" })\nconst all: string[] = [said, input.name]\nall', {
        input: { name: "world" },
      }),
    ],
    "done",
  ])
  assert.deepEqual(model.seen(session), ['["hello","world"]'])
  assert.equal(turn.parts.find((part) => part.type === "text")?.text, "done")
  const [part] = await host.parts(session)
  assert.equal(part?.state.status, "completed")
  assert.deepEqual(
    part?.state.metadata?.calls.map((call: any) => [call.server, call.tool, call.status]),
    [["srv", "echo", "ok"]],
  )
})

test("a failing program shows the error with its line, and what it printed", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [[exec('console.log("before")\nawait tools.srv.fail({ text: "disk full" })')], "done"])
  const [seen] = model.seen(session)
  assert.match(seen!, /before/)
  assert.match(seen!, /disk full/)
  assert.match(seen!, /line 2\b/)
})

test("a session keeps its instance between calls, another session has another, a sub-agent shares its root's", async () => {
  const { host, model } = scene
  const one = await host.session()
  const two = await host.session()
  await host.turn(one, [[exec("await tools.srv.counter({})")], [exec("await tools.srv.counter({})")], "done"])
  await host.turn(two, [[{ tool: "tenon_call", args: { server: "srv", tool: "counter" } }], "done"])
  assert.deepEqual(model.seen(one), ["1", "2"])
  assert.deepEqual(model.seen(two), ["1"])

  const prompt = script([exec("[await tools.srv.counter({}), session.id].join()")], "the sub-agent is done")
  await host.turn(one, [
    [{ tool: "task", args: { description: "count", prompt, subagent_type: "general" } }],
    [exec("await tools.srv.counter({})")],
    "done",
  ])
  const [child] = (await host.call("GET", `/session/${one}/children`)) as { id: string }[]
  assert.deepEqual(model.seen(child!.id), [`3,${child!.id}`])
  assert.equal(model.seen(one).at(-1), "4")
  const sessions = await scene.tenon("sessions", "--json")
  const row = JSON.parse(sessions.stdout).find((each: any) => each.id === child!.id)
  assert.deepEqual([row.root, row.parent, row.host], [one, one, "opencode-v1"])
})

test("the working directory arrives, and directory scope follows it", async () => {
  const { host, model, place } = scene
  const session = await host.session()
  await host.turn(session, [[exec("[session.cwd, await tools.here.cwd({}), session.id]")], "done"])
  assert.deepEqual(JSON.parse(model.seen(session)[0]!), [place.project, place.project, session])
})

test("real servers do real work in one program", async () => {
  const { host, model, place } = scene
  mkdirSync(join(place.project, "notes"), { recursive: true })
  writeFileSync(join(place.project, "notes/a.txt"), "alpha")
  const session = await host.session()
  await host.turn(session, [
    [
      exec(`
        const dir = session.cwd + "/notes"
        const listed = await tools.files.list_directory({ path: dir })
        await tools.files.write_file({ path: dir + "/b.txt", content: "beta" })
        const read = await tools.files.read_text_file({ path: dir + "/b.txt" })
        await tools.memory.create_entities({ entities: [{ name: "tenon", entityType: "tool", observations: ["joins"] }] })
        const graph = await tools.memory.read_graph({})
        const echoed = await tools.everything.echo({ message: "hi" })
        ;({ listed, read, graph: JSON.stringify(graph), echoed })`),
    ],
    "done",
  ])
  const seen = model.seen(session)[0]!
  for (const want of ["a.txt", "beta", "tenon", "Echo: hi"]) assert.ok(seen.includes(want), `${want} in ${seen}`)
})

test("search and status answer with what this session can use and holds", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [
    [exec("await tools.srv.counter({})")],
    [{ tool: "tenon_search", args: { query: "counter calls", limit: 3 } }],
    [{ tool: "tenon_status", args: {} }],
    "done",
  ])
  const [, found, status] = model.seen(session)
  assert.match(found!, /tools\.srv\.counter\(/)
  assert.match(status!, /srv/)
})

test("arguments that are wrong are explained before anything runs", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [
    [{ tool: "tenon_exec", args: { script: "1" } }],
    [{ tool: "tenon_call", args: { server: "srv", tool: "ecko", arguments: {} } }],
    [{ tool: "tenon_call", args: { server: "srv", tool: "echo", arguments: {} } }],
    "done",
  ])
  const [unknown, nearest, invalid] = model.seen(session)
  assert.match(unknown!, /there is no argument "script"/)
  assert.match(nearest!, /echo/)
  assert.match(invalid!, /text/)
})

test("long output is cut below the host's limit, and says so", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, [[exec('Array.from({ length: 9000 }, (_, i) => "line " + i).join("\\n")')], "done"])
  const seen = model.seen(session)[0]!
  assert.ok(Buffer.byteLength(seen) <= 48 * 1024 && seen.split("\n").length <= 1_900, "over the limits")
  const [part] = await host.parts(session)
  assert.equal(part?.state.metadata?.truncated, false) // the host did not have to cut
  assert.match(seen, /9000|truncated|omitted|cut/)
})

test("the model is told in one line", async () => {
  const { host, model } = scene
  const session = await host.session()
  await host.turn(session, ["done"])
  const request = model.requests.findLast((each) => each.session === session)!
  const system = request.messages.filter((each) => each.role === "system").map((each) => String(each.content))
  assert.equal(system.join("\n").split("are reached through tenon").length, 2)
  assert.ok(
    request.tools.some(
      (tool) => tool.name === "tenon_exec" && (tool.parameters.required as string[]).join() === "code",
    ),
  )
})
