/** The connection: found, greeted, lost and found again, and never a hang. */

import assert from "node:assert/strict"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, test } from "node:test"
import {
  connect,
  explain,
  hostEnvironment,
  isFailure,
  wantedEnvironment,
  type Bridge,
  type BridgeOptions,
} from "../src/index.ts"
import { startDaemon } from "../src/daemon.ts"
import { hostVariables } from "../src/environment.ts"
import { fault, startDouble, welcome, type Answers, type Double } from "./double.ts"

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function double(answers: Answers = {}): Promise<Double> {
  const made = await startDouble(answers)
  cleanups.push(() => made.remove())
  return made
}

function open(bin: string, more: Partial<BridgeOptions> = {}): Bridge {
  const bridge = connect({
    bin,
    env: {},
    hello: {
      build: { version: "0.1.0", commit: "" },
      plugin: "opencode-tenon",
      host: "opencode-v1",
      pid: process.pid,
      directory: "/project",
      interactive: true,
      env: {},
    },
    handlers: {},
    ...more,
  })
  cleanups.push(() => bridge.close())
  return bridge
}

function program(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), "tp-"))
  cleanups.push(async () => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, "tenon")
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o700 })
  return path
}

const failure = (check: (error: { kind: string; message: string; hint: string }) => void) => (error: unknown) => {
  assert.ok(isFailure(error), String(error))
  check(error)
  return true
}

test("asks the program where the daemon is and says hello", async () => {
  const daemon = await double()
  const bridge = open(daemon.bin)
  const hello = await bridge.opened(5_000)
  assert.equal(hello?.session, "dir:1")
  assert.equal(daemon.sent("bridge/hello")[0]?.protocol, 1)
})

test("a missing program is one sentence", async () => {
  const bridge = open("/nowhere/tenon")
  assert.equal(await bridge.opened(5_000), undefined)
  assert.equal(
    explain(bridge.problem()),
    'the tenon program was not found: /nowhere/tenon does not exist (install tenon, or name it with the plugin option "bin")',
  )
})

test("a daemon that does not start says why", async () => {
  const bridge = open(program("echo 'lock held by pid 7' >&2; exit 3"))
  assert.equal(await bridge.opened(5_000), undefined)
  assert.match(bridge.problem().message, /did not start: lock held by pid 7/)
})

test("a program that hangs holds nobody up", async () => {
  const bridge = open(program("exec sleep 5"))
  const begun = performance.now()
  assert.equal(await bridge.opened(100), undefined)
  assert.ok(performance.now() - begun < 1_000)
})

test("a program that hangs is given up, also when a child of it holds its output open", async () => {
  const bin = program('sleep 600 & echo $! >"$0.child"; wait')
  const begun = performance.now()
  await assert.rejects(
    startDaemon(bin, process.env, undefined, 500),
    failure(({ kind, message }) => {
      assert.equal(kind, "DaemonUnavailable")
      assert.match(message, /did not answer within 0.5 s/)
    }),
  )
  assert.ok(performance.now() - begun < 10_000)
  await gone(Number(readFileSync(`${bin}.child`, "utf8")))
})

test("a bridge that is closed while the program starts a daemon ends the program, and connects no more", async () => {
  const bin = program('echo $$ >"$0.pid"; exec sleep 600')
  const bridge = open(bin, { env: process.env })
  const pid = await until(
    "the program runs",
    () => existsSync(`${bin}.pid`) && Number(readFileSync(`${bin}.pid`, "utf8")),
  )
  await bridge.close()
  await gone(pid)
  assert.equal(await bridge.opened(5_000), undefined)
})

