/** Arguments made from a JSON Schema: a reader of schemas that shares nothing with the one under test. */

type Schema = boolean | { [word: string]: any }

/** A value that a schema accepts, as far as it is built from the usual words; `all` gives optional properties too. */
export function sample(schema: Schema, all: boolean, root: Schema = schema, depth = 0): unknown {
  if (typeof schema === "boolean" || depth > 12) return {}
  if (typeof schema.$ref === "string") {
    const target = schema.$ref
      .replace(/^#\/?/, "")
      .split("/")
      .filter((part: string) => part !== "")
      .reduce((at: any, part: string) => at?.[decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~")], root)
    return sample(target ?? true, all && depth < 4, root, depth + 1)
  }
  if ("const" in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const choice = schema.anyOf ?? schema.oneOf
  const kind = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (choice?.length > 0 && !schema.properties) return sample(choice[0], all, root, depth + 1)
  if (schema.allOf?.length > 0 && kind !== "object" && !schema.properties)
    return sample(schema.allOf[0], all, root, depth + 1)
  switch (kind) {
    case "string":
      return "x"
    case "number":
    case "integer":
      return schema.minimum ?? schema.exclusiveMinimum ?? 1
    case "boolean":
      return true
    case "null":
      return null
    case "array": {
      const items = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : undefined)
      if (items) return items.map((item: Schema) => sample(item, all, root, depth + 1))
      return [sample(schema.items ?? true, all, root, depth + 1)]
    }
  }
  if (kind === undefined && !schema.properties && !schema.required) return {}
  const value: Record<string, unknown> = {}
  const required = new Set<string>(Array.isArray(schema.required) ? schema.required : [])
  for (const [name, property] of Object.entries<Schema>(schema.properties ?? {}))
    if (required.delete(name) || (all && depth < 4)) value[name] = sample(property, all, root, depth + 1)
  for (const name of required) value[name] = "x"
  if (all && typeof schema.additionalProperties === "object" && !schema.properties)
    value["any name"] = sample(schema.additionalProperties, all, root, depth + 1)
  return value
}
