/** What the plugin makes of rules, questions, events and files of the host, whatever they hold. */

import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after } from "node:test"
import fc from "fast-check"
import { valuesOf } from "@tenon/bridge"
import type { Frame, Rule } from "@tenon/proto"
import { oracleMatches, oracleVerdict } from "../../bridge/test/oracle.ts"
import { damaged, document, holds, json, message, text, written } from "../../../proto/test/fuzz.ts"
import type { Asks } from "../src/ask/asks.ts"
import { dialogRoute } from "../src/ask/dialog.ts"
import { findEndpoint } from "../src/ask/endpoint.ts"
import type { Form } from "../src/ask/route.ts"
import { answerQuestion } from "../src/ask/serverquestion.ts"
import type { Call, Calls } from "../src/calls.ts"
import { readEvents, type Events } from "../src/events.ts"
import type { Context } from "../src/host.ts"
import { markTable, newShelf } from "../src/marks.ts"
import { reportTable } from "../src/progress.ts"
import { sessionIn } from "../src/session.ts"
import { isReadOnly, ownVerdict } from "../src/verdict.ts"

const ids = ["tenon_exec", "tenon_call", "tenon_search", "tenon_types", "tenon_catalog", "tenon_status"]

/** A pattern that is near to the name of a tool. */
const near = fc
  .tuple(fc.constantFrom(...ids), fc.nat(14), fc.constantFrom("*", "?", " *", "\\", ""))
  .map(([id, at, wild]) => id.slice(0, at) + wild + (wild === "?" ? id.slice(at + 1) : ""))
const rule: fc.Arbitrary<Rule> = fc.record({
  permission: fc.oneof(fc.constantFrom(...ids, "*", "**", "tenon_*", "tenon_exec *", "?*"), near, text),
  pattern: fc.oneof(fc.constantFrom("*", "**", "?", "\\*", "* *", "/p/*"), text),
  action: fc.constantFrom("allow", "ask", "deny"),
})
const rules = fc.array(rule, { maxLength: 6 })

holds(
  "tenon's own tools are never more free than opencode's rules leave them",
  fc.property(rules, fc.constantFrom(...ids), (list, id) => {
    const ours = ownVerdict({ version: "1", agent: "build", confirmed: true, rules: list }, id)
    const host = oracleVerdict(list, id)
    if (ours === host) return
    // The one exception that is documented: what only looks is held back by a rule that names it.
    assert.deepEqual([host, ours], ["ask", "allow"])
    assert.ok(isReadOnly(id))
    const last = list.findLast((each) => oracleMatches(each.permission, id) && oracleMatches(each.pattern, "*"))
    assert.match(last?.permission ?? "*", /^\*+$/)
  }),
  {
    examples: [
      [[{ permission: "tenon_exec *", pattern: "*", action: "deny" }], "tenon_exec"],
      [[{ permission: "*", pattern: "* *", action: "deny" }], "tenon_exec"],
      [
        [{ permission: "*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*?*x", pattern: "*", action: "deny" }],
        "tenon_catalog",
      ],
    ],
  },
)

holds(
  "a shell command keeps its words, and its mark is read once, by the process that made it",
  fc.property(
    fc.array(fc.tuple(text, text, text), { minLength: 1, maxLength: 4 }),
    fc.nat(),
    text,
    (given, at, more) => {
      const shelf = newShelf()
      const marks = markTable(() => 0, shelf, "/p")
      const put = given.map(([session, call, command]) => ({
        session,
        call,
        command,
        ...marks.put({ session, call }, command),
      }))
      for (const { session, call, command, text: marked } of [
        ...put.slice(at % put.length),
        ...put.slice(0, at % put.length),
      ]) {
        assert.equal(markTable(() => 0, newShelf(), "/p").take(marked), undefined, "another process believes it")
        assert.deepEqual(marks.take(marked), { command, mark: { session, call } })
        assert.deepEqual(marks.take(marked), { command }, "an agent's still, but nobody's")
      }
      assert.ok(!marks.underway())
      assert.equal(marks.take(more), undefined)
    },
  ),
)

holds(
  "a command that looks like a marked one is nobody's, and stays as it is",
  fc.property(
    fc
      .array(
        fc.oneof(
          fc.constantFrom(": tenon_", "; ", ":", "\n"),
          fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 47, maxLength: 49 }),
          text,
        ),
      )
      .map((parts) => parts.join("")),
    (command) => assert.equal(markTable(() => 0, newShelf()).take(command), undefined),
  ),
)

const sources = fc.record({
  options: fc.record({ url: text, password: text }, { requiredKeys: [] }),
  argv: fc.array(fc.oneof(text, fc.constantFrom("serve", "--port", "--port=1", "4096", "--hostname", "::", "65536"))),
  OPENCODE_SERVER_PASSWORD: fc.option(text, { nil: undefined }),
})
const service = fc.oneof(
  document,
  fc
    .record({ url: fc.oneof(json, fc.webUrl()), pid: fc.oneof(json, fc.constantFrom(7, 8)), password: json })
    .map(written),
)
const state = mkdtempSync(join(tmpdir(), "t2-"))
mkdirSync(join(state, "opencode"))
after(() => rmSync(state, { recursive: true }))

