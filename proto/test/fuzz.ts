/**
 * Property tests: how often each is tried, and the inputs of others that a parser
 * may meet. fast-check prints the seed and the smallest input of a failure;
 * FUZZ_SEED repeats it.
 */

import { test } from "node:test"
import fc from "fast-check"
import { types, type Node } from "../schema.ts"

/** Cases of each property: FUZZ_RUNS, or so many that `npm test` hardly notices. */
export const runs = Number(process.env.FUZZ_RUNS) || 300

/** A test that holds for every input; `share` of the usual cases where one of them takes long. */
export function holds(
  name: string,
  property: fc.IProperty<any> | fc.IAsyncProperty<any>,
  { share = 1, examples = [] as any[] } = {},
): void {
  test(name, async () => {
    const before = prototypes()
    const seed = Number(process.env.FUZZ_SEED) || (Math.random() * 2 ** 31) | 0
    // Such a rejection ends the test beside fast-check, which then says nothing.
    const stray = () => console.error(`${name}: nobody handles a rejection; FUZZ_SEED=${seed} repeats it`)
    process.on("unhandledRejection", stray)
    try {
      const numRuns = Math.max(10, Math.round(runs * share))
      await fc.assert(property as fc.IAsyncProperty<any>, { numRuns, examples, seed })
      await new Promise((resolve) => setImmediate(resolve)) // what is rejected late is heard
    } finally {
      process.off("unhandledRejection", stray)
    }
    if (prototypes() !== before) throw new Error(`a prototype that all objects share was changed: ${prototypes()}`)
  })
}

/** What every object, list, text and function inherits, by name. */
function prototypes(): string {
  const shared = [Object, Array, String, Number, Boolean, Function, Promise, Error].map(({ prototype }) => prototype)
  return JSON.stringify(shared.map((each) => Reflect.ownKeys(each).map(String)))
}

/** Text as JSON may carry it: halves of surrogate pairs and control characters too. */
export const text = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) }),
  fc.constantFrom("", "\u0000", "\ud800", "\udc00x", "\u202e", "\u001b[2J", "a".repeat(10_000)),
)

/** Names of members, mostly those that mean something else elsewhere. */
export const name = fc.oneof(
  fc.constantFrom(
    ..."__proto__ constructor prototype toString valueOf hasOwnProperty toJSON then length name id".split(" "),
  ),
  text,
)

/** Numbers at the limits of what readers agree on. */
export const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(-0, 2 ** 31, 2 ** 53, -(2 ** 53) - 2, 1e308, 5e-324),
)

/** Any JSON value. Members are its own, whatever their name. */
export const json: fc.Arbitrary<any> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: "json" },
    text,
    fc.constantFrom(null, true, false),
    number,
    fc.array(tie("value"), { maxLength: 4, depthIdentifier: "json" }),
    fc.array(fc.tuple(name, tie("value")), { maxLength: 5, depthIdentifier: "json" }).map(Object.fromEntries),
    fc.integer({ min: 10, max: 300 }).map((levels) => JSON.parse(deep(levels))),
  ),
})).value

/** A list in a list in a list, as JSON. */
export const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

/** Text that should be JSON: whole, cut off, two in a row, nested deeper than a stack, or none. */
export const document = fc.oneof(
  json.map(written),
  fc.tuple(json, fc.nat()).map(([value, at]) => cut(written(value), at)),
  fc.tuple(json, json).map(([a, b]) => written(a) + written(b)),
  fc.integer({ min: 1_000, max: 60_000 }).map(deep),
  fc.constantFrom("1e999", "-1e999", `{"id":${"9".repeat(400)}}`),
  text,
)

/** As JSON. */
export function written(value: unknown): string {
  return JSON.stringify(value)
}

/** The beginning of a text. */
export const cut = (whole: string, at: number) => whole.slice(0, at % (whole.length + 1))

/** A message of a type, as its schema has it. */
export function message(type: string): fc.Arbitrary<any> {
  return valueOf(types[type]!, 0)
}

/** The names of all types of messages. */
export const anyType = fc.constantFrom(...Object.keys(types))

/** Any message, with the name of its type. */
export const anyMessage = anyType.chain((type) => message(type).map((value) => ({ type, value })))

/** A message in which one member, at any depth, is gone, of another kind, or one too many. */
export function damaged(type: string): fc.Arbitrary<any> {
  return fc
    .tuple(message(type), fc.nat(), name, json, fc.constantFrom("remove", "replace", "add"))
    .map(([value, at, member, other, how]) => {
      const copy = structuredClone(value)
      const places = objectsIn(copy)
      const place = places[at % Math.max(1, places.length)]
      if (!place) return other
      const members = Object.keys(place)
      const old = members[at % Math.max(1, members.length)]
      if (how === "remove" && old !== undefined) delete place[old]
      else define(place, how === "replace" && old !== undefined ? old : member, other)
      return copy
    })
}

/** As JSON.parse does it: a member of its own, also one named __proto__. */
function define(object: object, member: string, value: unknown) {
  Object.defineProperty(object, member, { value, enumerable: true, configurable: true, writable: true })
}

function objectsIn(value: unknown, found: any[] = []): any[] {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== "object" || next === null) continue
    if (!Array.isArray(next)) found.push(next)
    open.push(...Object.values(next))
  }
  return found
}

const made = new Map<string, fc.Arbitrary<any>>()

function valueOf(node: Node, depth: number): fc.Arbitrary<any> {
  if (node.$ref !== undefined) {
    const key = `${node.$ref} ${depth}`
    if (!made.has(key)) made.set(key, valueOf(target(node.$ref), depth + 1))
    return made.get(key)!
  }
  if (node.anyOf) return fc.option(valueOf(node.anyOf[0]!, depth))
  if (node.const !== undefined) return fc.constant(node.const)
  if (node.type === undefined) return depth > 4 ? fc.constant(0) : json
  if (node.type === "object") return objectOf(node, depth)
  if (node.type === "array") return fc.array(valueOf(node.items!, depth + 1), { maxLength: depth > 4 ? 0 : 3 })
  if (node.enum) return fc.constantFrom(...node.enum)
  const words = typeof node.type === "string" ? [node.type] : node.type
  return fc.oneof(...words.map((word) => plain[word]!))
}

const plain: Record<string, fc.Arbitrary<unknown>> = {
  string: text,
  boolean: fc.boolean(),
  integer: fc.integer(),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }),
}

function objectOf(node: Node, depth: number): fc.Arbitrary<any> {
  const { properties = {}, required = [], additionalProperties } = node
  const members = Object.keys(properties).filter((each) => depth < 5 || required.includes(each))
  const known = fc.record(Object.fromEntries(members.map((each) => [each, valueOf(properties[each]!, depth + 1)])), {
    requiredKeys: required as never[],
    noNullPrototype: true,
  })
  if (!additionalProperties) return known
  const more = fc.array(fc.tuple(name, valueOf(additionalProperties, depth + 1)), { maxLength: 3 })
  return fc.tuple(known, more).map(([fixed, extra]) => {
    const fresh = extra.filter(([each]) => !Object.hasOwn(properties, each))
    return Object.fromEntries([...fresh, ...Object.entries(fixed)])
  })
}

function target(ref: string): Node {
  const [type, property] = ref.split("#/$defs/")[1]!.split("/properties/")
  return property === undefined ? types[type!]! : types[type!]!.properties![property]!
}
