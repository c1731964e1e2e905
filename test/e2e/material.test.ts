/**
 * Resources, prompts and content of every kind from the reference server of MCP,
 * as a program gets them; bytes leave the machine room as they came.
 */

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { pathToFileURL } from "node:url"
import { hostEnvironment } from "./lib/host.ts"
import { npmServer, root, tenonBin } from "./lib/program.ts"
import { makeScenery, type Scenery } from "./lib/scene.ts"

let scenery: Scenery

before(() => {
  scenery = makeScenery(() => ({ servers: { everything: { command: npmServer("everything") } } }))
})
after(() => scenery.stop())

interface Result {
  id: string
  value: any
  artifacts: { id: string; mimeType: string; bytes: number }[]
}

/** Runs a program and reads the result. */
async function exec(code: string): Promise<Result> {
  const { stdout, stderr, code: exit } = await scenery.tenon("--json", "exec", "-e", code)
  assert.equal(exit, 0, stdout + stderr)
  return JSON.parse(stdout)
}

/** The bytes of an artifact, as the command prints them. */
function bytesOf(run: string, artifact: string): Buffer {
  return execFileSync(tenonBin, ["runs", "output", run, "--artifact", artifact], {
    cwd: scenery.place.project,
    env: hostEnvironment(scenery.place),
  })
}

test("a program lists and reads resources, text as text and bytes as an artifact", async () => {
  const run = await exec(`
    const all = await resources.list({ server: "everything" })
    const templates = await resources.templates({ server: "everything" })
    const document = all.resources.find((each) => each.mimeType === "text/markdown")
    return {
      count: all.resources.length,
      problems: all.problems,
      templates: templates.resourceTemplates.map((each) => each.uriTemplate),
      document: await resources.read(document.uri),
      text: await resources.read("demo://resource/dynamic/text/3"),
      blob: await resources.read("demo://resource/dynamic/blob/4"),
    }`)
  assert.ok(run.value.count >= 5)
  assert.deepEqual(run.value.problems, [])
  assert.deepEqual(run.value.templates.sort(), [
    "demo://resource/dynamic/blob/{resourceId}",
    "demo://resource/dynamic/text/{resourceId}",
  ])
  assert.ok(run.value.document.length > 100)
  assert.match(run.value.text, /^Resource 3: /)
  assert.equal(run.value.blob.uri, "demo://resource/dynamic/blob/4")
  const kept = bytesOf(run.id, run.value.blob.artifact)
  assert.equal(kept.length, run.value.blob.bytes)
  assert.match(kept.toString(), /^Resource 4: /)
})

test("a program fills prompts in, with arguments and with a resource in them", async () => {
  const run = await exec(`
    const list = await prompts.list({ server: "everything" })
    return {
      names: list.prompts.map((each) => each.name),
      simple: await prompts.get("simple-prompt"),
      args: await prompts.get("args-prompt", { city: "Paris", state: "Texas" }),
      resource: await prompts.get("resource-prompt", { resourceType: "Text", resourceId: "2" }),
      missing: await prompts.get("args-prompt").catch((error) => error.kind),
    }`)
  for (const name of ["simple-prompt", "args-prompt", "resource-prompt"])
    assert.ok(run.value.names.includes(name), name)
  assert.equal(run.value.simple.messages[0].role, "user")
  assert.match(run.value.args.messages[0].content.text, /Paris, Texas/)
  assert.match(run.value.resource.messages[1].content.resource.text, /^Resource 2: /)
  assert.equal(typeof run.value.missing, "string")
})

test("embedded resources, links and pictures keep what they are, and no base64 is in the result", async () => {
  const run = await exec(`
    return {
      text: await everything.get_resource_reference({ resourceType: "Text", resourceId: 5 }),
      blob: await everything.get_resource_reference({ resourceType: "Blob", resourceId: 6 }),
      links: await everything.get_resource_links({ count: 2 }),
      image: await everything.get_tiny_image(),
    }`)
  const part = (parts: any[], type: string) => parts.find((each) => each.type === type)
  assert.match(part(run.value.text, "resource").resource.text, /^Resource 5: /)
  assert.match(bytesOf(run.id, part(run.value.blob, "resource").artifact).toString(), /^Resource 6: /)
  assert.equal(run.value.links.filter((each: any) => each.type === "resource_link").length, 2)

  const { MCP_TINY_IMAGE: sent } = await import(
    pathToFileURL(join(root, "test/node_modules/@modelcontextprotocol/server-everything/dist/tools/get-tiny-image.js"))
      .href
  )
  const image = part(run.value.image, "image")
  assert.equal(image.mimeType, "image/png")
  assert.ok(
    bytesOf(run.id, image.artifact).equals(Buffer.from(sent, "base64")),
    "the bytes are those that the server sent",
  )
  assert.ok(!JSON.stringify(run).includes(sent.slice(0, 64)))
  assert.ok(run.artifacts.some((each) => each.id === image.artifact && each.bytes === image.bytes))
})

test("the catalogue counts what it has, without a start", async () => {
  const { stdout, stderr, code } = await scenery.tenon("catalog")
  assert.equal(code, 0, stderr)
  assert.match(
    stdout,
    /tools\.everything: \d+ tools; \d+ resources, 2 templates, \d+ prompts \(resources\.list\({server: "everything"}\)\)/,
  )
})
