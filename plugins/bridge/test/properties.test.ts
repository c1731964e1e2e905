/** What the bridge makes of frames, answers of the program, forms and options, whatever they hold. */

import assert from "node:assert/strict"
import fc from "fast-check"
import { check, type Methods, type RPCMessage } from "@tenon/proto"
import { damaged, document, holds, json, message, name, number, text, written } from "../../../proto/test/fuzz.ts"
import { socketIn } from "../src/daemon.ts"
import { Failure, fieldsOf, contentOf, isFailure, plain, plainJSON, readArguments, readOptions } from "../src/index.ts"
import { argumentsOf, hostEnvironment, schemaOf, sessionTable, wantedEnvironment } from "../src/index.ts"
import type { Bridge, SessionFacts, ToolID } from "../src/index.ts"
import { rpc } from "../src/rpc.ts"
import type { Socket } from "../src/socket.ts"

/** A socket that keeps what is sent. */
function fakeSocket() {
  const sent: RPCMessage[] = []
  const socket: Socket = {
    onopen: null,
    onmessage: null,
    onclose: null,
    onerror: null,
    send: (frame) => void sent.push(check<RPCMessage>("RPCMessage", JSON.parse(frame))),
    close: () => {},
    terminate: () => {},
  }
  return { socket, sent, hear: (data: unknown) => socket.onmessage!({ data }) }
}

/** What a handler may throw; not all of it is an Error, or can be made a text. */
const thrown = fc.oneof(
  json,
  fc.constantFrom<any>(
    undefined,
    1n,
    Symbol("x"),
    Object.create(null),
    new Error("e"),
    Failure("NotFound", "gone"),
    () => 1,
  ),
  fc.constant(Object.assign(new Error(), { message: Object.create(null) })),
)

const methods = fc.constantFrom(
  "session/resolve",
  "permission/ask",
  "permission/withdraw",
  "run/event",
  "catalog/changed",
  "$/cancelRequest",
  "no/such",
  "__proto__",
  "constructor",
)
const id = fc.oneof(fc.integer({ min: -1, max: 4 }), fc.constantFrom("1", "__proto__", "", 1.5), number)
const proper = fc.oneof(
  fc.tuple(fc.constant("session/resolve"), message("Resolve")),
  fc.tuple(fc.constant("permission/ask"), message("Ask")),
)
const frame = fc.oneof(
  fc.tuple(id, proper).map(([of, [method, params]]) => written({ jsonrpc: "2.0", id: of, method, params })),
  document,
  damaged("RPCMessage").map(written),
  message("RPCMessage").map(written),
  fc
    .tuple(methods, id, fc.oneof(json, message("Ask"), damaged("Ask"), message("Resolve")), fc.boolean())
    .map(([method, of, params, note]) =>
      written({ jsonrpc: "2.0", ...(note ? {} : { id: of }), method, ...(params === null ? {} : { params }) }),
    ),
  fc
    .tuple(id, fc.oneof(json, message("SessionStatus"), damaged("SessionStatus")), message("RPCError"), fc.boolean())
    .map(([of, result, error, bad]) => written({ jsonrpc: "2.0", id: of, ...(bad ? { error } : { result }) })),
)

/** Whether a promise comes to something before the loop has gone round a few times. */
async function settles(promise: Promise<unknown>): Promise<{ value?: unknown; error?: unknown } | undefined> {
  let end: { value?: unknown; error?: unknown } | undefined
  promise.then(
    (value) => (end = { value }),
    (error) => (end = { error }),
  )
  for (let turn = 0; turn < 20 && !end; turn++) await new Promise((resolve) => setImmediate(resolve))
  return end
}

