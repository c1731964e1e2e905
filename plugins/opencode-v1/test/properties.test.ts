/** What the plugin makes of a host's answers and events and of servers' questions, whatever they hold. */

import assert from "node:assert/strict"
import fc from "fast-check"
import type { Bridge } from "@tenon/bridge"
import type { Ask, Question } from "@tenon/proto"
import { oracleMatches } from "../../bridge/test/oracle.ts"
import { holds, json, message, text } from "../../../proto/test/fuzz.ts"
import type { HostEvent } from "../src/host.ts"
import { outcomes } from "../src/outcome.ts"
import { permissionTable } from "../src/permission.ts"
import { questionDesk } from "../src/question.ts"
import type { ScreenLine } from "../src/screen.ts"
import { fakeHost, hostError } from "./fakehost.ts"

const none: ScreenLine = {
  ask: async () => ({ reply: "unavailable" }),
  fill: async () => undefined,
  withdraw() {},
  close() {},
}
const bridge = { notify() {}, current: () => undefined } as unknown as Bridge

const refusals = ["PermissionRejectedError", "PermissionCorrectedError", "PermissionDeniedError"]
const trouble = fc.oneof(
  json,
  fc.constantFrom<unknown>(undefined, null, Object.create(null), new Error("e"), hostError("Other"), () => 1),
  fc.tuple(fc.constantFrom(...refusals), fc.oneof(text, json)).map(([tag, feedback]) => hostError(tag, { feedback })),
  fc.constantFrom(...refusals).map((_tag) => ({ _tag })),
)
/** What a host does with a question, and what happens meanwhile. */
const course = fc.record({
  host: fc.constantFrom("allow", "reject", "throw", "wait"),
  trouble,
  before: fc.constantFrom("nothing", "abort"),
  meanwhile: fc.constantFrom("nothing", "abort", "withdraw", "forged event"),
  shown: fc.boolean(),
  arguments: json,
})

holds(
  "a call is allowed when opencode has allowed it while it was asked, and never else",
  fc.asyncProperty(course, async (way) => {
    const host = fakeHost()
    const table = permissionTable(host.client, () => bridge, none)
    let release = () => {}
    let allowed = false
    const ctx = host.context("call_1", {
      ask(input) {
        if (way.shown) {
          const properties = { id: "per_1", sessionID: "ses_1", metadata: input.metadata }
          table.onEvent({ type: "permission.asked", properties })
        }
        if (way.host === "throw") throw way.trouble
        return new Promise((resolve, reject) => {
          release = () => {
            allowed ||= way.host === "allow"
            if (way.host === "allow") resolve()
            else if (way.host === "reject") reject(way.trouble)
          }
        })
      },
    })
    const call = table.enter(ctx)
    if (way.before === "abort") ctx.cancel()
    const origin = { session: "ses_1", call: "call_1" }
    const asked = table.ask({ id: "ask_1", origin, key: "srv_x", server: "srv", tool: "x", arguments: way.arguments })
    await Promise.resolve()
    let taken = way.before === "abort"
    if (way.meanwhile === "abort") (ctx.cancel(), (taken = true))
    if (way.meanwhile === "withdraw") (table.withdraw("ask_1"), (taken = true))
    if (way.meanwhile === "forged event") {
      table.onEvent({ type: "permission.replied", properties: { requestID: "per_1", reply: "once" } })
    }
    release()
    if (way.host === "wait") ctx.cancel() // nobody answers: the call ends some time
    const { reply, denied } = await asked
    if (reply === "once") assert.ok(allowed && !taken && way.host === "allow")
    else assert.ok(reply === "reject" || reply === "unavailable")
    if (reply === "reject" && way.host !== "throw") assert.equal(way.host, "reject")
    if (denied) assert.equal((way.trouble as { _tag?: string })._tag, "PermissionDeniedError")
    table.leave(call)
    table.withdraw("ask_1") // one that is over
    await new Promise((resolve) => setImmediate(resolve))
  }),
  // A host that throws at once, and the daemon that takes the question back then.
  {
    examples: [
      [{ host: "throw", trouble: new Error("e"), before: "nothing", meanwhile: "withdraw", shown: true, arguments: 0 }],
    ],
  },
)

