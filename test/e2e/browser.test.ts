/** A real browser server: one browser for each session, the same page from run to run, nothing left behind. */

import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { after, afterEach, before, beforeEach, test } from "node:test"
import { root } from "./lib/program.ts"
import { makeScenery, type Scenery } from "./lib/scene.ts"
import { until } from "./lib/until.ts"

const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync)
const skip = chromium ? false : "no Chromium is installed here, and only root may install one"

let site: Server
let url = ""
let scenery: Scenery

before(async () => {
  // A page that counts its visits in a cookie.
  site = createServer((request, response) => {
    if (request.url !== "/") return void response.writeHead(404).end() // the browser asks for an icon besides
    const visits = Number(/visits=(\d+)/.exec(request.headers.cookie ?? "")?.[1] ?? 0) + 1
    response.writeHead(200, { "content-type": "text/html", "set-cookie": `visits=${visits}` })
    response.end(`<title>Visits</title><p>visit ${visits}</p>`)
  })
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`
})
after(() => {
  site.close()
  site.closeAllConnections()
})

beforeEach(() => {
  scenery = makeScenery((place) => ({
    servers: {
      browser: {
        command: [
          process.execPath,
          join(root, "test/node_modules/@playwright/mcp/cli.js"),
          "--headless",
          "--no-sandbox",
          "--isolated",
          `--executable-path=${chromium}`,
          `--output-dir=${place.state}`,
        ],
        scope: "session",
        startTimeout: "120s",
        callTimeout: "120s",
      },
    },
  }))
})
afterEach(() => scenery.stop())

/** Runs a program in a named session; its value must be text. */
async function run(session: string, code: string): Promise<string> {
  const out = await scenery.tenon("--session", session, "exec", "-e", code)
  assert.equal(out.code, 0, out.stderr)
  return out.stdout
}

const visit = (session: string) => run(session, `await browser.browser_navigate({ url: ${JSON.stringify(url)} })`)
const look = (session: string) => run(session, "await browser.browser_snapshot({})")

/** The processes of this test's browsers: those that live in its private home. */
function processes(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const mine = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${scenery.place.home}`)
        return mine && /chrom|playwright/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"))
      } catch {
        return false // ended meanwhile
      }
    })
}
const gone = () => until("every process of the browsers is gone", () => processes().length === 0)

test(
  "two sessions have two browsers, whose cookies are apart; one session keeps its page from run to run",
  { skip },
  async () => {
    await Promise.all([visit("one"), visit("two")])
    await visit("one")
    assert.match(await look("one"), /visit 2/)
    assert.match(await look("two"), /visit 1/)
    const rows = JSON.parse((await scenery.tenon("leases", "--json")).stdout) as { session: string; instance: string }[]
    assert.equal(new Set(rows.map((row) => row.instance)).size, 2)
  },
)

test("a released browser is gone with its whole process tree, and the other one lives", { skip }, async () => {
  await Promise.all([visit("one"), visit("two")])
  const both = processes().length
  const rows = JSON.parse((await scenery.tenon("leases", "--json")).stdout) as { id: string; session: string }[]
  const lease = rows.find((row) => row.session === "one")!
  assert.equal((await scenery.tenon("release", lease.id)).code, 0)
  await until("half of the processes", () => processes().length <= both / 2)
  assert.match(await look("two"), /visit 1/)
  const other = rows.find((row) => row.session === "two")!
  assert.equal((await scenery.tenon("release", other.id)).code, 0)
  await gone()
})

/** Cancels the one run that goes on. */
async function cancel() {
  const run = await until("the run", async () => {
    const rows = JSON.parse((await scenery.tenon("runs", "list", "--live", "--json")).stdout) as { id: string }[]
    return rows[0]?.id
  })
  assert.equal((await scenery.tenon("runs", "cancel", run)).code, 0)
}

test("a cancelled run leaves its session the page, and the session's end takes the browser", { skip }, async () => {
  await visit("one")
  const waiting = scenery.tenon("--session", "one", "exec", "-e", "await browser.browser_wait_for({ time: 100 })")
  await cancel()
  assert.equal((await waiting).code, 130)
  assert.match(await look("one"), /visit 1/)
  assert.equal((await scenery.tenon("sessions", "end", "one")).code, 0)
  await gone()
})

test("a lone run that is cancelled takes its browser with it", { skip }, async () => {
  const code = `await browser.browser_navigate({ url: ${JSON.stringify(url)} }); await browser.browser_wait_for({ time: 100 })`
  const waiting = scenery.tenon("exec", "-e", code)
  await until("a browser", () => processes().length > 1)
  await cancel()
  assert.equal((await waiting).code, 130)
  await gone()
})

test("a killed daemon leaves no browser", { skip }, async () => {
  await Promise.all([visit("one"), visit("two")])
  assert.ok(processes().length > 0)
  process.kill(scenery.daemon(), "SIGKILL")
  await gone()
})
