/**
 * Types and the catalogue of real servers: the TypeScript compiler finds no
 * mistake in them, a program written against them is checked, and what is said
 * of their cost is near what a real tokenizer counts.
 */

import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { encode } from "gpt-tokenizer/encoding/o200k_base"
import ts from "typescript"
import { npmServer, root } from "./lib/program.ts"
import { makeScenery, type Scenery } from "./lib/scene.ts"

let scenery: Scenery

before(() => {
  scenery = makeScenery(({ project }) => ({
    servers: {
      everything: { command: npmServer("everything") },
      filesystem: { command: npmServer("filesystem", project), pinned: ["search_files"] },
      memory: { command: npmServer("memory") },
      playwright: { command: [process.execPath, join(root, "test/node_modules/@playwright/mcp/cli.js"), "--headless"] },
      odd: {
        command: [
          join(root, "bin/tenon"),
          "fake-server",
          "--tools",
          join(root, "daemon/internal/catalog/testdata/odd.json"),
        ],
      },
    },
  }))
})
after(() => scenery.stop())

/** Runs tenon and reads its one document. */
async function json<T>(...args: string[]): Promise<T> {
  const { stdout, stderr, code } = await scenery.tenon("--json", ...args)
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as T
}

/** What the TypeScript compiler finds in declarations and a program that uses them. */
function mistakes(declarations: string, program: string): string[] {
  const files = { "tools.ts": declarations, "program.ts": program }
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(scenery.place.home, name)
    writeFileSync(path, text)
    return path
  })
  const compiler = ts.createProgram(paths, {
    noEmit: true,
    strict: true,
    target: ts.ScriptTarget.ESNext,
    lib: ["lib.esnext.d.ts"],
    types: [],
  })
  return ts.getPreEmitDiagnostics(compiler).map((found) => {
    const { line } = found.file!.getLineAndCharacterOfPosition(found.start!)
    return `${found.file!.fileName.split("/").pop()}:${line + 1}: ${ts.flattenDiagnosticMessageText(found.messageText, " ")}`
  })
}

test("the types of real servers compile, and hold programs to them", async () => {
  const { text, warnings = [] } = await json<{ text: string; warnings?: string[] }>("types")
  assert.deepEqual(
    warnings.filter((warning) => !warning.startsWith("odd/")),
    [],
    "real schemas are understood whole",
  )
  const program = `
export async function main() {
  await tools.filesystem.read_text_file({ path: "a.txt", head: 3 })
  await filesystem.edit_file({ path: "a", edits: [{ oldText: "a", newText: "b" }] })
  await memory.create_entities({ entities: [{ name: "a", entityType: "b", observations: ["c"] }] })
  const graph = await memory.read_graph({})
  graph.entities.map((entity) => entity.name.toUpperCase())
  await playwright.browser_navigate({ url: "https://example.com" })
  const weather = await everything.get_structured_content({ location: "New York" })
  weather.temperature.toFixed(1)
}`
  assert.deepEqual(mistakes(text, program), [])
  const wrong = mistakes(
    text,
    `export const p = tools.filesystem.read_text_file({ pathh: "a" })\ntools.memory.forget({})`,
  )
  assert.match(wrong[0] ?? "", /program\.ts:1: .*pathh/)
  assert.match(wrong[1] ?? "", /program\.ts:2: .*forget/)
  assert.match(text, /\/\*\*[^*]*If provided, returns only the first N lines/, "properties are documented")
})

test("types can be asked for by server and by tool", async () => {
  const { text } = await json<{ text: string }>("types", "memory", "filesystem.read_text_file")
  assert.match(text, /declare namespace memory/)
  assert.match(text, /function read_text_file/)
  assert.doesNotMatch(text, /write_file|playwright/)
  const { code, stderr } = await scenery.tenon("types", "memry")
  assert.equal(code, 1)
  assert.match(stderr, /did you mean memory\?/)
})

interface Catalog {
  text: string
  fingerprint: string
  tokens: number
  total: number
  shown: number
  partial: boolean
  delta: boolean
}

test("the catalogue costs what it says, within a tenth, and stays in its budget", async (t) => {
  for (const budget of [300, 1_000, 2_000, 8_000]) {
    const catalog = await json<Catalog>("catalog", "--budget", String(budget))
    const real = encode(catalog.text).length
    t.diagnostic(
      `budget ${budget}: ${catalog.shown} of ${catalog.total} tools, ${catalog.tokens} estimated, ${real} real`,
    )
    assert.ok(Math.abs(catalog.tokens - real) <= real / 10, `${catalog.tokens} estimated, ${real} real`)
    assert.ok(catalog.tokens <= budget)
    assert.equal(catalog.partial, catalog.shown < catalog.total)
    assert.match(catalog.text, /search_files\(/, "a pinned tool is there whatever the budget")
  }
  const { text } = await json<{ text: string }>("types")
  t.diagnostic(`types of everything: ${encode(text).length} tokens`)
})

test("after one tool has changed the catalogue costs the change", async () => {
  const before = await json<Catalog>("catalog")
  const same = await json<Catalog>("catalog", "--since", before.fingerprint)
  assert.deepEqual([same.delta, same.fingerprint, same.text], [true, before.fingerprint, "No tool has changed.\n"])

  const file = join(scenery.place.home, ".config/tenon/config.jsonc")
  const config = JSON.parse(readFileSync(file, "utf8")) as { servers: Record<string, { command: string[] }> }
  config.servers.extra = { command: [join(root, "bin/tenon"), "fake-server"] }
  writeFileSync(file, JSON.stringify(config))
  const after = await json<Catalog>("catalog", "--since", before.fingerprint)
  assert.equal(after.delta, true)
  assert.ok(after.tokens < before.tokens / 2, `${after.tokens} tokens instead of ${before.tokens}`)
  assert.match(after.text, /new: tools\.extra[^]*\+ tools\.extra\.echo\(/)
  assert.doesNotMatch(after.text, /filesystem/)
})
