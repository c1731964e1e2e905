/** The ways to the user, in their order. */

import assert from "node:assert/strict"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import type { Answer, Ask, AskReply } from "@tenon/proto"
import type { Peer } from "../../bridge/test/double.ts"
import { fault } from "../../bridge/test/double.ts"
import {
  afterwards,
  bench,
  called,
  connected,
  done,
  eachRelease,
  until,
  type Bench,
  type BenchOptions,
} from "./bench.ts"
import { type Dialog, type Release } from "./host/index.ts"
import plugin from "../src/index.ts"
import tui from "../src/tui.ts"

/** A bench whose host's HTTP API the plugin knows. */
async function withDialogs(release: Release, answers = {}, more: BenchOptions = {}): Promise<Bench> {
  const made = await bench(release, answers, { http: true, ...more })
  const { url, password } = made.host.http!
  const options = { bin: made.daemon.bin, url, password }
  await (await made.host.location()).configure([{ module: () => ({ default: plugin }), options }])
  await connected(made.daemon, 2)
  return made
}

const ask = (session: string, more: Partial<Ask> = {}): Ask => ({
  id: `ask_${Math.random()}`,
  origin: { session, agent: "build" },
  key: "srv_write",
  server: "srv",
  tool: "write",
  arguments: { path: "/a" },
  ...more,
})

/** The bridge of the present instance. */
const peerOf = ({ daemon }: Bench): Peer => daemon.peers.at(-1)!

const put = (made: Bench, more: Partial<Ask> = {}): Promise<AskReply> =>
  peerOf(made).request("permission/ask", ask(made.session.id, more))

eachRelease("with an address, opencode's own dialog asks, also for a script from bash", async (release) => {
  const made = await withDialogs(release)
  const { host, daemon, session } = made
  const reply = put(made, { id: "ask_1" })
  const asked = await host.user.asked()
  assert.deepEqual([asked.sessionID, asked.action, asked.resources, asked.save], [session.id, "srv_write", ["*"], []])
  assert.deepEqual([asked.metadata?.server, asked.metadata?.arguments], ["srv", { path: "/a" }])
  assert.equal(asked.message ?? asked.reason, "Call tool srv_write")
  await until("it is said to be shown", () => daemon.sent("permission/shown").some(({ id }) => id === "ask_1"))
  await host.user.reply(asked, "once")
  assert.deepEqual(await reply, { reply: "once" })
  const again = put(made)
  await host.user.reply(await host.user.asked(), "always")
  assert.deepEqual(await again, { reply: "always" })
  assert.deepEqual(host.saved(session.projectID), [], "tenon remembers, opencode does not")
  const third = put(made)
  await host.user.reply(await host.user.asked(), "reject")
  assert.deepEqual(await third, { reply: "reject" })
})

eachRelease("a request of fetch is asked for by its address", async (release) => {
  const made = await withDialogs(release)
  const reply = put(made, {
    key: "webfetch",
    server: "webfetch",
    tool: "GET a.example",
    resource: "https://a.example/x",
  })
  const asked = await made.host.user.asked()
  assert.deepEqual([asked.action, asked.resources], ["webfetch", ["https://a.example/x"]])
  assert.equal(asked.message ?? asked.reason, "Fetch https://a.example/x")
  await made.host.user.reply(asked, "once")
  assert.deepEqual(await reply, { reply: "once" })
})

eachRelease("a rule of opencode denies without asking", async (release) => {
  const made = await withDialogs(
    release,
    {},
    { config: { permissions: [{ action: "srv_*", resource: "*", effect: "deny" }] } },
  )
  assert.deepEqual(await put(made), { reply: "reject", denied: true })
  assert.deepEqual(made.host.user.pending(), [])
})

eachRelease("several questions wait at once and are answered each by itself", async (release) => {
  const made = await withDialogs(release)
  const replies = ["a", "b", "c"].map((key) => put(made, { key: `srv_${key}` }))
  await until("all are asked", () => made.host.user.pending().length === 3)
  const find = (key: string) => made.host.user.pending().find(({ action }) => action === key)!
  await made.host.user.reply(find("srv_b"), "once")
  assert.deepEqual(await replies[1], { reply: "once" })
  await made.host.user.reply(find("srv_c"), "reject", "not this one")
  assert.equal((await replies[2])?.reply, "reject")
  await made.host.user.reply(find("srv_a"), "once")
  assert.deepEqual(await replies[0], { reply: "once" })
})

