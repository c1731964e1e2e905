/**
 * Reads messages and names what is wrong with them: unknown fields, missing
 * required fields, nulls, wrong types. Twin of decode.go.
 */

import { mistake, types } from "./schema.ts"

/** Says which field of a message is wrong; `path` is empty for the message itself. */
export interface FieldError extends Error {
  path: string
  problem: string
}

/** Makes a FieldError. */
export function FieldError(path: string, problem: string): FieldError {
  const error = new Error(path === "" ? problem : `${path}: ${problem}`) as FieldError
  error.name = "FieldError"
  error.path = path
  error.problem = problem
  return error
}

/**
 * Holds a value against the schema of a message type and gives it back.
 *
 * @throws FieldError naming the first wrong field
 * @example check<Ask>("Ask", params)
 */
export function check<T>(type: string, value: unknown): T {
  const schema = types[type]
  if (!schema) throw new Error(`${type} is not a message type`)
  const found = value === undefined ? { path: "", problem: "is missing" } : mistake(schema, value, "")
  if (found) throw FieldError(found.path, found.problem)
  return value as T
}

/** Reads one message from JSON text; see check. */
export function decode<T>(type: string, text: string): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw FieldError("", "is not JSON")
  }
  return check<T>(type, value)
}
