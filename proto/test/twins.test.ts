/**
 * The TypeScript twins are held against types generated from the schemas: both
 * must be assignable to each other, member by member.
 */

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { compile } from "json-schema-to-typescript"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const files = [
  "version",
  "bridge",
  "rest",
  "result",
  "rpc",
  "program",
  "preset",
  "auth",
  "material",
  "script",
  "history",
]

/** Whether a schema says nothing but what it is for. */
const isOpen = (node: object) => Object.keys(node).every((key) => key === "description")

/** A property without a type holds somebody else's content: unknown, not an object. */
function open(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(open)
  if (typeof node !== "object" || node === null) return node
  const entries = Object.entries(node).map(([key, value]) => {
    const none = key === "properties" && Object.keys(value).length === 0
    return [key, none ? value : open(value)]
  })
  return isOpen(node) ? { ...node, tsType: "unknown" } : Object.fromEntries(entries)
}

/** One schema with all types, so that each is generated once. */
function merged(): { schema: object; names: string[] } {
  const all: Record<string, unknown> = {}
  for (const file of files) {
    Object.assign(all, open(JSON.parse(readFileSync(join(root, "schema", `${file}.json`), "utf8")).$defs))
  }
  const text = JSON.stringify({
    title: "Everything",
    type: "object",
    properties: Object.fromEntries(Object.keys(all).map((name) => [name, { $ref: `#/$defs/${name}` }])),
    required: Object.keys(all),
    additionalProperties: false,
    $defs: all,
  })
  return { schema: JSON.parse(text.replaceAll(/"(?:[a-z]+\.json)#\//g, '"#/')), names: Object.keys(all) }
}

test("TypeScript types agree with the schemas", async () => {
  const { schema, names } = merged()
  const generated = await compile(schema as never, "Everything", { bannerComment: "", format: false })
  const dir = mkdtempSync(join(root, ".twins-"))
  try {
    writeFileSync(join(dir, "generated.ts"), generated)
    writeFileSync(
      join(dir, "check.ts"),
      [
        'import type { Everything } from "./generated.ts"',
        'import type * as twins from "../index.ts"',
        "type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false",
        "type Members<T> = T extends readonly (infer E)[] ? Members<E>[] : T extends object ? { [K in keyof T]: Members<T[K]> } : T",
        "const same = <A, B>(_: Same<Members<A>, Members<B>>) => {}",
        ...names.map((name) => `same<twins.${name}, Everything["${name}"]>(true)`),
      ].join("\n"),
    )
    writeFileSync(
      join(dir, "tsconfig.json"),
      '{"extends":"../../tsconfig.base.json","include":["*.ts"],"compilerOptions":{"types":[],"noUnusedLocals":false}}',
    )
    const tsc = join(root, "../node_modules/typescript/bin/tsc")
    try {
      execFileSync(process.execPath, [tsc, "-p", dir], { encoding: "utf8" })
    } catch (error) {
      const out = String((error as { stdout?: string }).stdout)
      const lines = readFileSync(join(dir, "check.ts"), "utf8").split("\n")
      const wrong = [...out.matchAll(/check\.ts\((\d+)/g)].map((m) => lines[Number(m[1]) - 1])
      assert.fail(`the twins differ from the schemas:\n${wrong.join("\n")}\n${out}`)
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
})