eachRelease("what is withdrawn, cancelled or unloaded leaves no dialog, and rejects no other", async (release) => {
  const made = await withDialogs(release)
  const { host, session } = made
  const kept = host.assert(session, "other", ["*"]).then(
    () => "allowed",
    () => "rejected",
  )
  void kept
  const reply = put(made, { id: "ask_w" })
  await host.user.asked(({ action }) => action === "srv_write")
  await peerOf(made).request("permission/withdraw", { id: "ask_w", reason: "answered elsewhere" })
  assert.deepEqual(await reply, { reply: "unavailable" })
  assert.equal(host.user.pending().filter(({ action }) => action === "srv_write").length, 0)
  await peerOf(made).request("permission/withdraw", { id: "ask_w", reason: "again" })
  const last = put(made, { id: "ask_u" }).catch(() => "gone")
  await host.user.asked(({ action }) => action === "srv_write")
  await host.close()
  await last
  assert.deepEqual(
    host.user.pending().filter(({ action }) => action === "srv_write"),
    [],
  )
})

eachRelease("a question leaves the host's other permissions as they are", async (release) => {
  const made = await withDialogs(release)
  const { host, session } = made
  assert.equal(await host.evaluate(session, "srv_write", ["*"]), "allow")
  const reply = put(made)
  const asked = await host.user.asked()
  assert.equal(await host.evaluate(session, "srv_write", ["*"]), "allow", "only the plugin's own request")
  await host.user.reply(asked, "once")
  await reply
})

