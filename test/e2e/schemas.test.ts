/**
 * The types of hundreds of real tools, listed when this runs from servers of npm
 * (lib/corpus.ts): the TypeScript compiler finds no mistake in any declaration,
 * in a call of each tool, or in the declarations that programs are checked by.
 * Only names and numbers are written here, none of the servers' own texts.
 */

import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import ts from "typescript"
import { corpus } from "./lib/corpus.ts"
import { sample } from "./lib/sample.ts"
import { makeScenery, type Scenery } from "./lib/scene.ts"

interface Tool {
  name: string
  path: string
  inputSchema?: any
  outputSchema?: any
  returns: string
}

/** How many tools the pinned servers list at least; the names of few are checked, their texts never. */
const least: Record<string, number> = {
  chrome: 40,
  everything: 10,
  filesystem: 10,
  firecrawl: 20,
  gitlab: 200,
  hubspot: 15,
  memory: 9,
  notion: 20,
  playwright: 60,
}

let scenery: Scenery
const tools = new Map<string, Tool[]>()

before(async () => {
  scenery = makeScenery(({ project }) => ({ servers: { ...corpus(project) } }))
  for (const server of Object.keys(least)) {
    await json("search", "--namespace", server)
    tools.set(server, (await json<{ tools?: Tool[] }>("ls", server)).tools ?? [])
  }
})
after(() => scenery.stop())

/** Runs tenon and reads its one document. */
async function json<T>(...args: string[]): Promise<T> {
  const { stdout, stderr, code } = await scenery.tenon("--json", ...args)
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as T
}

/** A call of every tool: once with what must be given, once with all that can be. */
function calls(): string {
  const lines: string[] = []
  for (const list of tools.values())
    for (const tool of list)
      for (const all of [false, true])
        lines.push(`  await ${tool.path}(${JSON.stringify(sample(tool.inputSchema ?? {}, all))})`)
  return `async function everyTool() {\n${lines.join("\n")}\n}\n`
}

test("hundreds of real tools are listed", (t) => {
  let total = 0
  for (const [server, list] of tools) {
    t.diagnostic(`${server}: ${list.length} tools, ${list.filter((tool) => tool.outputSchema).length} declare results`)
    assert.ok(list.length >= (least[server] ?? 0), `${server}: ${list.length}`)
    for (const tool of list) assert.equal(tool.returns, tool.outputSchema ? "declared" : "unknown", tool.path)
    total += list.length
  }
  t.diagnostic(`${total} tools`)
  assert.ok(total >= 400)
})

test("every declaration compiles, and so does a call of each tool", async (t) => {
  const { text, warnings = [] } = await json<{ text: string; warnings?: string[] }>("types")
  assert.deepEqual(warnings, [], "every schema is understood whole")
  const files = { "tools.ts": text, "calls.ts": calls() + "export { everyTool }\n" }
  const paths = Object.entries(files).map(([name, content]) => {
    const path = join(scenery.place.home, name)
    writeFileSync(path, content)
    return path
  })
  const compiler = ts.createProgram(paths, {
    noEmit: true,
    strict: true,
    target: ts.ScriptTarget.ESNext,
    lib: ["lib.esnext.d.ts"],
    types: [],
  })
  const mistakes = ts.getPreEmitDiagnostics(compiler).map((found) => {
    const { line } = found.file!.getLineAndCharacterOfPosition(found.start!)
    const source = found.file!.text.split("\n")[line]!.trim().slice(0, 200)
    return `${found.file!.fileName.split("/").pop()}:${line + 1}: ${ts.flattenDiagnosticMessageText(found.messageText, " ")}\n    ${source}`
  })
  t.diagnostic(`${text.length} bytes of declarations`)
  assert.deepEqual(mistakes, [])
})

test("a program that calls every tool passes the check before it runs", async () => {
  const file = join(scenery.place.project, "every.ts")
  writeFileSync(file, `${calls()}typeof everyTool\n`)
  const { stdout, stderr, code } = await scenery.tenon("exec", "--typecheck", "strict", "--json", file)
  assert.equal(code, 0, stderr + stdout.slice(0, 4000))
  assert.equal((JSON.parse(stdout) as { value: unknown }).value, "function")
})
