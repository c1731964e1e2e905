/** How a module becomes a plugin. */

import assert from "node:assert/strict"
import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { plugin, rule } from "./lib.ts"
import type { Context, Host } from "../host/index.ts"

const wrongShape = "Plugin must export a default definition with an id and an effect or setup function."

async function states(host: Host) {
  return (await host.location()).plugins()
}

rule(1, "a default export with an id and a setup or an effect is a plugin; effect is preferred", async ({ host }) => {
  const calls: string[] = []
  const both = {
    id: "both",
    setup: () => void calls.push("setup"),
    effect: () => void calls.push("effect"),
    server: async () => ({}),
  }
  const made = await host({
    plugins: [
      { module: { default: { id: "plain", setup: () => void calls.push("plain"), more: 1 }, other: () => {} } },
      { module: { default: both } },
    ],
  })
  assert.deepEqual(calls, ["plain", "effect"])
  assert.deepEqual(await states(made), [
    { id: "plain", status: "active" },
    { id: "both", status: "active" },
  ])
})

rule(2, "another export fails with the host's words, and only that plugin", async ({ host }) => {
  const wrong: object[] = [
    { default: async () => ({}) },
    { default: { id: 7, setup() {} } },
    { default: { id: "no-functions" } },
    { setup() {}, id: "named" },
  ]
  const made = await host({
    plugins: [...wrong.map((module) => ({ module })), plugin("fine", () => {})],
  })
  const found = await states(made)
  for (const state of found.slice(0, 4)) {
    assert.equal(state.status, "failed")
    assert.equal("error" in state && state.error, wrongShape)
    assert.match("ref" in state ? state.ref : "", /^err_[0-9a-f]{8}$/)
  }
  assert.deepEqual(found[4], { id: "fine", status: "active" })
  assert.equal(made.log.filter((entry) => entry.message === "failed to load plugin").length, 4)
})

rule(2, "any other failure keeps its detail in the log", async ({ host, file }) => {
  file("broken/index.js", "throw new Error('the secret detail')")
  const made = await host({ plugins: ["./broken", plugin("fine", () => {})] })
  const [broken, fine] = await states(made)
  assert.equal(broken && "error" in broken && broken.error, "Plugin failed to load")
  assert.equal(fine?.status, "active")
  assert.match(JSON.stringify(made.log), /the secret detail/)
})

const source = (id: string) => `export default { id: ${JSON.stringify(id)}, setup() {} }`

rule(
  3,
  "a directory is entered by server, then by index, through a link as well",
  async ({ host, file, directory }) => {
    file("a/server.js", source("a-server"))
    file("a/index.js", source("a-index"))
    file("b/index.ts", source("b-index"))
    symlinkSync(join(directory, "b"), join(directory, "link"))
    const made = await host({ plugins: ["./a", "./link"] })
    assert.deepEqual(
      (await states(made)).map((state) => state.id),
      ["a-server", "b-index"],
    )
  },
)

rule(3, "a package is entered by its export ./server; its root only where the host falls back", async (given) => {
  const { host, file, switches } = given
  const manifest = (name: string, exports: object) =>
    file(`node_modules/${name}/package.json`, JSON.stringify({ name, type: "module", exports }))
  manifest("with-server", { ".": "./root.js", "./server": { import: "./dist/server.js" } })
  file("node_modules/with-server/dist/server.js", source("with-server"))
  file("node_modules/with-server/root.js", source("wrong"))
  manifest("root-only", { ".": "./root.js" })
  file("node_modules/root-only/root.js", source("root"))
  const made = await host({ plugins: ["with-server", "root-only"] })
  const [first, second] = await states(made)
  assert.deepEqual(first, { id: "with-server", status: "active" })
  assert.equal(second?.status, switches.packageRootFallback ? "active" : "failed")
})

rule(3, "an entry outside of its directory is refused", async ({ host, file, directory }) => {
  file("outside.js", source("outside"))
  mkdirSync(join(directory, "inner"))
  symlinkSync(join(directory, "outside.js"), join(directory, "inner", "server.js"))
  const made = await host({ plugins: ["./inner"] })
  assert.equal((await states(made))[0]?.status, "failed")
})

rule(4, "without an entry the target is named", async ({ host, directory }) => {
  mkdirSync(join(directory, "empty"))
  const made = await host({ plugins: ["./empty", "not-installed"] })
  const errors = (await states(made)).map((state) => "error" in state && state.error)
  assert.deepEqual(errors, [
    `Plugin entrypoint not found: ${join(directory, "empty")}`,
    "Plugin entrypoint not found: not-installed",
  ])
})

rule(5, "options are the configured ones, each plugin's own copy, and empty by default", async ({ host }) => {
  const seen: Record<string, any>[] = []
  const options = { nested: { list: [1] } }
  const setup = (ctx: Context) => {
    seen.push(ctx.options)
    if (ctx.options.nested) ctx.options.nested.list.push(2)
  }
  await host({
    plugins: [
      { module: { default: { id: "a", setup } }, options },
      { module: { default: { id: "b", setup } }, options },
      plugin("c", setup),
    ],
  })
  assert.deepEqual(seen, [{ nested: { list: [1, 2] } }, { nested: { list: [1, 2] } }, {}])
  assert.deepEqual(options, { nested: { list: [1] } })
})

rule(
  6,
  "a configured file is refused with a warning where it must be a directory; a discovered one loads",
  async (given) => {
    const { host, file, directory, switches } = given
    const single = file("single.js", source("single"))
    file("config/plugin/found.js", source("found"))
    const made = await host({ plugins: [single], roots: [join(directory, "config")] })
    const ids = (await states(made)).map((state) => state.id)
    assert.deepEqual(ids, switches.localFilePlugins ? ["found", "single"] : ["found"])
    const warned = made.log.some((entry) => entry.message === "configured plugin path must be a directory")
    assert.equal(warned, !switches.localFilePlugins)
  },
)

rule(7, "the second of two plugins with one id fails", async ({ host }) => {
  const ran: string[] = []
  const made = await host({
    plugins: [plugin("twin", () => void ran.push("first")), plugin("twin", () => void ran.push("second"))],
  })
  assert.deepEqual(
    (await states(made)).map((state) => state.status),
    ["active", "failed"],
  )
  assert.deepEqual(ran, ["first"])
})

rule(8, "discovered plugins come first, by path; entries with a dash remove", async ({ host, file, directory }) => {
  file("config/plugins/b.js", source("b"))
  file("config/plugin/z.ts", source("z"))
  file("config/plugins/c/index.js", source("c"))
  file("config/plugins/readme.md", "")
  const roots = [join(directory, "config")]
  const named = (name: string) => ({ ...(plugin(name, () => {}) as object), name }) as never
  const ids = async (plugins: any[]) => (await states(await host({ roots, plugins }))).map((state) => state.id)
  assert.deepEqual(await ids([named("last")]), ["z", "b", "c", "last"])
  assert.deepEqual(await ids(["-b", named("last")]), ["z", "c", "last"])
  assert.deepEqual(await ids(["-*", named("last")]), ["last"])
  assert.deepEqual(await ids([named("x.one"), named("x.two"), named("y"), "-x.*"]), ["z", "b", "c", "y"])
  await assert.rejects(host({ plugins: ["-"] }), /Plugin remove operation requires a target/)
})