test("an address that is another process's server asks nobody", async () => {
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader("content-type", "application/json").end('{"id":"per_x","effect":"ask"}')
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  afterwards(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made = await bench("2.0.23", {}, { options: { url, password: "x" } })
  assert.deepEqual(await put(made), { reply: "unavailable" })
})

/** A bench with a TUI that has tenon's entry. */
async function withTui(release: Release, answers: (dialog: Dialog) => unknown, daemonAnswers = {}) {
  const made = await bench(release, daemonAnswers)
  const terminal = await made.host.tui({ default: tui }, { answers })
  afterwards(() => terminal.close())
  return { ...made, terminal }
}

eachRelease("without an address, tenon's entry in the TUI asks", async (release) => {
  const answers: unknown[] = ["once", "always", "reject", undefined]
  const made = await withTui(release, () => answers.shift())
  assert.deepEqual(await put(made), { reply: "once" })
  assert.deepEqual(await put(made), { reply: "always" })
  assert.deepEqual(await put(made), { reply: "reject" })
  assert.deepEqual(await put(made), { reply: "reject" }, "a dialog that is put away")
  assert.equal(made.daemon.sent("permission/shown").length, 4)
  const [dialog] = made.terminal.dialogs
  assert.equal(dialog?.kind, "select")
  assert.match(dialog!.title!, /Call tool srv_write .*"path":"\/a"/)
  assert.match(made.terminal.toasts[0]!.message, /srv_write/)
})

eachRelease("two questions are one dialog after the other; one that is withdrawn is not answered", async (release) => {
  let first: (answer: string) => void = () => {}
  const dialogs: Dialog[] = []
  const made = await withTui(release, (dialog) => {
    dialogs.push(dialog)
    if (dialogs.length > 1) return "once"
    return new Promise((resolve) => (first = resolve))
  })
  const one = put(made, { id: "ask_1", key: "srv_a" })
  await until("the first is shown", () => dialogs.length === 1)
  const two = put(made, { id: "ask_2", key: "srv_b" })
  await until("both are said to be shown", () => made.daemon.sent("permission/shown").length === 2)
  assert.equal(dialogs.length, 1)
  await peerOf(made).request("permission/withdraw", { id: "ask_1", reason: "timeout" })
  assert.deepEqual(await one, { reply: "unavailable" })
  first("once")
  assert.deepEqual(await two, { reply: "once" })
})

eachRelease("notices are toasts where a TUI shows them, and are refused where none does", async (release) => {
  const made = await withTui(release, () => undefined)
  await peerOf(made).request("notice/show", { level: "warning", message: "srv_x waits" })
  assert.deepEqual(made.terminal.toasts.at(-1), { message: "tenon: srv_x waits", variant: "warning" })
  const lone = await bench(release)
  await assert.rejects(peerOf(lone).request("notice/show", { level: "info", message: "x" }), /no TUI/)
})

eachRelease("without a TUI, opencode's question tool asks at the call that it belongs to", async (release) => {
  const picks = ["Allow once", "Always allow", "Reject", "use staging instead", "dismiss"]
  const replies: AskReply[] = []
  const made = await bench(release, {
    "run/start": async ({ origin }, peer) => {
      while (picks.length > 0) replies.push(await peer.request("permission/ask", ask(origin.session, { origin })))
      return done("1")
    },
  })
  made.host.user.fills((form) => {
    assert.equal(form.sessionID, made.session.id)
    const pick = picks.shift()!
    return pick === "dismiss" ? "dismiss" : { accept: [[pick]] }
  })
  await made.host.call(made.session, "tenon_exec", { code: "1" })
  assert.deepEqual(replies, [
    { reply: "once" },
    { reply: "always" },
    { reply: "reject" },
    { reply: "reject", feedback: "use staging instead" },
    { reply: "reject" },
  ])
})

eachRelease(
  "an agent that may not ask, and a script without a call, are left to the approvals queue",
  async (release) => {
    const rules = [{ action: "question", resource: "*", effect: "deny" as const }]
    const replies: AskReply[] = []
    const made = await bench(
      release,
      {
        "run/start": async ({ origin }, peer) => {
          replies.push(await peer.request("permission/ask", ask(origin.session, { origin })))
          return done("1")
        },
      },
      { config: { permissions: rules } },
    )
    await made.host.call(made.session, "tenon_exec", { code: "1" })
    assert.deepEqual(replies, [{ reply: "unavailable" }])
    assert.deepEqual(await put(made), { reply: "unavailable" })
    assert.deepEqual(made.host.user.forms(), [])
  },
)

eachRelease("the cancel key takes the question of its call back", async (release) => {
  let reply: Promise<AskReply> | undefined
  const made = await withDialogs(release, {
    "run/start": ({ origin }: any, peer: Peer) => {
      reply = peer.request("permission/ask", ask(origin.session, { origin }))
      return new Promise(() => {})
    },
  })
  const running = made.host.call(made.session, "tenon_exec", { code: "1" })
  await made.host.user.asked()
  await made.host.interrupt(made.session)
  await running
  assert.deepEqual(await reply, { reply: "unavailable" })
  assert.deepEqual(made.host.user.pending(), [])
})

eachRelease("a refused call ends the turn; a refused call of a program does not", async (release) => {
  const refuse = async ({ origin }: any, peer: Peer) => {
    const { reply } = await peer.request("permission/ask", ask(origin.session, { origin }))
    if (reply === "reject") throw fault("PermissionDenied", "srv_write was refused")
    return called("done")
  }
  const made = await withDialogs(release, {
    "call/start": refuse,
    "run/start": async (...given: [any, Peer]) => (await refuse(...given), done("1")),
  })
  made.host.user.answers(() => "reject")
  await made.host
    .turn(made.session, async (turn) => {
      const program = await turn.step([{ tool: "tenon_exec", input: { code: "1" } }])
      assert.match(program.results[0]!.text, /PermissionDenied: srv_write was refused/)
      const call = await turn.step([{ tool: "tenon_call", input: { server: "srv", tool: "write" } }])
      assert.equal(call.results[0]!.status, "error")
      assert.match(call.results[0]!.text, /The user declined this tool call|interrupted/)
      await until("the turn is over", () => made.host.events.of("session.execution.interrupted").length === 1)
    })
    .catch(() => {})
  assert.equal(made.host.events.of("session.execution.interrupted").length, 1)
})

const question = (session: string, kind: "elicitation" | "sampling", params: unknown, origin = {}) => ({
  id: `q_${Math.random()}`,
  origin: { session, ...origin },
  server: "srv",
  tool: "ask",
  kind,
  params,
})

const form = {
  message: "Who?\u001b[31m",
  requestedSchema: {
    type: "object",
    properties: {
      name: { type: "string", title: "Name" },
      age: { type: "integer" },
      ok: { type: "boolean" },
      color: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] },
      note: { type: "string" },
    },
    required: ["name", "age", "ok", "color"],
  },
}

