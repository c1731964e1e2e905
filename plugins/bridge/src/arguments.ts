/**
 * The tools' arguments: what is published to the model, and the check that no
 * host makes. Both read the same table.
 */

/** One argument: its JSON Schema, and whether it must be there. */
interface Argument {
  schema: { type?: string; description: string; minimum?: number; maximum?: number; items?: { type: "string" } }
  required?: true
}

/** The arguments of one tool. */
export type Arguments = Record<string, Argument>

/** The arguments of all tools. */
export const argumentsOf = {
  tenon_exec: {
    code: {
      schema: {
        type: "string",
        description:
          "TypeScript or JavaScript. Call tools as `await tools.<namespace>.<tool>({...})`; the value of the last " +
          "expression, or of `return`, is the result. A call gives the tool's structured result, its JSON parsed, or its text; " +
          "a failure throws ToolError. Also: search(), describe(), run(script), resources, prompts, emit(), artifact(), log.*, " +
          "input, session. By default there is no import, file or process.",
      },
      required: true,
    },
    timeout: {
      schema: { type: "number", description: "Seconds, human time not counted.", minimum: 0.1, maximum: 86_400 },
    },
    engine: { schema: { type: "string", description: "How to execute it; leave it out for the usual one." } },
    input: { schema: { description: "Any JSON, the global `input` of the program." } },
  },
  tenon_call: {
    server: { schema: { type: "string", description: "The server's name." }, required: true },
    tool: { schema: { type: "string", description: "The tool's own name." }, required: true },
    arguments: { schema: { type: "object", description: "The tool's arguments." } },
  },
  tenon_search: {
    query: { schema: { type: "string", description: "A few words; empty lists everything." }, required: true },
    namespace: {
      schema: { type: "string", description: "Only tools of this namespace; scripts: only saved scripts." },
    },
    limit: { schema: { type: "integer", description: "At most so many; 10 by default, 100 at most.", minimum: 0 } },
    offset: { schema: { type: "integer", description: "Where the next page starts.", minimum: 0 } },
  },
  tenon_types: {
    paths: {
      schema: {
        type: "array",
        items: { type: "string" },
        description: "Namespaces, or `namespace.tool`; everything when left out.",
      },
    },
  },
  tenon_catalog: {
    budget: {
      schema: { type: "integer", description: "Tokens it may cost; 2000 by default.", minimum: 0 },
    },
    since: { schema: { type: "string", description: "The fingerprint you have; answers with what changed since." } },
  },
  tenon_status: {},
} satisfies Record<string, Arguments>

/** The JSON Schema that the model sees. */
export function schemaOf(args: Arguments): object {
  const names = Object.keys(args)
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, args[name]!.schema])),
    required: names.filter((name) => args[name]!.required),
    additionalProperties: false,
  }
}

/**
 * Checks what the model sent.
 *
 * @throws Error saying what is wrong and what would be right
 */
export function readArguments<T>(tool: string, args: Arguments, given: unknown): T {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new Error(`${tool}: the arguments must be an object`)
  }
  const known = Object.keys(args)
  for (const [name, value] of Object.entries(given)) {
    const argument = Object.hasOwn(args, name) ? args[name] : undefined
    if (!argument) throw new Error(`${tool}: there is no argument "${name}"${suggestion(name, known)}`)
    const wrong = value === undefined ? undefined : mistake(argument.schema, value)
    if (wrong) throw new Error(`${tool}: argument "${name}" must be ${wrong}`)
  }
  const missing = known.find((name) => args[name]!.required && (given as Record<string, unknown>)[name] === undefined)
  if (missing) throw new Error(`${tool}: argument "${missing}" is missing`)
  return given as T
}

function mistake(schema: Argument["schema"], value: unknown): string | undefined {
  const { type, minimum = -Infinity, maximum = Infinity } = schema
  if (type === "string") return typeof value === "string" ? undefined : "a string"
  if (type === "object") {
    return typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "an object"
  }
  if (type === "array") {
    return Array.isArray(value) && value.every((each) => typeof each === "string") ? undefined : "a list of strings"
  }
  if (type !== "number" && type !== "integer") return undefined
  if (typeof value !== "number" || (type === "integer" && !Number.isInteger(value))) {
    return type === "integer" ? "a whole number" : "a number"
  }
  if (value < minimum) return `at least ${minimum}`
  return value > maximum ? `at most ${maximum}` : undefined
}

function suggestion(name: string, known: string[]): string {
  if (known.length === 0) return "; it takes none"
  const nearest = known
    .map((candidate) => ({ candidate, distance: distance(name.toLowerCase(), candidate) }))
    .sort((a, b) => a.distance - b.distance)[0]!
  if (nearest.distance <= Math.max(2, nearest.candidate.length / 3)) return `; did you mean "${nearest.candidate}"?`
  return `; it takes ${known.join(", ")}`
}

/** Edits between two words (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]!
}