holds(
  "a file of another's service names no address, whatever is in it",
  fc.property(sources, service, ({ options, argv, ...env }, file) => {
    writeFileSync(join(state, "opencode", "service.json"), file)
    const found = findEndpoint({ options, argv, env: { ...env, XDG_STATE_HOME: state }, pid: 7 })
    if (!found) return
    assert.equal(typeof found.url, "string")
    if (options.url === undefined && !argv.includes("serve")) assert.equal(JSON.parse(file).pid, 7)
    if (options.url === undefined && argv.includes("serve") && found.url.startsWith("http://127.0.0.1")) {
      const port = Number(new URL(found.url).port || 80)
      assert.ok(port > 0 && port < 65_536)
    }
  }),
  { share: 0.5 },
)

const effects = ["allow", "ask", "deny"] as const
const evaluated = fc.record({
  sessionID: fc.oneof(fc.constant("ses_1"), text),
  action: fc.oneof(fc.constantFrom("srv_write", "tenon_search"), text),
  resources: fc.oneof(fc.constant(["*"]), fc.array(text)),
  metadata: fc.oneof(fc.constant({ tenon: "nonce" }), json),
  effect: fc.constantFrom(...effects),
})

holds(
  "the dialog's part in the host's checks makes nothing freer",
  fc.property(fc.array(evaluated), (events) => {
    const listeners: ((type: string, data: unknown) => void)[] = []
    const bus = { alive: () => true, on: (each: any) => void listeners.push(each), onLost() {}, close() {} } as Events
    const route = dialogRoute({} as Context, bus, () => undefined)
    for (const each of events) {
      const before = each.effect
      route.evaluate(each as never)
      assert.ok(effects.indexOf(each.effect) >= effects.indexOf(before))
    }
  }),
)

holds(
  "no event of the host ends the stream, or stops one listener because of another",
  fc.asyncProperty(
    fc.array(fc.oneof(json, fc.record({ type: fc.oneof(text, fc.constant("permission.v2.asked")), data: json }))),
    async (given) => {
      const ctx = {
        event: {
          async *subscribe() {
            yield* given
            await new Promise(() => {})
          },
        },
      } as unknown as Context
      const bus = readEvents(ctx)
      const heard: string[] = []
      let lost = 0
      bus.on(() => {
        throw new Error("a listener's own")
      })
      bus.on((type, data) => {
        heard.push(type)
        assert.ok(sessionIn(data) === undefined || typeof sessionIn(data) === "string")
      })
      bus.onLost(() => lost++)
      for (let turn = 0; turn < given.length * 3 + 3; turn++) await Promise.resolve()
      await new Promise((resolve) => setImmediate(resolve))
      bus.close()
      const expected = given
        .filter((each) => typeof each?.type === "string")
        .map((each) => each.type.replace(/^permission\.v2\./, "permission."))
      assert.deepEqual([heard, lost], [expected, 0])
    },
  ),
)

const asked = fc.oneof(
  json,
  fc.record(
    {
      mode: fc.constantFrom("url", "form", 1),
      message: json,
      url: fc.oneof(json, fc.webUrl(), text),
      requestedSchema: fc.oneof(json, fc.constant({ properties: { a: { type: "string" } } })),
      messages: fc.oneof(
        json,
        fc.array(
          fc.record({
            role: json,
            content: fc.oneof(json, fc.record({ type: fc.constant("text"), text: fc.oneof(text, json) })),
          }),
        ),
      ),
      systemPrompt: json,
    },
    { requiredKeys: [] },
  ),
)
const said = fc.constantFrom("accept", "decline", "cancel", undefined)

holds(
  "a server's question is answered, whatever it asks, and never with a yes that nobody said",
  fc.asyncProperty(message("Question"), asked, said, json, async (question, params, action, values) => {
    let shown: Form | undefined
    const asks = {
      fill: async (form: Form) => ((shown = form), action && { action, values: valuesOf(values) }),
      decide: async () => action && { reply: action === "accept" ? "once" : "reject" },
    } as unknown as Asks
    const ctx = { generate: { text: async () => ({ text: "the model's" }) } } as unknown as Context
    const room = { ctx, asks, calls: { find: () => undefined } as unknown as Calls }
    const answer = await answerQuestion(room, { ...question, params }, new AbortController().signal)
    assert.notEqual(answer.unavailable === undefined, answer.result === undefined, "one of the two")
    if (action !== "accept" && answer.result) assert.equal((answer.result as { action?: string }).action, action)
    if (shown?.url !== undefined) assert.ok(shown.url !== "" && shown.url.length <= 2_000)
    if (shown && params?.mode === "url") assert.notEqual(shown.url, undefined, "a page is seen with its address")
  }),
)

const frame = fc.record({
  run: fc.constantFrom("r1", "r2"),
  call: fc.oneof(fc.constant("c1"), text),
  type: fc.constantFrom("start", "call", "log", "progress", "end"),
  data: fc.oneof(json, fc.constant({ session: "ses_1" }), message("CallEvent"), message("Log"), damaged("Progress")),
})

holds(
  "frames of a program show little and break nothing",
  fc.property(fc.array(frame, { maxLength: 8 }), (frames) => {
    const call = { ctx: { progress: async () => {} }, signal: AbortSignal.abort() } as unknown as Call
    const table = reportTable({
      find: (session: string, id: string) => (session === "ses_1" && id === "c1" ? call : undefined),
    } as Calls)
    const close = table.open(call)
    try {
      for (const each of frames) {
        try {
          table.onFrame(each as Frame)
        } catch (error) {
          assert.equal((error as Error).name, "FieldError", String(error))
        }
      }
    } finally {
      close()
    }
  }),
)