eachRelease("a server's form is filled in at the TUI", async (release) => {
  const answers: unknown[] = ["Ada", "36", "true", "g", ""]
  const made = await withTui(release, () => answers.shift())
  const answer = await peerOf(made).request("elicitation/ask", question(made.session.id, "elicitation", form))
  assert.deepEqual(answer, { result: { action: "accept", content: { name: "Ada", age: 36, ok: true, color: "g" } } })
  assert.match(made.terminal.dialogs[0]!.title!, /^srv asks: Who\? \[31m – Name$/)
  const cancelled = await peerOf(made).request("elicitation/ask", question(made.session.id, "elicitation", form))
  assert.deepEqual(cancelled, { result: { action: "cancel" } })
})

eachRelease("a server's address is shown before it is opened", async (release) => {
  const answers: unknown[] = [true, false]
  const made = await withTui(release, () => answers.shift())
  const params = { mode: "url", message: "Log in", url: "https://example.test/login", elicitationId: "e1" }
  const put = () => peerOf(made).request("elicitation/ask", question(made.session.id, "elicitation", params))
  assert.deepEqual(await put(), { result: { action: "accept" } })
  assert.deepEqual(await put(), { result: { action: "decline" } })
  assert.match((made.terminal.dialogs[0] as { message: string }).message, /https:\/\/example\.test\/login/)
})

eachRelease("a server's form is filled in at opencode's question, inside a call", async (release) => {
  let answer: Answer | undefined
  const made = await bench(release, {
    "run/start": async ({ origin }, peer) => {
      answer = await peer.request("elicitation/ask", question(origin.session, "elicitation", form, origin))
      return done("1")
    },
  })
  made.host.user.fills(() => ({ accept: [["Ada"], ["36"], ["No"], ["Green"], ["Leave empty"]] }))
  await made.host.call(made.session, "tenon_exec", { code: "1" })
  assert.deepEqual(answer, { result: { action: "accept", content: { name: "Ada", age: 36, ok: false, color: "g" } } })
})

eachRelease("a form for more than plain values, and one without anybody, say why", async (release) => {
  const made = await bench(release)
  const nested = { message: "x", requestedSchema: { type: "object", properties: { a: { type: "object" } } } }
  const put = (params: object) =>
    peerOf(made).request("elicitation/ask", question(made.session.id, "elicitation", params))
  assert.match((await put(nested)).unavailable!, /cannot ask for/)
  assert.match((await put(form)).unavailable!, /no way to ask/)
})

eachRelease("a server asks the model only when the user lets it", async (release) => {
  const answers: unknown[] = ["once", "reject"]
  const made = await withTui(release, () => answers.shift())
  const prompts: string[] = []
  made.host.generates(({ prompt }) => (prompts.push(prompt), "four"))
  const params = {
    systemPrompt: "Be brief.",
    messages: [{ role: "user", content: { type: "text", text: "2+2?" } }],
    maxTokens: 5,
  }
  const put = () => peerOf(made).request("elicitation/ask", question(made.session.id, "sampling", params))
  assert.deepEqual(await put(), {
    result: { role: "assistant", content: { type: "text", text: "four" }, model: "opencode", stopReason: "endTurn" },
  })
  assert.deepEqual(prompts, ["Be brief.\n\n2+2?"])
  assert.match((await put()).unavailable!, /does not let srv ask the model/)
  assert.equal(prompts.length, 1)
})
