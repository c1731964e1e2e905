/**
 * Route 3: the host's question tool, called by hand inside the tool call that
 * the question belongs to. It needs such a call, and an agent that may ask.
 */

import { plain, plainJSON } from "@tenon/bridge"
import type { ToolContext, Tool } from "../host.ts"
import type { Decision, Field, Filled, Route } from "./route.ts"

const once = "Allow once"
const always = "Always allow"
const reject = "Reject"

/** A form that has not been refused for so long is before the user (milliseconds). */
const shownAfter = 150

interface Question {
  question: string
  header: string
  options: { label: string; description: string }[]
  multiple?: boolean
}

/** Makes the route; `tool` is the host's question tool as it stands now, if there is one. */
export function questionRoute(tool: () => Tool | undefined): Required<Route> {
  /** The answers in order; "dismissed"; undefined when the host did not ask. */
  const put = async (questions: Question[], ctx: ToolContext, signal: AbortSignal, shown: () => void) => {
    const asking = tool()
    if (!asking || signal.aborted) return undefined
    const timer = setTimeout(shown, shownAfter)
    try {
      // Its progress would be shown at the call that it is borrowed for.
      const result = await asking.execute({ questions }, { ...ctx, progress: async () => {}, signal })
      const { answers } = (result.output ?? result.metadata ?? {}) as { answers?: unknown }
      return Array.isArray(answers) ? answers.map(strings) : undefined
    } catch (error) {
      return !signal.aborted && /dismissed this question/.test(String(error)) ? ("dismissed" as const) : undefined
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    name: "question",
    async ask(prompt, signal, shown) {
      if (!prompt.call) return undefined
      const question: Question = {
        header: "Permission",
        question: `${prompt.title}\n${plainJSON(prompt.details)}`.trim(),
        options: [
          { label: once, description: "This call only" },
          ...(prompt.always ? [{ label: always, description: "This tool in this project" }] : []),
          { label: reject, description: "The program sees a refusal" },
        ],
      }
      const answers = await put([question], prompt.call.ctx, signal, shown)
      if (answers === undefined) return undefined
      return answers === "dismissed" ? { reply: "reject" } : decisionOf(answers[0]?.[0])
    },
    async fill(form, signal, shown) {
      if (!form.call) return undefined
      const answers = await put(questionsOf(form.fields, form), form.call.ctx, signal, shown)
      if (answers === undefined) return undefined
      if (answers === "dismissed") return { action: "cancel" }
      if (form.fields.length === 0) return confirmed(answers[0]?.[0])
      const values: [string, string | string[]][] = []
      form.fields.forEach((field, i) => {
        const given = answers[i] ?? []
        if (given.length > 0 && given[0] !== skip) values.push([field.name, valueOf(field, given)])
      })
      return { action: "accept", values: Object.fromEntries(values) }
    },
  }
}

/** What the user types instead of an option is a refusal with a word. */
function decisionOf(answer: string | undefined): Decision {
  if (answer === once) return { reply: "once" }
  if (answer === always) return { reply: "always" }
  if (answer === reject || answer === undefined) return { reply: "reject" }
  return { reply: "reject", feedback: plain(answer, 2_000) }
}

const yes = "Yes"
const no = "No"
const done = "Continue"
const skip = "Leave empty"

function questionsOf(fields: Field[], form: { title: string; message: string; url?: string }): Question[] {
  const about = [form.title, form.message, form.url].filter(Boolean).join("\n")
  if (fields.length === 0) {
    const options = [
      { label: done, description: form.url ? "Opened it" : "Agree" },
      { label: no, description: "Decline" },
    ]
    return [{ header: "Server", question: about, options }]
  }
  return fields.map((field, i) => ({
    header: plain(field.title, 30),
    question: [i === 0 ? about : "", field.description ?? field.title].filter(Boolean).join("\n"),
    options: [
      ...optionsOf(field).map((label) => ({ label, description: "" })),
      ...(field.required ? [] : [{ label: skip, description: "" }]),
    ],
    ...(field.kind === "choices" ? { multiple: true } : {}),
  }))
}

function optionsOf(field: Field): string[] {
  if (field.kind === "boolean") return [yes, no]
  if (field.options) return field.options.map(({ title }) => title)
  return field.preset === undefined ? [] : [field.preset]
}

function valueOf(field: Field, given: string[]): string | string[] {
  const values = given.map((label) => {
    if (field.kind === "boolean") return label === yes ? "true" : "false"
    return field.options?.find(({ title }) => title === label)?.value ?? label
  })
  return field.kind === "choices" ? values : values[0]!
}

function confirmed(answer: string | undefined): Filled {
  return answer === done ? { action: "accept", values: {} } : { action: "decline" }
}

function strings(given: unknown): string[] {
  return (Array.isArray(given) ? given : [given]).filter((each): each is string => typeof each === "string")
}
