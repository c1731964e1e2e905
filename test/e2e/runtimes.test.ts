/** The bridge client speaks to the real daemon from both runtimes that hosts are built on. */

import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { promisify } from "node:util"
import { hostEnvironment } from "./lib/host.ts"
import { bunBin, makePlace, root, tenonBin, type Place } from "./lib/program.ts"
import { fake, leave, writeConfig } from "./lib/scene.ts"

let place: Place

before(() => {
  place = makePlace()
  writeConfig(place, { servers: { srv: { command: fake(place, "srv"), scope: "session" } } })
})
after(() => leave(place))

const client = join(root, "test/e2e/lib/peer.ts")
const runtimes: Record<string, () => [string, string[]]> = {
  node: () => [process.execPath, ["--import", "tsx", client]],
  bun: () => [bunBin(), [client]],
}

for (const [name, command] of Object.entries(runtimes)) {
  test(`calls and aborts from ${name}`, async () => {
    const [bin, args] = command()
    const { stdout } = await promisify(execFile)(bin, [...args, tenonBin, place.project], {
      cwd: root,
      env: hostEnvironment(place),
    })
    assert.deepEqual(JSON.parse(stdout), { runtime: name, session: true, echoed: "hi", cancelled: "Cancelled" })
  })
}
