/**
 * v1 and v2 of opencode read the same folders and the same file. What is made for
 * v2 does not disturb v1: a line in its log, and nothing else.
 */

import assert from "node:assert/strict"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { startHost } from "./lib/host.ts"
import { startModel } from "./lib/model.ts"
import { makePlace, preseed, tenonBin, v2PluginDir, type Place } from "./lib/program.ts"
import { fake, leave, runTenon, writeConfig } from "./lib/scene.ts"

/** Puts v2's plugin wherever v1 could stumble over it. */
function scatter(place: Place) {
  const folder = join(place.project, ".opencode")
  preseed(folder)
  for (const name of ["plugin", "plugins"]) mkdirSync(join(folder, name), { recursive: true })
  cpSync(join(v2PluginDir, "server.js"), join(folder, "plugin", "tenon-v2.js"))
  cpSync(v2PluginDir, join(folder, "plugins", "opencode-tenon-v2"), { recursive: true })
  return folder
}

/** What the daemon says of connected plugins. */
async function bridges(place: Place): Promise<{ plugin: string; host: string }[]> {
  return JSON.parse((await runTenon(place, ["--json", "daemon", "status"])).stdout).bridges
}

test("v2's plugin in a folder and a file that v1 reads does not disturb v1", async () => {
  const place = makePlace()
  const model = await startModel()
  writeConfig(place, { servers: { srv: { command: fake(place, "srv"), scope: "session" } } })
  scatter(place)
  for (const generation of ["--v1", "--v2"]) {
    const installed = await runTenon(place, ["opencode", "install", generation])
    assert.equal(installed.code, 0, installed.stderr)
  }
  const shared = readFileSync(join(place.home, ".config/opencode/opencode.jsonc"), "utf8")
  assert.match(shared, /"plugin": \[/)
  assert.match(shared, /"plugins": \[/)

  const host = await startHost(place, model, {})
  try {
    const session = await host.session()
    const pid = { tool: "tenon_exec", args: { code: "await tools.srv.pid()" } }
    await host.turn(session, [[pid], [pid], "done"])
    const [first, second] = model.seen(session)
    assert.match(first!, /^\d+$/)
    assert.equal(second, first, "the session keeps its instance")
    const names = model.requests[0]!.tools.map((tool) => tool.name)
    assert.deepEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      [],
      "no tool is there twice",
    )
    assert.ok(names.includes("tenon_exec") && names.includes("tenon_call"))
    assert.deepEqual(
      (await bridges(place)).map((bridge) => [bridge.plugin, bridge.host]),
      [["opencode-tenon", "opencode-v1"]],
      "only v1's plugin has come up",
    )
    assert.deepEqual(
      host.events.filter((event) => event.type === "session.error"),
      [],
    )
    // The line that v1 does write: what it makes of another shape.
    assert.match(host.log(), /ERROR.*tenon-v2\.js/)

    const status = await runTenon(place, ["--json", "opencode", "status"])
    const { hosts, others } = JSON.parse(status.stdout)
    assert.deepEqual(
      hosts.map((each: any) => [each.host, each.installed, each.current, each.problem ?? ""]),
      [
        ["v1", true, true, ""],
        ["v2", true, true, ""],
      ],
    )
    assert.deepEqual(
      others.map((each: any) => [each.path, each.made]),
      [
        [join(place.project, ".opencode/plugin/tenon-v2.js"), "v2"],
        [join(place.project, ".opencode/plugins/opencode-tenon-v2"), "v2"],
      ],
    )
    assert.match(others[0].text, /v1 reads the same folder/)
  } finally {
    await host.stop()
    await model.stop()
    await leave(place)
  }
})

test("the file for both generations works once in v1", async () => {
  const place = makePlace()
  const model = await startModel()
  writeConfig(place, { servers: { srv: { command: fake(place, "srv") } } })
  const folder = join(place.project, ".opencode")
  preseed(folder)
  mkdirSync(join(folder, "plugin"))
  cpSync(join(v2PluginDir, "dual.js"), join(folder, "plugin", "tenon.js"))
  writeFileSync(join(place.home, "tenon"), `#!/bin/sh\nexec ${tenonBin} "$@"\n`, { mode: 0o700 })
  const host = await startHost(place, model, {}, { PATH: `${place.home}:${process.env.PATH}` })
  try {
    const session = await host.session()
    await host.turn(session, [[{ tool: "tenon_exec", args: { code: 'await tools.srv.echo({ text: "hi" })' } }], "done"])
    assert.deepEqual(model.seen(session), ["hi"])
    assert.deepEqual(
      (await bridges(place)).map((bridge) => bridge.plugin),
      ["opencode-tenon"],
    )
  } finally {
    await host.stop()
    await model.stop()
    await leave(place)
  }
})
