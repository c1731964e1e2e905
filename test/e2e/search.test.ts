/**
 * Search over the tools of real servers: queries of the kind that models write,
 * each with the tools that answer it. `judged.json` was at hand while the ranking
 * was made; `unseen.json` was written afterwards, to tell what it is worth on
 * words that it was not made for.
 */

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { npmServer, root } from "./lib/program.ts"
import { makeScenery, type Scenery } from "./lib/scene.ts"

interface Judged {
  query: string
  /** Tools that answer it: one of them must be found. */
  find: string[]
  /** The query is the path of one tool, and nothing else may be found. */
  only?: boolean
}

let scenery: Scenery

before(() => {
  const packages = join(root, "test/node_modules")
  scenery = makeScenery(({ project }) => ({
    servers: {
      everything: { command: npmServer("everything") },
      filesystem: { command: npmServer("filesystem", project) },
      memory: { command: npmServer("memory") },
      playwright: { command: [process.execPath, join(packages, "@playwright/mcp/cli.js"), "--headless"] },
      devtools: {
        command: [process.execPath, join(packages, "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js")],
      },
    },
  }))
})
after(() => scenery.stop())

/** How far down each query's answer is, from 0; -1 when it is not among the first ten. */
async function judge(file: string): Promise<number[]> {
  const all = JSON.parse(readFileSync(join(import.meta.dirname, "search", file), "utf8")) as Judged[]
  const places: number[] = []
  for (const { query, find, only } of all) {
    const { stdout, stderr, code } = await scenery.tenon("--json", "search", "--", query)
    assert.equal(code, 0, stderr)
    const found = JSON.parse(stdout) as { total: number; items: { path: string }[] }
    places.push(found.items.findIndex((item) => find.includes(item.path.replace(/^tools\./, ""))))
    if (only) assert.equal(found.total, 1, `${query} is a path and finds one tool`)
  }
  return places
}

/** The share of queries whose answer is among the first n. */
const within = (places: number[], n: number) => places.filter((at) => at >= 0 && at < n).length / places.length

for (const { file, three, five } of [
  { file: "judged.json", three: 0.97, five: 0.99 },
  { file: "unseen.json", three: 0.88, five: 0.93 },
]) {
  test(`what ${file} asks for is found among the first`, async (t) => {
    const places = await judge(file)
    const percent = (n: number) => `${Math.round(100 * within(places, n))} %`
    t.diagnostic(`${places.length} queries: ${percent(1)} first, ${percent(3)} within 3, ${percent(5)} within 5`)
    assert.ok(within(places, 3) >= three, `${percent(3)} within the first 3`)
    assert.ok(within(places, 5) >= five, `${percent(5)} within the first 5`)
  })
}
