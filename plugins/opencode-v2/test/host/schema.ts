/** Schemas of tools and of RPC: plain JSON schema, or a standard schema that can say itself as one. */

import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv"
import type { JsonSchema, StandardSchema, ValueSchema } from "./contract.ts"

const validator = new AjvJsonSchemaValidator()
const target = { target: "draft-2020-12" }

export function isStandard(schema: ValueSchema): schema is StandardSchema {
  return "~standard" in schema
}

/** @throws what is wrong with the schema itself. */
export function checkSchema(schema: unknown, side: "input" | "output"): void {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) throw new Error(`${side} is not a schema`)
  if (isStandard(schema as ValueSchema) && !(schema as StandardSchema)["~standard"].jsonSchema?.[side]) {
    throw new Error(`${side} schema has no JSON schema`)
  }
}

export function asJsonSchema(schema: ValueSchema, side: "input" | "output"): JsonSchema {
  return isStandard(schema) ? schema["~standard"].jsonSchema[side](target) : schema
}

/**
 * The value as the schema decodes it.
 *
 * @throws what is wrong with the value.
 */
export async function decode(schema: ValueSchema, value: unknown): Promise<unknown> {
  if (isStandard(schema)) {
    const result = await schema["~standard"].validate(value)
    if (result.issues) throw new Error(result.issues.map((issue) => issue.message).join("; "))
    return result.value
  }
  checkValue(schema, value)
  return value
}

/** @throws what is wrong with the value. */
export function checkValue(schema: JsonSchema, value: unknown): void {
  const result = validator.getValidator(schema)(value)
  if (!result.valid) throw new Error(result.errorMessage)
}

/** @throws when a value would not survive JSON. */
export function checkJson(value: unknown, path = "value"): void {
  if (value === null || ["string", "boolean"].includes(typeof value)) return
  if (typeof value === "number") {
    if (Number.isFinite(value)) return
    throw new Error(`${path} is not JSON: ${value}`)
  }
  if (Array.isArray(value)) return value.forEach((inner, at) => checkJson(inner, `${path}[${at}]`))
  const prototype: unknown = typeof value === "object" ? Object.getPrototypeOf(value) : undefined
  // A plain object may come from another realm: then its prototype is not this realm's, but has none above.
  if (prototype !== null && (typeof prototype !== "object" || Object.getPrototypeOf(prototype) !== null)) {
    throw new Error(`${path} is not JSON: ${typeof value}`)
  }
  for (const [key, inner] of Object.entries(value as object)) {
    if (inner !== undefined) checkJson(inner, `${path}.${key}`)
  }
}
