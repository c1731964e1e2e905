/** Methods of the context that are endpoints: input and output travel as JSON, checked against the endpoint's fields. */

/** `!` is a field that must be there. */
export type Fields = Record<string, FieldType | `${FieldType}!`>
type FieldType = "string" | "boolean" | "number" | "object" | "array"

/**
 * An endpoint as a method. The input goes through JSON, fields that the endpoint does not have are dropped, wrong ones
 * reject. An answer `{data}` and nothing else is unwrapped; no answer is undefined.
 */
export function endpoint(
  name: string,
  fields: Fields,
  handler: (input: any) => unknown,
): (input?: any) => Promise<any> {
  return async (input = {}) => {
    const decoded = decodeFields(name, fields, JSON.parse(JSON.stringify(input) ?? "null"))
    const answer: unknown = await handler(decoded)
    if (answer === undefined) return undefined
    const wire = JSON.parse(JSON.stringify(answer))
    const keys = typeof wire === "object" && wire !== null ? Object.keys(wire) : []
    return keys.length === 1 && keys[0] === "data" ? wire.data : wire
  }
}

function decodeFields(name: string, fields: Fields, input: unknown): Record<string, unknown> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) throw new Error(`${name}: invalid input`)
  const given = input as Record<string, unknown>
  const decoded: Record<string, unknown> = {}
  for (const [field, type] of Object.entries(fields)) {
    const value = given[field]
    if (value === undefined) {
      if (type.endsWith("!")) throw new Error(`${name}: ${field} is missing`)
      continue
    }
    if (kindOf(value) !== type.replace("!", "")) throw new Error(`${name}: ${field} is not a ${type.replace("!", "")}`)
    decoded[field] = value
  }
  return decoded
}

function kindOf(value: unknown): string {
  if (value === null) return "null"
  return Array.isArray(value) ? "array" : typeof value
}
