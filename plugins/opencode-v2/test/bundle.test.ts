/** The built files, as opencode loads them. */

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath, pathToFileURL } from "node:url"
import { startDouble } from "../../bridge/test/double.ts"
import { afterwards, catalogue, connected, done, eachRelease, freshDirectory } from "./bench.ts"
import { createHost } from "./host/index.ts"

const dist = fileURLToPath(new URL("../dist/", import.meta.url))
const files = ["server.js", "tui.js", "rpc.js", "dual.js"]
const bun = fileURLToPath(new URL("../../../test/node_modules/.bin/bun", import.meta.url))

test("each file exports one default and nothing else", async () => {
  for (const file of files) {
    const module = await import(pathToFileURL(join(dist, file)).href)
    assert.deepEqual(Object.keys(module), ["default"], file)
  }
  const load = async (file: string) => (await import(pathToFileURL(join(dist, file)).href)).default
  const server = await load("server.js")
  assert.deepEqual([server.id, typeof server.setup, Object.keys(server).length], ["opencode-tenon", "function", 2])
  const tui = await load("tui.js")
  assert.deepEqual([tui.id, typeof tui.setup], ["opencode-tenon-tui", "function"])
  const dual = await load("dual.js")
  assert.deepEqual([dual.id, typeof dual.server, typeof dual.setup], ["opencode-tenon", "function", "function"])
  assert.equal((await load("rpc.js")).id, "opencode-tenon")
})

test("they import nothing that is not built into the runtime", () => {
  const optional = ["bufferutil", "utf-8-validate"] // ws does without them
  for (const file of files) {
    const text = readFileSync(join(dist, file), "utf8")
    const wanted = [
      ...text.matchAll(/^import[^"']*["']([^"']+)["']/gm),
      ...text.matchAll(/\brequire\(["']([^"']+)["']\)/g),
    ]
    const foreign = wanted
      .map((match) => match[1]!.replace(/^node:/, ""))
      .filter((name) => !builtinModules.includes(name) && !optional.includes(name))
    assert.deepEqual(foreign, [], file)
  }
})

/** A copy of the plugin's directory with nothing beside it. */
function alone(): string {
  const directory = join(freshDirectory(), "opencode-v2")
  mkdirSync(directory)
  for (const file of [...files, "package.json"]) copyFileSync(join(dist, file), join(directory, file))
  return directory
}

test("they load alone under Node and under Bun, and print nothing", (t) => {
  const directory = alone()
  writeFileSync(
    join(directory, "load.mjs"),
    `for (const file of ${JSON.stringify(files)}) {
       const module = await import("./" + file)
       if (Object.keys(module).join() !== "default") process.exit(1)
     }
     process.exit(0)`,
  )
  const run = (program: string) => execFileSync(program, [join(directory, "load.mjs")], { encoding: "utf8" })
  assert.equal(run(process.execPath), "")
  if (existsSync(bun)) assert.equal(run(bun), "")
  else t.diagnostic(`not tried under Bun: ${bun} is not installed (test/run installs it)`)
})

eachRelease("the directory is a plugin of the host, with its TUI entry", async (release) => {
  const daemon = await startDouble({ "run/start": () => done("42"), "catalog/get": () => catalogue("") })
  afterwards(() => daemon.remove())
  const directory = freshDirectory()
  const plugin = alone()
  const host = await createHost({
    version: release,
    directory,
    plugins: [{ package: plugin, options: { bin: daemon.bin } }],
  })
  afterwards(() => host.close())
  await connected(daemon, 1)
  const session = await host.session.create()
  assert.equal((await host.call(session, "tenon_exec", { code: "1" })).text, "42")
  const tui = await host.tui(plugin, { answers: () => "once" })
  afterwards(() => tui.close())
  const ask = { origin: { session: session.id }, key: "srv_x", server: "srv", tool: "x" }
  assert.deepEqual(await daemon.peers[0]!.request("permission/ask", { id: "ask_1", ...ask }), { reply: "once" })
  // v1's file in a folder that v2 reads does no harm.
  const v1 = fileURLToPath(new URL("../../opencode-v1/dist/tenon.js", import.meta.url))
  assert.ok(existsSync(v1), "the plugin of v1 is not built: make plugins")
  const folder = join(directory, "v1")
  mkdirSync(folder)
  copyFileSync(v1, join(folder, "server.js"))
  writeFileSync(join(folder, "package.json"), '{"type":"module"}')
  const location = await host.location()
  await location.configure([{ package: plugin, options: { bin: daemon.bin } }, folder])
  assert.deepEqual(
    location.plugins().map(({ status }) => status),
    ["active", "failed"],
  )
  assert.equal((await host.call(session, "tenon_exec", { code: "1" })).text, "42")
})
