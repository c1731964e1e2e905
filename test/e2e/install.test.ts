/** `tenon opencode install` is all that a user does. */

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { startHost } from "./lib/host.ts"
import { startModel } from "./lib/model.ts"
import { makePlace, root } from "./lib/program.ts"
import { fake, runTenon, writeConfig } from "./lib/scene.ts"

test("the installed plugin works, and uninstalling leaves no trace in the file", async () => {
  const place = makePlace()
  const model = await startModel()
  writeConfig(place, { servers: { srv: { command: fake(place, "srv") } } })
  const file = join(place.home, ".config/opencode/opencode.jsonc")
  const before = '// mine\n{\n  "$schema": "https://opencode.ai/config.json", // kept\n}\n'
  mkdirSync(join(place.home, ".config/opencode"), { recursive: true })
  writeFileSync(file, before)
  const installed = await runTenon(place, ["opencode", "install", "--v1"])
  assert.equal(installed.code, 0, installed.stderr)
  assert.match(readFileSync(file, "utf8"), /\/\/ mine[\s\S]*\/\/ kept/)
  const host = await startHost(place, model, {})
  try {
    const session = await host.session()
    await host.turn(session, [[{ tool: "tenon_exec", args: { code: "await tools.srv.echo({ text: 'hi' })" } }], "done"])
    assert.deepEqual(model.seen(session), ["hi"])
  } finally {
    await host.stop()
    await model.stop()
    await runTenon(place, ["daemon", "stop", "--force"])
  }
  const removed = await runTenon(place, ["opencode", "uninstall", "--v1"])
  assert.equal(removed.code, 0, removed.stderr)
  assert.equal(readFileSync(file, "utf8"), before)
})

test("what is packed for npm holds every file that the package is entered by", async () => {
  for (const name of ["opencode-v1", "opencode-v2"]) {
    const dir = join(root, "plugins", name)
    const packed = JSON.parse(
      execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: dir }).toString(),
    )
    const files: string[] = packed[0].files.map((file: { path: string }) => `./${file.path}`)
    const described = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"))
    for (const key of ["name", "version", "description", "license", "type"])
      assert.ok(described[key], `${name}: ${key}`)
    const entries: string[] = [described.main, ...Object.values<string>(described.exports)]
    assert.ok(described.exports["./server"], `${name} declares ./server`)
    for (const entry of entries) {
      assert.ok(files.includes(entry), `${name}: ${entry} is not packed`)
      const { default: plugin, ...rest } = await import(join(dir, entry))
      assert.deepEqual([Object.keys(rest), ["object", "function"].includes(typeof plugin)], [[], true], entry)
    }
    assert.ok(!files.some((file) => /\/(src|test)\//.test(file)), `${name} packs its sources`)
  }
})
