/**
 * The forms of MCP servers: flat objects of plain values, as MCP allows them.
 * The daemon holds the answer against the schema; here it is only asked for.
 */

import type { Field } from "./dialogs.ts"
import { plain } from "./plain.ts"

/** Members that a property should have; a server may have put anything there. */
interface Property {
  type?: unknown
  title?: unknown
  description?: unknown
  enum?: unknown
  enumNames?: unknown
  oneOf?: unknown
  anyOf?: unknown
  items?: unknown
  default?: unknown
}

/** The fields of a form; undefined when it asks for something that is no plain value, or is no form. Never throws. */
export function fieldsOf(schema: unknown): Field[] | undefined {
  const { properties = {}, required } = (schema ?? {}) as { properties?: unknown; required?: unknown }
  if (!isObject(properties)) return undefined
  const fields: Field[] = []
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) return undefined
    const field = fieldOf(name, property, Array.isArray(required) && required.includes(name))
    if (!field) return undefined
    fields.push(field)
  }
  return fields
}

function fieldOf(name: string, property: Property, required: boolean): Field | undefined {
  const common = {
    name,
    title: titleOf(property.title, name),
    ...(property.description ? { description: plain(property.description) } : {}),
    required,
    ...(typeof property.default === "object" || property.default === undefined
      ? {}
      : { preset: String(property.default) }),
  }
  const options = optionsOf(property)
  if (options) return { ...common, kind: "choice", options }
  switch (property.type) {
    case "string":
      return { ...common, kind: "text" }
    case "number":
    case "integer":
    case "boolean":
      return { ...common, kind: property.type }
    case "array": {
      const choices = isObject(property.items) ? optionsOf(property.items) : undefined
      return choices && { ...common, kind: "choices", options: choices }
    }
    default:
      return undefined
  }
}

function optionsOf(property: Property): { value: string; title: string }[] | undefined {
  const titled = property.oneOf ?? property.anyOf
  if (Array.isArray(titled) && titled.every((each) => isObject(each) && typeof each.const === "string")) {
    return titled.map((each) => ({ value: each.const, title: titleOf(each.title, each.const) }))
  }
  const { enum: values, enumNames: names } = property
  if (!Array.isArray(values) || !values.every((each) => typeof each === "string")) return undefined
  return values.map((value, i) => ({ value, title: titleOf(Array.isArray(names) ? names[i] : undefined, value) }))
}

/** A title, or the name where there is none that can be read. */
function titleOf(title: unknown, name: string): string {
  return plain(title, 100) || plain(name, 100)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The values of a form as a screen gives them: texts and lists of texts, whatever else is there. */
export function valuesOf(given: unknown): Record<string, string | string[]> {
  const values: [string, string | string[]][] = []
  for (const [name, value] of Object.entries(isObject(given) ? given : {})) {
    if (typeof value === "string") values.push([name, value])
    else if (Array.isArray(value)) values.push([name, value.filter((each) => typeof each === "string")])
  }
  return Object.fromEntries(values)
}

/** What was filled in, with the types that the form wants. A value that does not fit is left for the daemon to refuse. */
export function contentOf(fields: Field[], values: Record<string, string | string[]>): Record<string, unknown> {
  const content: [string, unknown][] = []
  for (const field of fields) {
    // A field may have the name of what every object inherits.
    const value = Object.hasOwn(values, field.name) ? values[field.name] : undefined
    if (value === undefined || (value === "" && !field.required)) continue
    content.push([field.name, typeof value === "string" ? typed(field, value) : value])
  }
  return Object.fromEntries(content)
}

function typed(field: Field, value: string): unknown {
  if (field.kind === "boolean") return value === "true"
  if (field.kind !== "number" && field.kind !== "integer") return value
  const number = Number(value.trim())
  return value.trim() === "" || !Number.isFinite(number) ? value : number
}