holds(
  "no frame breaks a connection: each request has one answer, ours are settled, and nothing is thrown",
  fc.asyncProperty(fc.array(frame, { maxLength: 8 }), thrown, async (frames, trouble) => {
    const { socket, sent, hear } = fakeSocket()
    const refuse = () => {
      throw trouble
    }
    const served = { "session/resolve": refuse, "permission/ask": async () => trouble as never, "run/event": refuse }
    const connection = rpc(socket, served, () => {})
    const mine = [1, 2, 3].map((n) => connection.request("status/get", { session: `s${n}` }))
    const ends = mine.map(settles)
    for (const each of frames) hear(each)
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    const asked = frames.flatMap((each) => requestIn(each)).filter((each) => each.method !== "$/cancelRequest")
    const answers = sent.filter((each) => each.method === undefined)
    assert.deepEqual(
      answers.map((each) => written(each.id)).sort(),
      asked.map((each) => written(each.id)).sort(),
      "each request is answered once",
    )
    connection.end(Failure("DaemonUnavailable", "over"))
    assert.equal(connection.waiting(), 0)
    for (const end of await Promise.all(ends)) {
      assert.ok(end, "a request was never settled")
      if ("error" in end) assert.ok(isFailure(end.error), String(end.error))
      else check("SessionStatus", end.value)
    }
  }),
)

/** The request in a frame, if it is one that must be answered. */
function requestIn(text: string): RPCMessage[] {
  try {
    const found = check<RPCMessage>("RPCMessage", JSON.parse(text))
    return found.method !== undefined && found.id !== undefined ? [found] : []
  } catch {
    return []
  }
}

holds(
  "an answer is believed whole or not at all",
  fc.asyncProperty(fc.oneof(damaged("AttachResult"), message("AttachResult"), json), async (result) => {
    const { socket, hear } = fakeSocket()
    const connection = rpc(socket, {}, () => {})
    const mine = settles(connection.request("session/attach", { session: "s", directory: "/" }))
    hear(written({ jsonrpc: "2.0", id: 1, result }))
    const end = (await mine)!
    const wrong = written(result) !== undefined && !isA("AttachResult", result)
    if (wrong) assert.ok(isFailure(end.error) && end.error.kind === "InternalError")
    else assert.deepEqual(end.value, JSON.parse(written(result)))
  }),
)

function isA(type: string, value: unknown): boolean {
  try {
    check(type, value)
    return true
  } catch {
    return false
  }
}

holds(
  "what cannot be written as JSON is refused, and nobody waits for it",
  fc.asyncProperty(fc.constantFrom("circle", "bigint", "deep"), async (kind) => {
    const { socket, sent } = fakeSocket()
    const connection = rpc(socket, {}, () => {})
    const circle: Record<string, unknown> = {}
    circle.self = circle
    let nested: unknown = 0
    for (let i = 0; i < 50_000; i++) nested = [nested]
    const input = { circle, bigint: 1n, deep: nested }[kind]
    const params = {
      origin: { session: "s" },
      directory: "/",
      code: "1",
      text: {},
      input,
    } as Methods["run/start"]["params"]
    const end = (await settles(connection.request("run/start", params)))!
    assert.ok(isFailure(end.error) && end.error.kind === "UsageError", String(end.error))
    assert.deepEqual([connection.waiting(), sent.length], [0, 0])
  }),
  { share: 0.1 },
)

holds(
  "the program's answer is a socket or nothing",
  fc.property(
    fc.oneof(
      document,
      fc.oneof(json, text).map((socket) => written({ socket })),
    ),
    (out) => {
      const found = socketIn(out)
      if (found === undefined) return
      assert.equal(typeof found, "string")
      assert.equal(JSON.parse(out).socket, found)
    },
  ),
)

// What servers ask in forms.

const choice = fc.oneof(fc.record({ const: fc.oneof(text, json), title: fc.oneof(text, json) }), json)
const property = fc.oneof(
  json,
  fc.record(
    {
      type: fc.constantFrom("string", "number", "integer", "boolean", "array", "object", "__proto__"),
      title: fc.oneof(text, json),
      description: fc.oneof(text, json),
      default: json,
      enum: fc.oneof(fc.array(text, { maxLength: 3 }), json),
      enumNames: json,
      oneOf: fc.oneof(fc.array(choice, { maxLength: 3 }), json),
      items: fc.oneof(fc.record({ enum: fc.array(text, { maxLength: 3 }) }), json),
    },
    { requiredKeys: [], noNullPrototype: true },
  ),
)
const form = fc.oneof(
  json,
  fc
    .tuple(fc.array(fc.tuple(name, property), { maxLength: 4 }), fc.oneof(fc.array(name, { maxLength: 3 }), json))
    .map(([properties, required]) => ({ type: "object", properties: Object.fromEntries(properties), required })),
)

