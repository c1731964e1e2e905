/**
 * Result types that were learned: shown as learned and not declared, made of
 * names and kinds only, kept over a restart, dropped when the server changes the
 * tool or the user switches learning off. And the approval of a tool that its
 * server has changed since: it is held until it is given again.
 */

import assert from "node:assert/strict"
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { tenonBin } from "./lib/program.ts"
import { makeScenery, writeConfig, type Scenery, type SceneOptions } from "./lib/scene.ts"
import { until } from "./lib/until.ts"

interface Tool {
  name: string
  returns: string
  resultType?: string
  results?: number
}

let scenery: Scenery
const toolsFile = () => join(scenery.place.home, "tools.json")
const options = (): SceneOptions => ({
  servers: {
    fake: { command: [tenonBin, "fake-server"] },
    other: { command: [tenonBin, "fake-server", "--tools", toolsFile()] },
  },
  permissions: { rules: { other_json: "ask" } },
})

before(() => {
  scenery = makeScenery(() => ({}))
  defineTools("Gives it back.")
  writeConfig(scenery.place, options())
})
after(() => scenery.stop())

function defineTools(description: string) {
  writeFileSync(toolsFile(), JSON.stringify([{ name: "json", description, inputSchema: { type: "object" } }]))
}

async function tenon(...args: string[]): Promise<string> {
  const { stdout, stderr, code } = await scenery.tenon(...args)
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}${stdout}`)
  return stdout
}

async function json<T>(...args: string[]): Promise<T> {
  return JSON.parse(await tenon("--json", ...args)) as T
}

async function tool(server: string, name: string): Promise<Tool> {
  const { tools } = await json<{ tools: Tool[] }>("ls", server)
  return tools.find((each) => each.name === name)!
}

const give = (value: unknown) => tenon("call", "fake", "json", JSON.stringify({ value }))
const types = async () => (await json<{ text: string }>("types", "fake.json")).text

/** The files of learned shapes. */
function kept(): string[] {
  const dir = join(scenery.place.state, "catalog/returns")
  return readdirSync(dir).map((name) => {
    assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600)
    return readFileSync(join(dir, name), "utf8")
  })
}

test("what results were like is told as learned, and never what they held", async () => {
  await give({ rows: [{ id: 1, title: "the first" }, { id: 2 }], total: 2 })
  const type = "{ rows: { id: number; title?: string }[]; total: number }"
  const learned = await tool("fake", "json")
  assert.deepEqual([learned.returns, learned.resultType, learned.results], ["learned", type, 1])
  const untouched = await tool("fake", "echo")
  assert.deepEqual([untouched.returns, untouched.resultType], ["unknown", undefined])
  assert.match(await types(), /learned from 1 result, not declared[^]*function json\(.*\): Promise<\{ rows: /)
  const found = await json<{ items: { server: string; signature: string }[] }>("search", "json")
  const signature = found.items.find((item) => item.server === "fake")?.signature ?? ""
  assert.ok(signature.endsWith(`Promise<${type}> /* learned */`), signature)

  await give({ rows: [], total: 0, by: { "ann@example.com": { n: 1 } } })
  assert.match(await types(), /by\?: Record<string, \{ n: number \}>/)
  const program = "(await tools.fake.json({ value: { rows: [], total: 0, other: 1 } })).other"
  await tenon("exec", "--typecheck", "strict", "-e", program) // held to nothing that was only seen

  await tenon("daemon", "stop")
  assert.match(await types(), /total: number;[^]*other\?: number/, "a restart keeps it")
  const files = kept().join("\n")
  assert.match(files, /"title"/)
  assert.doesNotMatch(files, /the first|example/)
})

test("a tool that its server has changed is asked for again, and nothing is known of its results", async () => {
  const call = (value: unknown) => scenery.tenon("--json", "call", "other", "json", JSON.stringify({ value }))
  const waiting = () => json<{ id: string; reason: string }[]>("approvals")
  const watch = scenery.tenon("approvals", "--watch") // somebody is there to answer
  const answered = async (decision: string[], value: unknown) => {
    const done = call(value)
    await until("a question", async () => (await waiting()).length === 1)
    const [question] = await waiting()
    await tenon("approve", question!.id, ...decision)
    assert.equal((await done).code, 0)
    return question!.reason
  }
  assert.doesNotMatch(await answered(["--always"], { a: 1 }), /changed/)
  assert.equal((await call({ a: 2 })).code, 0, "allowed for always")
  assert.equal((await tool("other", "json")).returns, "learned")

  defineTools("Gives it back, and deletes everything.")
  await tenon("restart", "other")
  assert.match(await answered(["--always"], "x"), /the server has changed this tool's definition since it was allowed/)
  assert.equal((await tool("other", "json")).resultType, "string", "the former definition's results do not count")
  assert.equal((await call("x")).code, 0, "confirmed")
  void watch
})

test("switched off, what was learned is forgotten", async () => {
  const config = { ...options(), catalog: { learn: false } }
  writeFileSync(join(scenery.place.home, ".config/tenon/config.jsonc"), JSON.stringify(config))
  await until("it is forgotten", async () => (await tool("fake", "json")).returns === "unknown")
  await give({ a: 1 })
  assert.equal((await tool("fake", "json")).returns, "unknown")
  await tenon("daemon", "stop")
  assert.throws(kept, /ENOENT/)
})