/** Polls until `condition` gives something that is true. */
async function until<T>(what: string, condition: () => T | false | undefined): Promise<T> {
  for (const deadline = Date.now() + 20_000; ;) {
    const value = condition()
    if (value) return value
    assert.ok(Date.now() < deadline, `never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Waits for the end of a process. */
async function gone(pid: number) {
  await until(`process ${pid} is gone`, () => {
    try {
      process.kill(pid, 0)
      return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8")) // nobody has collected it yet
    } catch {
      return true
    }
  })
}

test("another protocol is refused with both numbers", async () => {
  const daemon = await double()
  daemon.answers["bridge/hello"] = () => ({ ...welcome(daemon.socket), protocol: 99 })
  const bridge = open(daemon.bin)
  assert.equal(await bridge.opened(5_000), undefined)
  assert.equal(bridge.problem().kind, "ProtocolMismatch")
  assert.match(bridge.problem().message, /99.*1/)
})

test("failures keep their kind", async () => {
  const daemon = await double({
    "status/get": () => {
      throw fault("NotFound", "no session ses_9")
    },
  })
  const bridge = open(daemon.bin)
  await bridge.opened(5_000)
  await assert.rejects(
    bridge.request("status/get", { session: "ses_9" }),
    failure(({ kind, message }) => assert.deepEqual([kind, message], ["NotFound", "no session ses_9"])),
  )
})

test("an answer that is not in the schemas is named", async () => {
  const daemon = await double({ "catalog/search": () => ({ items: [], total: 0, next: null }) })
  const bridge = open(daemon.bin)
  await bridge.opened(5_000)
  await assert.rejects(
    bridge.request("catalog/search", { query: "x" }),
    failure(({ message }) => assert.match(message, /remaining: is missing/)),
  )
})

test("the daemon's questions are answered beside each other", async () => {
  const daemon = await double()
  let release = () => {}
  const first = new Promise<void>((resolve) => (release = resolve))
  const bridge = open(daemon.bin, {
    handlers: {
      "session/resolve": async ({ session }) => {
        if (session === "slow") await first
        return { known: false, session }
      },
    },
  })
  await bridge.opened(5_000)
  const slow = daemon.peers[0]!.request("session/resolve", { session: "slow" })
  assert.equal((await daemon.peers[0]!.request("session/resolve", { session: "quick" })).session, "quick")
  release()
  assert.equal((await slow).session, "slow")
})

test("mistakes of the daemon are answered with their names", async () => {
  const daemon = await double()
  const bridge = open(daemon.bin, { handlers: { "session/resolve": ({ session }) => ({ known: false, session }) } })
  await bridge.opened(5_000)
  const peer = daemon.peers[0]!
  await assert.rejects(peer.request("session/resolve", {} as never), /session: is missing/)
  await assert.rejects(
    peer.request("session/resolve", { session: "s", more: 1 } as never),
    /more: is not a known field/,
  )
  await assert.rejects(peer.request("notice/show", { level: "info", message: "" }), /no method "notice\/show"/)
})

test("an abort cancels the request with its reason, and gives the daemon a moment to answer", async () => {
  const daemon = await double()
  daemon.answers["status/get"] = () => new Promise(() => {}) // never
  const bridge = open(daemon.bin)
  await bridge.opened(5_000)
  const control = new AbortController()
  const request = bridge.request("status/get", { session: "s" }, { signal: control.signal, grace: 50 })
  const begun = performance.now()
  control.abort()
  await assert.rejects(
    request,
    failure(({ kind }) => assert.equal(kind, "Cancelled")),
  )
  const took = performance.now() - begun
  assert.ok(took >= 45 && took < 240, `${took} ms`)
  await bridge.request("session/detach", { session: "s", deleted: false }) // the cancel went before
  assert.deepEqual(daemon.sent("$/cancelRequest"), [{ id: 2, reason: "user" }])
})

test("an abort after success cancels nothing", async () => {
  const daemon = await double()
  const bridge = open(daemon.bin)
  await bridge.opened(5_000)
  const control = new AbortController()
  await bridge.request("session/detach", { session: "s", deleted: false }, { signal: control.signal })
  control.abort()
  await bridge.request("session/detach", { session: "t", deleted: false })
  assert.deepEqual(daemon.sent("$/cancelRequest"), [])
})

test("a lost daemon fails what is in flight, and the next call works", async () => {
  const daemon = await double()
  daemon.answers["status/get"] = () => new Promise(() => {})
  let opened = 0
  const bridge = open(daemon.bin, { onOpen: async () => void opened++ })
  await bridge.opened(5_000)
  const request = bridge.request("status/get", { session: "s" })
  const failed = assert.rejects(
    request,
    failure(({ kind, message }) => {
      assert.equal(kind, "DaemonUnavailable")
      assert.match(message, /connection to the tenon daemon was lost/)
    }),
  )
  await daemon.stop()
  await failed
  assert.equal(bridge.current(), undefined)
  await assert.rejects(
    bridge.request("status/get", { session: "s" }),
    failure(({ kind }) => assert.equal(kind, "DaemonUnavailable")),
  )
  await daemon.start()
  assert.ok(await bridge.opened(10_000))
  assert.equal(opened, 2)
})

test("a request of the daemon ends with its connection", async () => {
  const daemon = await double()
  const reason = new Promise<unknown>((resolve) => {
    const bridge = open(daemon.bin, {
      handlers: {
        "permission/ask": (_, signal) =>
          new Promise((answer) => {
            signal.addEventListener("abort", () => (resolve(signal.reason), answer({ reply: "unavailable" })))
          }),
      },
    })
    void bridge.opened(5_000).then(() => {
      const origin = { session: "s" }
      daemon.peers[0]!.request("permission/ask", { id: "a", origin, key: "k", server: "s", tool: "t" }).catch(() => {})
      return daemon.stop()
    })
  })
  assert.match(String(await reason), /was lost/)
})

test("only allow-listed and wanted variables leave the host", () => {
  const env = { PATH: "/bin", LC_ALL: "C", SECRET: "s", BROWSER_TOKEN: "b", TENON_TICKET: "t", TENON_SESSION_ID: "i" }
  assert.deepEqual(hostEnvironment(env), { PATH: "/bin", LC_ALL: "C" })
  assert.deepEqual(wantedEnvironment(env, ["BROWSER_TOKEN", "TENON_TICKET", "ABSENT"]), { BROWSER_TOKEN: "b" })
})

test("the allow-list is the daemon's", () => {
  const fixture = new URL("../../../proto/fixtures/environment.json", import.meta.url)
  assert.deepEqual([...hostVariables].sort(), JSON.parse(readFileSync(fixture, "utf8")).sort())
})

test("a daemon that hangs is not waited for, and is met again when it goes on", async () => {
  let hangs = false
  const never = new Promise<never>(() => {})
  const daemon = await double({
    "status/get": () => (hangs ? never : Promise.reject(fault("UsageError", "no session"))),
    "catalog/search": async () => {
      while (!hangs && daemon.sent("status/get").length < 3) await new Promise((resolve) => setTimeout(resolve, 5))
      return hangs ? never : { items: [], total: 0, remaining: 0, next: null }
    },
  })
  const bridge = open(daemon.bin, { silence: 50 })
  await bridge.opened(5_000)
  await bridge.request("catalog/search", { query: "slow, but it gives signs of life" })
  hangs = true
  await assert.rejects(
    bridge.request("catalog/search", { query: "x" }),
    failure(({ kind, message, hint }) => {
      assert.equal(kind, "DaemonUnavailable")
      assert.match(message, /does not answer/)
      assert.match(hint, /unknown/)
    }),
  )
  hangs = false
  assert.ok(await bridge.opened(5_000))
  await bridge.request("catalog/search", { query: "again" })
})

test("nothing of a closed bridge keeps its process from ending, though the daemon says no goodbye", async () => {
  const daemon = await double()
  const pipes = () => process.getActiveResourcesInfo().filter((each) => each === "PipeWrap").length
  const before = pipes()
  const bridge = open(daemon.bin)
  await bridge.opened(5_000)
  daemon.peers[0]!.pause()
  await bridge.close()
  await until("only the daemon's end is open", () => pipes() <= before + 1)
})