holds(
  "any form becomes fields that can be shown, or none; what was filled in comes back as it was given",
  fc.property(
    form,
    fc.array(fc.oneof(text, fc.array(text, { maxLength: 2 }), fc.constant(undefined))),
    (schema, given) => {
      const fields = fieldsOf(schema)
      if (!fields) return
      for (const { title, description = "", preset = "", options = [] } of fields) {
        for (const shown of [title, description, ...options.map((each) => each.title)]) {
          assert.equal(typeof shown, "string")
          assert.doesNotMatch(shown, /[\u0000-\u0009\u001b\u007f-\u009f\u202e]/)
          assert.ok(shown.length <= 500)
        }
        assert.equal(typeof preset, "string")
        for (const { value } of options) assert.equal(typeof value, "string")
      }
      const values = Object.fromEntries(
        fields.flatMap((field, i) => (given[i] === undefined ? [] : [[field.name, given[i]] as const])),
      )
      const content = contentOf(fields, values)
      assert.equal(Object.getPrototypeOf(content), Object.prototype)
      for (const field of fields) {
        const value = Object.hasOwn(values, field.name) ? values[field.name] : undefined
        assert.equal(Object.hasOwn(content, field.name), value !== undefined && (value !== "" || field.required))
      }
      assert.deepEqual(Object.keys(JSON.parse(written(content))), Object.keys(content), "nothing is lost on the way")
      assert.ok(!written(content).includes(":null"), "no number became null")
    },
  ),
)

// Text for dialogs.

holds(
  "text for a dialog is short, has no control characters, and no half of a letter that was whole",
  fc.property(fc.oneof(text, json), fc.integer({ min: 2, max: 600 }), (given, max) => {
    for (const shown of [plain(given, max), plainJSON(given, max)]) {
      assert.ok(shown.length <= max)
      assert.doesNotMatch(shown, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/)
    }
    if (typeof given === "string" && !halved(given)) assert.ok(!halved(plain(given, max)))
  }),
  {
    examples: [
      ["\u{1f600}".repeat(300), 100],
      ["a" + "\u{1f600}".repeat(300), 100],
    ],
  },
)

const halved = (given: string) => /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(given)

// Options of the plugin, arguments of the tools, variables of the host.

const usual = { bin: fc.oneof(text, json), config: fc.oneof(text, json), interactive: fc.oneof(fc.boolean(), json) }

holds(
  "options are understood or refused by their name",
  fc.property(fc.oneof(json, fc.record(usual, { requiredKeys: [] })), fc.array(text), (given, argv) => {
    try {
      const options = readOptions(given, argv, {})
      assert.equal(typeof options.bin, "string")
      assert.equal(typeof options.interactive, "boolean")
      assert.ok(options.config === undefined || typeof options.config === "string")
    } catch (error) {
      assert.match((error as Error).message, /^opencode-tenon: (there is no option|option)/s)
    }
  }),
)

