/** The plugin between a scripted host and a scripted daemon, for its tests. */

import assert from "node:assert/strict"
import { afterEach } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import type { RunResult } from "@tenon/proto"
import { startDouble, type Answers, type Double } from "../../bridge/test/double.ts"
import type { Hooks } from "../src/host.ts"
import tenon from "../src/index.ts"
import { fakeHost, type FakeHost } from "./fakehost.ts"

Object.assign(globalThis, { __VERSION__: "0.0.0-test" })

/** What a test has made, ended after it in reverse. */
export const cleanups: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** The plugin with both of its sides. */
export interface Bench {
  host: FakeHost
  daemon: Double
  hooks: Required<Hooks>
}

/** Loads the plugin between a host and a daemon that gives these answers. */
export async function bench(answers: Answers = {}, options: Record<string, unknown> = {}): Promise<Bench> {
  const daemon = await startDouble({ "run/start": () => done("42"), ...answers })
  cleanups.push(() => daemon.remove())
  const host = fakeHost()
  const hooks = (await tenon(
    { client: host.client, directory: "/project", worktree: "/" },
    { bin: daemon.bin, ...options },
  )) as Required<Hooks>
  host.hooks = hooks
  cleanups.push(() => hooks.dispose())
  return { host, daemon, hooks }
}

/** The answer to a run that has ended well. */
export function done(text: string, more: Partial<RunResult> = {}) {
  const timing = { compute: 1, tools: 2, human: 0, queue: 0, total: 3 }
  const lists = { logs: [], emits: [], warnings: [], calls: [], artifacts: [] }
  const result = { id: "run_1", session: "ses_1", ok: true, value: 1, stdout: "", stderr: "", truncated: false, timing }
  return { text, result: { ...result, ...lists, ...more } }
}

/** The answer to a call. */
export const called = (text: string) => {
  const { timing } = done("").result
  return { value: text, text, artifacts: [], warnings: [], truncated: false, timing, session: "ses_1" }
}

/** Waits for a condition. */
export async function until(what: string, condition: () => unknown) {
  for (const deadline = Date.now() + 20_000; !(await condition()); await pause(2)) {
    assert.ok(Date.now() < deadline, `never: ${what}`)
  }
}
