/** The plugin between the contract host and a scripted daemon, at every release. */

import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import type { RunResult } from "@tenon/proto"
import { startDouble, type Answers, type Double } from "../../bridge/test/double.ts"
import plugin from "../src/index.ts"
import {
  createHost,
  releases,
  type Context,
  type Host,
  type HostOptions,
  type Release,
  type SessionInfo,
} from "./host/index.ts"

Object.assign(globalThis, { __VERSION__: "0.0.0-test" })

const cleanups: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Runs after the test, the last first. */
export function afterwards(cleanup: () => Promise<unknown> | void): void {
  cleanups.push(cleanup)
}

/** What a test works with. */
export interface Bench {
  host: Host
  daemon: Double
  session: SessionInfo
  directory: string
  /** The context of another plugin beside tenon's. */
  probe(): Context
}

/** How a bench differs from the usual. */
export interface BenchOptions extends Partial<HostOptions> {
  /** Of the plugin. */
  options?: Record<string, unknown>
}

/** A directory of its own. */
export function freshDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "t2-")))
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A host with the plugin in it, and one session. */
export async function bench(release: Release, answers: Answers = {}, more: BenchOptions = {}): Promise<Bench> {
  const daemon = await startDouble({ "run/start": () => done("42"), "catalog/get": () => catalogue(""), ...answers })
  cleanups.push(() => daemon.remove())
  const directory = freshDirectory()
  mkdirSync(join(directory, "sub"))
  const { options, ...rest } = more
  let probe: Context
  const host = await createHost({
    version: release,
    directory,
    plugins: [
      { module: { default: { id: "probe", setup: (ctx: Context) => void (probe = ctx) } } },
      { module: () => ({ default: plugin }), options: { bin: daemon.bin, ...options } },
    ],
    ...rest,
  })
  cleanups.push(() => host.close())
  const session = await host.session.create({ directory })
  await connected(daemon, 1)
  return { host, daemon, session, directory, probe: () => probe }
}

/** Waits until so many instances have said hello and have read the answer. */
export async function connected(daemon: Double, instances: number): Promise<void> {
  await until("the plugin says hello", () => daemon.sent("bridge/hello").length >= instances)
  await daemon.peers.at(-1)!.request("session/resolve", { session: "ses_nobody" })
}

/** One test for each release. */
export function eachRelease(name: string, body: (release: Release) => Promise<void>): void {
  for (const release of releases) test(`${name} (${release})`, () => body(release))
}

/** A run's answer. */
export function done(text: string, more: Partial<RunResult> = {}) {
  const timing = { compute: 1, tools: 2, human: 0, queue: 0, total: 3 }
  const lists = { logs: [], emits: [], warnings: [], calls: [], artifacts: [] }
  const result = { id: "run_1", session: "s", ok: true, value: 1, stdout: "", stderr: "", truncated: false, timing }
  return { text, result: { ...result, ...lists, ...more } }
}

/** A call's answer. */
export function called(text: string) {
  const { timing } = done("").result
  return { value: text, text, artifacts: [], warnings: [], truncated: false, timing, session: "s" }
}

/** A catalogue's answer. */
export function catalogue(text: string, more: object = {}) {
  return { text, fingerprint: "f1", partial: false, delta: false, tokens: 1, total: 1, shown: 1, ...more }
}

/** Waits for a condition. */
export async function until(what: string, condition: () => unknown): Promise<void> {
  for (const deadline = Date.now() + 20_000; !(await condition()); await pause(2)) {
    assert.ok(Date.now() < deadline, `never: ${what}`)
  }
}