holds(
  "arguments of a tool are what its schema says, or refused by the tool's name",
  fc.property(
    fc.constantFrom(...(Object.keys(argumentsOf) as ToolID[])),
    fc.oneof(
      json,
      fc.record(
        { code: fc.oneof(text, json), timeout: number, query: text, limit: number, paths: json },
        { requiredKeys: [] },
      ),
      fc.record({ server: text, tool: text, arguments: json }, { requiredKeys: [] }),
    ),
    (tool, given) => {
      const schema = schemaOf(argumentsOf[tool]) as {
        required: string[]
        properties: Record<string, { type?: string }>
      }
      try {
        const read = readArguments<Record<string, unknown>>(tool, argumentsOf[tool], given)
        for (const each of schema.required) assert.notEqual(read[each], undefined)
        for (const [member, value] of Object.entries(read)) {
          assert.ok(Object.hasOwn(schema.properties, member))
          if (schema.properties[member]!.type === "string") assert.equal(typeof value, "string")
        }
      } catch (error) {
        if ((error as Error).name === "AssertionError") throw error
        assert.ok((error as Error).message.startsWith(`${tool}: `), String(error))
      }
    },
  ),
)

holds(
  "a daemon that wants everything gets no ticket, and the list of the usual variables no secret",
  fc.property(fc.array(fc.tuple(name, text)), fc.array(name), (pairs, wants) => {
    const env = { ...Object.fromEntries(pairs), TENON_TICKET: "t", TENON_SESSION_ID: "s", API_KEY: "secret" }
    const wanted = wantedEnvironment(env, [...wants, "TENON_TICKET", "TENON_SESSION_ID", "API_KEY"])
    assert.ok(!Object.hasOwn(wanted, "TENON_TICKET") && !Object.hasOwn(wanted, "TENON_SESSION_ID"))
    for (const [member, value] of Object.entries(wanted)) assert.equal((env as Record<string, string>)[member], value)
    assert.ok(!Object.hasOwn(hostEnvironment(env), "API_KEY"))
  }),
)

// Sessions as a host tells of them.

const facts = fc.record(
  {
    id: text,
    parentID: fc.oneof(fc.nat(40).map(String), json),
    directory: fc.oneof(text, json),
    title: fc.oneof(text, json),
    agent: fc.oneof(text, json),
    rules: fc.oneof(fc.array(fc.oneof(json, message("Rule")), { maxLength: 3 }), json),
  },
  { requiredKeys: ["id", "directory"] },
)

holds(
  "whatever a host tells of its sessions, each attach comes to an end, and a parent is told of before its child",
  fc.asyncProperty(
    fc.array(fc.option(fc.nat(40)), { minLength: 1, maxLength: 41 }),
    fc.dictionary(fc.nat(40).map(String), fc.oneof(facts, json), { maxKeys: 2, noNullPrototype: true }),
    fc.array(fc.nat(40), { minLength: 1, maxLength: 6 }),
    async (parents, odd, begun) => {
      const told = new Set<string>()
      const bridge = {
        current: () => undefined,
        async request(_: string, params: { session: string; parent?: string }) {
          if (params.parent !== undefined && told.size > 0) assert.ok(told.has(params.parent), "told before its parent")
          told.add(params.session)
          return { session: params.session, root: params.session, ticket: "t", socket: "s" }
        },
      } as unknown as Bridge
      const source = {
        async session(id: string): Promise<SessionFacts | undefined> {
          if (Object.hasOwn(odd, id)) return odd[id] as SessionFacts
          const parent = parents[Number(id)]
          return parents.length > Number(id)
            ? { id, directory: "/p", ...(parent === null || parent === undefined ? {} : { parentID: String(parent) }) }
            : undefined
        },
        agentRules: async () => [],
      }
      const sessions = sessionTable(source, () => bridge, {})
      const attached = begun.map((each) => sessions.attach(String(each)).catch(() => {}))
      const resolved = begun.map((each) => sessions.resolve(String(each)).catch(() => {}))
      const late = Symbol("late")
      let timer: ReturnType<typeof setTimeout> | undefined
      const bound = new Promise((resolve) => (timer = setTimeout(resolve, 5_000, late)))
      assert.notEqual(await Promise.race([Promise.all([...attached, ...resolved]), bound]), late, "it hangs")
      clearTimeout(timer)
    },
  ),
  {
    share: 0.5,
    // A circle longer than parents are followed, entered at two places at once.
    examples: [[Array.from({ length: 30 }, (_, i) => (i + 1) % 30), {}, [0, 9, 18]]],
  },
)
