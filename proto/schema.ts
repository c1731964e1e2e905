/**
 * Walks the JSON Schemas of schema/, the words that they use and no others.
 * Twin of schema.go: the same order, so that both sides name the same mistake.
 */

import bridge from "./schema/bridge.json" with { type: "json" }
import material from "./schema/material.json" with { type: "json" }
import history from "./schema/history.json" with { type: "json" }
import auth from "./schema/auth.json" with { type: "json" }
import preset from "./schema/preset.json" with { type: "json" }
import script from "./schema/script.json" with { type: "json" }
import program from "./schema/program.json" with { type: "json" }
import rest from "./schema/rest.json" with { type: "json" }
import result from "./schema/result.json" with { type: "json" }
import rpc from "./schema/rpc.json" with { type: "json" }
import version from "./schema/version.json" with { type: "json" }

/** One schema, reduced to the words that are used. */
export interface Node {
  $ref?: string
  type?: string | string[]
  enum?: string[]
  const?: string
  properties?: Record<string, Node>
  required?: string[]
  items?: Node
  anyOf?: Node[]
  additionalProperties?: false | Node
}

/** Every message type by its name. */
export const types: Record<string, Node> = Object.assign(
  {},
  ...[version, bridge, rest, result, rpc, program, preset, auth, material, script, history].map(
    (file) => file.$defs as Record<string, Node>,
  ),
)

/** A mistake in a message: where, and what. */
export interface Mistake {
  path: string
  problem: string
}

/** Finds the first mistake of a value, or undefined. */
export function mistake(schema: Node, value: unknown, path: string): Mistake | undefined {
  const node = target(schema)
  if (node.anyOf) return value === null ? undefined : mistake(node.anyOf[0]!, value, path) // written for "or null" only
  if (node.type === undefined && node.const === undefined) return undefined // somebody else's content
  if (value === null) return { path, problem: "must not be null" }
  if (node.const !== undefined) return oneOf(value, [node.const], path)
  if (node.type === "object") return object(node, value, path)
  if (node.type === "array") {
    if (!Array.isArray(value)) return { path, problem: "must be an array" }
    return first(value.entries(), ([i, item]) => mistake(node.items!, item, `${path}[${i}]`))
  }
  const words = typeof node.type === "string" ? [node.type] : node.type!
  if (!words.some((word) => is(word, value))) {
    return { path, problem: `must be ${words.map((word) => names[word]).join(" or ")}` }
  }
  return node.enum ? oneOf(value, node.enum, path) : undefined
}

function object(node: Node, value: unknown, path: string): Mistake | undefined {
  if (typeof value !== "object" || Array.isArray(value)) return { path, problem: "must be an object" }
  const members = value as Record<string, unknown>
  const missing = node.required?.find((name) => !Object.hasOwn(members, name))
  if (missing !== undefined) return { path: join(path, missing), problem: "is missing" }
  return first(Object.keys(members).sort().values(), (name) => {
    const member = own(node.properties, name) ?? node.additionalProperties
    if (!member) return { path: join(path, name), problem: "is not a known field" }
    return mistake(member, members[name], join(path, name))
  })
}

/** Follows "$ref", which names a type or a property of one. */
function target(node: Node): Node {
  if (node.$ref === undefined) return node
  const [name, property] = node.$ref.split("#/$defs/")[1]!.split("/properties/")
  return property === undefined ? types[name!]! : types[name!]!.properties![property]!
}

const names: Record<string, string> = {
  string: "a string",
  boolean: "a boolean",
  integer: "a whole number",
  number: "a number",
}

function is(word: string, value: unknown): boolean {
  if (word === "integer") return Number.isInteger(value)
  return typeof value === word
}

function oneOf(value: unknown, words: string[], path: string): Mistake | undefined {
  if (words.includes(value as string)) return undefined
  return { path, problem: `must be one of ${words.join(", ")}` }
}

function first<T>(items: Iterator<T>, find: (item: T) => Mistake | undefined): Mistake | undefined {
  for (let step = items.next(); !step.done; step = items.next()) {
    const found = find(step.value)
    if (found) return found
  }
  return undefined
}

function own(properties: Record<string, Node> | undefined, name: string): Node | undefined {
  return properties && Object.hasOwn(properties, name) ? properties[name] : undefined
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`
}
