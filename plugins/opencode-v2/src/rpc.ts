/**
 * The line between the server part and the TUI part, which opencode runs in
 * different processes: events to the TUI, calls back. Also an entry of its own,
 * for others that want to answer.
 */

import type { RpcDefinition } from "./host.ts"

const text = { type: "string" }
const object = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
})

/** Whether the one who is told still waits. */
const known = object({ known: { type: "boolean" } })

/** The definition. */
const definition: RpcDefinition = {
  id: "opencode-tenon",
  methods: {
    /** The TUI shows it; who is not answered so within half a second goes elsewhere. */
    shown: { input: object({ id: text }), output: known },
    /** What the user said: a decision, or a form's values. */
    answer: {
      input: object(
        {
          id: text,
          reply: { type: "string", enum: ["once", "always", "reject"] },
          feedback: text,
          action: { type: "string", enum: ["accept", "decline", "cancel"] },
          values: { type: "object" },
        },
        ["id"],
      ),
      output: known,
    },
  },
  events: {
    /** A question: with `fields` or `url` it is a form, else a permission. */
    ask: {
      schema: object(
        {
          id: text,
          session: text,
          title: text,
          message: text,
          always: { type: "boolean" },
          url: text,
          fields: { type: "array" },
        },
        ["id", "session", "title", "message"],
      ),
    },
    /** Nobody waits for the answer any more. */
    withdraw: { schema: object({ id: text }) },
    /** A short message. */
    notice: { schema: object({ id: text, level: text, message: text }) },
  },
}

export default definition
