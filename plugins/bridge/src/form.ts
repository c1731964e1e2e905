/**
 * The forms of MCP servers: flat objects of plain values, as MCP allows them.
 * The daemon holds the answer against the schema; here it is only asked for.
 */

import type { Field } from "./dialogs.ts"
import { plain } from "./plain.ts"

interface Property {
  type?: string
  title?: string
  description?: string
  enum?: unknown[]
  enumNames?: unknown[]
  oneOf?: { const?: unknown; title?: unknown }[]
  anyOf?: { const?: unknown; title?: unknown }[]
  items?: Property
  default?: unknown
}

/** The fields of a form; undefined when it asks for something that is no plain value. */
export function fieldsOf(schema: unknown): Field[] | undefined {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Property>
    required?: unknown
  }
  const fields: Field[] = []
  for (const [name, property] of Object.entries(properties)) {
    const field = fieldOf(name, property, Array.isArray(required) && required.includes(name))
    if (!field) return undefined
    fields.push(field)
  }
  return fields
}

function fieldOf(name: string, property: Property, required: boolean): Field | undefined {
  const common = {
    name,
    title: plain(property.title ?? name, 100),
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
      const choices = optionsOf(property.items ?? {})
      return choices && { ...common, kind: "choices", options: choices }
    }
    default:
      return undefined
  }
}

function optionsOf(property: Property): { value: string; title: string }[] | undefined {
  const titled = property.oneOf ?? property.anyOf
  if (titled?.every((each) => typeof each.const === "string")) {
    return titled.map((each) => ({ value: each.const as string, title: plain(String(each.title ?? each.const), 100) }))
  }
  if (!property.enum?.every((each) => typeof each === "string")) return undefined
  return property.enum.map((value, i) => ({
    value: value as string,
    title: plain(String(property.enumNames?.[i] ?? value), 100),
  }))
}

/** What was filled in, with the types that the form wants. A value that does not fit is left for the daemon to refuse. */
export function contentOf(fields: Field[], values: Record<string, string | string[]>): Record<string, unknown> {
  const content: Record<string, unknown> = {}
  for (const field of fields) {
    const value = values[field.name]
    if (value === undefined || (value === "" && !field.required)) continue
    content[field.name] = typeof value === "string" ? typed(field, value) : value
  }
  return content
}

function typed(field: Field, value: string): unknown {
  if (field.kind === "boolean") return value === "true"
  if (field.kind !== "number" && field.kind !== "integer") return value
  const number = Number(value.trim())
  return value.trim() === "" || Number.isNaN(number) ? value : number
}
