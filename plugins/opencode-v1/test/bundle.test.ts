/** The built file, as opencode loads it. */

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath, pathToFileURL } from "node:url"
import { fakeHost } from "./fakehost.ts"

const built = fileURLToPath(new URL("../dist/tenon.js", import.meta.url))

test("exports one default function and nothing else", async () => {
  const module = await import(pathToFileURL(built).href)
  assert.deepEqual(Object.keys(module), ["default"])
  assert.equal(typeof module.default, "function")
})

test("the TUI's entry is a module of its own, with one default", async () => {
  const file = fileURLToPath(new URL("../dist/tui.js", import.meta.url))
  const module = await import(pathToFileURL(file).href)
  assert.deepEqual(Object.keys(module), ["default"])
  assert.deepEqual([module.default.id, typeof module.default.tui], ["opencode-tenon-tui", "function"])
  assert.doesNotMatch(readFileSync(file, "utf8"), /^import /m)
})

test("imports nothing that is not built into the runtime", () => {
  const text = readFileSync(built, "utf8")
  const wanted = [
    ...text.matchAll(/^import[^"']*["']([^"']+)["']/gm),
    ...text.matchAll(/\brequire\(["']([^"']+)["']\)/g),
  ]
  const optional = ["bufferutil", "utf-8-validate"] // ws does without them
  const foreign = wanted
    .map((match) => match[1]!.replace(/^node:/, ""))
    .filter((name) => !builtinModules.includes(name) && !optional.includes(name))
  assert.deepEqual(foreign, [])
})

/** A folder that is gone after the tests. */
function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), "tl-"))
  after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test("loads alone, in an empty folder, and prints nothing", () => {
  const dir = scratch()
  copyFileSync(built, join(dir, "tenon.js"))
  writeFileSync(join(dir, "package.json"), '{"type":"module"}')
  writeFileSync(
    join(dir, "load.mjs"),
    `import tenon from "./tenon.js"
     const hooks = await tenon({ client: {}, directory: "/", worktree: "/" }, { bin: "/nowhere/tenon" })
     await hooks["shell.env"]({ cwd: "/" }, { env: {} })
     await hooks.dispose()
     if (!hooks.tool.tenon_exec) process.exit(1)`,
  )
  assert.equal(execFileSync(process.execPath, [join(dir, "load.mjs")], { encoding: "utf8" }), "")
})

test("loaded twice it works once", async () => {
  const dir = scratch()
  writeFileSync(join(dir, "package.json"), '{"type":"module"}')
  copyFileSync(built, join(dir, "one.js"))
  copyFileSync(built, join(dir, "two.js"))
  writeFileSync(join(dir, "again.js"), 'export { default } from "./one.js"')
  const input = { client: fakeHost().client, directory: "/project", worktree: "/" }
  const load = async (file: string) =>
    (await import(pathToFileURL(join(dir, file)).href)).default(input, { bin: "/nowhere/tenon" })
  const first = await load("one.js")
  assert.deepEqual(Object.keys(first.tool).sort(), [
    ...["tenon_call", "tenon_catalog", "tenon_exec", "tenon_search", "tenon_status", "tenon_types"],
  ])
  assert.deepEqual(await load("two.js"), {})
  assert.deepEqual(await load("again.js"), {})
  await first.dispose()
})