const address = fc.oneof(
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc
    .tuple(
      fc.constantFrom("http", "https", "file", "data", "x"),
      fc.constantFrom("*", "*.com", "a.com", "a.com:81", "[::1]", ""),
      text,
    )
    .map(([scheme, host, path]) => `${scheme}://${host}/${path}`),
  text,
)

holds(
  '"always" opens a tool, or the address\'s own host, and nothing else',
  fc.asyncProperty(fc.option(address, { nil: undefined }), fc.webUrl(), async (resource, other) => {
    const host = fakeHost()
    const table = permissionTable(host.client, () => bridge, none)
    let always: string[] | undefined
    const ctx = host.context("call_1", {
      async ask(input) {
        assert.deepEqual(input.patterns, [resource ?? "*"])
        always = input.always
      },
    })
    table.enter(ctx)
    const params: Ask = {
      id: "a",
      origin: { session: "ses_1", call: "call_1" },
      key: "webfetch",
      server: "",
      tool: "",
      resource,
    }
    const { reply } = await table.ask(params)
    if (always === undefined) return assert.equal(reply, "unavailable") // no address at all
    if (resource === undefined) return assert.deepEqual(always, ["*"])
    for (const pattern of always) {
      assert.equal(oracleMatches(pattern, other), new URL(other).origin === new URL(resource).origin)
    }
  }),
  {
    examples: [
      ["http://*/x", "http://a.com/"],
      ["http://*.com/x", "http://a.com/"],
      ["data:x", "http://a.com/"],
    ],
  },
)

const event: fc.Arbitrary<HostEvent> = fc
  .tuple(
    fc.constantFrom("permission.asked", "message.part.updated", "session.deleted", "session.updated", "x"),
    fc.oneof(
      json,
      fc.record({
        id: json,
        metadata: json,
        info: json,
        part: fc.oneof(
          json,
          fc.record({
            type: fc.constant("tool"),
            tool: fc.oneof(text, json),
            callID: fc.oneof(text, json),
            sessionID: fc.oneof(text, json),
            messageID: json,
            state: fc.oneof(
              json,
              fc.record({ status: fc.constant("error"), time: fc.oneof(json, fc.record({ start: json, end: json })) }),
            ),
          }),
        ),
      }),
    ),
  )
  .map(([type, properties]) => ({ type, properties }) as HostEvent)

holds(
  "no event of the host throws, and what is told of a failure is in the schemas",
  fc.property(fc.array(event, { maxLength: 6 }), (events) => {
    const told: any[] = []
    const link = { notify: (_: string, params: unknown) => void told.push(params) } as unknown as Bridge
    const table = permissionTable(fakeHost().client, () => link, none)
    const recorder = outcomes(() => link)
    for (const each of events) {
      table.onEvent(each)
      recorder.onEvent(each)
    }
    for (const { origin, tool, ms = 0 } of told) {
      assert.deepEqual([typeof origin.session, typeof origin.call, typeof tool], ["string", "string", "string"])
      assert.ok(origin.message === undefined || typeof origin.message === "string")
      assert.ok(Number.isInteger(ms) && ms >= 0)
    }
  }),
)

const form = fc.constant({ properties: { a: { type: "string" }, b: { type: "number" } }, required: ["a"] })
const asked = fc.oneof(
  json,
  fc.record(
    {
      mode: fc.constantFrom("url", "form", 1),
      message: json,
      url: fc.oneof(json, fc.webUrl()),
      requestedSchema: fc.oneof(json, form),
    },
    { requiredKeys: [] },
  ),
)

holds(
  "a server's question is answered, whatever it asks, and never with a yes that nobody said",
  fc.asyncProperty(
    message("Question"),
    asked,
    fc.constantFrom("accept", "decline", "cancel", undefined),
    json,
    async (question, params, action, values) => {
      const host = fakeHost()
      const screen: ScreenLine = { ...none, fill: async () => action && { action, values: values as never } }
      const desk = questionDesk(
        host.client,
        permissionTable(host.client, () => bridge, none),
        screen,
        true,
      )
      const answer = await desk.ask({ ...(question as Question), params })
      assert.notEqual(answer.unavailable === undefined, answer.result === undefined, "one of the two")
      const said = (answer.result as { action?: unknown } | undefined)?.action
      if (said !== undefined) assert.equal(said, action)
    },
  ),
  { share: 0.5 },
)
