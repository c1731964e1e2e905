/** What a server asks, put to the host's user as far as opencode v1 can. */

import assert from "node:assert/strict"
import { afterEach, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import type { Answer, Question } from "@tenon/proto"
import { startDouble, type Double } from "../../bridge/test/double.ts"
import type { Hooks } from "../src/host.ts"
import tenon from "../src/index.ts"
import { fakeHost, hostError, type FakeHost } from "./fakehost.ts"

Object.assign(globalThis, { __VERSION__: "0.0.0-test" })

const cleanups: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const timing = { compute: 1, tools: 2, human: 0, queue: 0, total: 3 }

interface Bench {
  host: FakeHost
  daemon: Double
  /** A tool call of the host during which the server asks. */
  call(question: Partial<Question>): { answer: Promise<Answer>; over: Promise<unknown>; cancel(): void }
}

async function bench(options: Record<string, unknown> = { interactive: true }): Promise<Bench> {
  let ask: ((origin: Question["origin"], peer: Double["peers"][number]) => Promise<void>) | undefined
  const daemon = await startDouble({
    "call/start": async ({ origin }, peer) => {
      await ask?.(origin, peer)
      return { value: "done", text: "done", artifacts: [], warnings: [], truncated: false, timing, session: "ses_1" }
    },
  })
  cleanups.push(() => daemon.remove())
  const host = fakeHost()
  const hooks = (await tenon(
    { client: host.client, directory: "/project", worktree: "/" },
    { bin: daemon.bin, ...options },
  )) as Required<Hooks>
  host.hooks = hooks
  cleanups.push(() => hooks.dispose())
  return {
    host,
    daemon,
    call(question) {
      const ctx = host.context("c1")
      let over: Promise<unknown> = Promise.resolve()
      const answer = new Promise<Answer>((resolve, reject) => {
        ask = async (origin, peer) => {
          const whole: Question = {
            id: "ask_1",
            origin,
            server: "my.srv",
            tool: "book",
            kind: "elicitation",
            params: {},
            ...question,
          }
          await peer.request("elicitation/ask", whole).then(resolve, reject)
        }
        over = hooks.tool.tenon_call!.execute({ server: "my.srv", tool: "book" }, ctx)
        over.catch(reject)
      })
      return { answer, over, cancel: () => ctx.cancel() }
    },
  }
}

async function until(what: string, condition: () => unknown) {
  for (const deadline = Date.now() + 20_000; !(await condition()); await pause(2)) {
    assert.ok(Date.now() < deadline, `never: ${what}`)
  }
}

const asking = (key: string) => (key === "my_srv_elicitation" ? "ask" : "allow")
const page = { mode: "url", message: "Sign \u001b[2Jin", url: "https://example.com/x", elicitationId: "e" }

test("a page is consented to in the host's dialog, with the address beside it", async () => {
  const { host, daemon, call } = await bench()
  host.verdict = asking
  const { answer, over } = call({ params: page })
  await until("a request", () => host.requests.length === 1)
  assert.equal(host.requests[0]!.permission, "my_srv_elicitation")
  assert.deepEqual(host.requests[0]!.always, [], "an answer holds for one question")
  assert.equal(host.requests[0]!.metadata.url, page.url)
  await until("shown", () => daemon.sent("permission/shown").length === 1)
  const toast = host.toasts.at(-1) as { message: string }
  assert.match(toast.message, /my\.srv asks: Sign {1,2}\[2Jin .*https:\/\/example\.com\/x/)
  host.requests[0]!.answer("once")
  assert.deepEqual(await answer, { result: { action: "accept" } })
  await over
})

test("a form without fields is a yes or no, and a no is a decline that does not end the turn", async () => {
  const { host, call } = await bench()
  host.verdict = asking
  const yes = call({ params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } } })
  await until("a request", () => host.requests.length === 1)
  host.requests[0]!.answer("once")
  assert.deepEqual(await yes.answer, { result: { action: "accept", content: {} } })
  await yes.over
  const no = call({ params: { message: "Sure?" } })
  await until("a request", () => host.requests.length === 1)
  host.requests[0]!.answer("reject", hostError("PermissionRejectedError"))
  assert.deepEqual(await no.answer, { result: { action: "decline" } })
  await no.over
})

test("a yes that nobody gave is no answer", async () => {
  const { host, call } = await bench()
  host.verdict = () => "allow"
  const { answer } = call({ params: page })
  assert.match((await answer).unavailable!, /rules allow my_srv_elicitation without asking/)
})

test("what the host has no dialog for is unavailable at once", async () => {
  const { host, call } = await bench()
  const fields = { message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } }
  host.verdict = asking
  assert.match((await call({ params: fields }).answer).unavailable!, /no forms/)
  assert.match((await call({ kind: "sampling", params: {} }).answer).unavailable!, /no model/)
  const long = { ...page, url: "https://example.com/" + "x".repeat(600) }
  assert.match((await call({ params: long }).answer).unavailable!, /too long/)
  const elsewhere = { session: "ses_1", call: "bash_1" }
  assert.match((await call({ params: page, origin: elsewhere }).answer).unavailable!, /no tool call/)
  assert.equal(host.requests.length, 0)
})

test("where nobody watches nobody is asked", async () => {
  const { host, call } = await bench({ interactive: false })
  host.verdict = asking
  assert.match((await call({ params: page }).answer).unavailable!, /nobody watches/)
})

test("a question that was taken back leaves no request behind", async () => {
  const { host, daemon, call } = await bench()
  host.verdict = asking
  const { answer, over } = call({ params: page })
  await until("shown", () => daemon.sent("permission/shown").length === 1)
  await daemon.peers[0]!.request("permission/withdraw", { id: "ask_1", reason: "the server took it back" })
  assert.match((await answer).unavailable!, /taken back/)
  await until("the request is gone", () => host.requests.length === 0)
  assert.deepEqual(host.replies, [{ id: "per_1", response: "once" }])
  await over
})
