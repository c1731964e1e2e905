/**
 * tenon's entry in opencode's TUI: shows what the server part asks, one dialog at
 * a time with a toast, and sends the answer back. It decides nothing.
 */

import definition from "./rpc.ts"
import type { Field } from "./ask/route.ts"

/** The parts of the TUI that are used. What may be missing is looked for. */
export interface TuiContext {
  readonly client: {
    rpc(definition: object): Record<string, (input: object, options?: { location?: unknown }) => Promise<unknown>>
  }
  readonly data: { on(type: string, handler: (event: TuiEvent) => void): () => void }
  readonly ui: {
    readonly dialog: {
      select?<V>(options: {
        title: string
        options: { title: string; value: V; description?: string }[]
      }): Promise<V | undefined>
      confirm(options: { title: string; message: string }): Promise<boolean | undefined>
      prompt(options: {
        title: string
        description?: string
        placeholder?: string
        value?: string
      }): Promise<string | undefined>
      clear?(): void
    }
    readonly toast: { show(options: { message: string; variant?: string }): void }
  }
}

/** An event, with the location whose instance sent it: the answer goes there. */
interface TuiEvent {
  data: any
  location?: unknown
}

/** One question on its way through the dialogs. */
interface Shown {
  id: string
  location: unknown
  withdrawn: boolean
  data: any
}

export default { id: "opencode-tenon-tui", setup }

function setup(context: TuiContext): () => void {
  const { dialog, toast } = context.ui
  const rpc = context.client.rpc(definition)
  const queue: Shown[] = []
  let current: Shown | undefined
  let closed = false

  // Not every release can close a dialog: its answer is dropped then.
  const putAway = () => {
    if ("clear" in dialog) dialog.clear?.()
  }

  const tell = (method: "shown" | "answer", shown: Shown, more: object = {}) =>
    rpc[method]!({ id: shown.id, ...more }, shown.location ? { location: shown.location } : undefined).catch(() => {}) // nobody waits any more

  const next = async () => {
    if (current || closed) return
    const shown = queue.shift()
    if (!shown) return
    current = shown
    try {
      const answer = await put(dialog, shown)
      if (answer && !shown.withdrawn && !closed) await tell("answer", shown, answer)
    } catch {
      // A dialog that failed has no answer; the question goes elsewhere in time.
    }
    current = undefined
    void next()
  }

  const ends = [
    context.data.on(nameOf("ask"), ({ data, location }) => {
      const shown = { id: data.id, location, withdrawn: false, data }
      queue.push(shown)
      toast.show({ message: `tenon: ${data.title}`, variant: "warning" })
      void tell("shown", shown)
      void next()
    }),
    context.data.on(nameOf("withdraw"), ({ data }) => {
      const at = queue.findIndex(({ id }) => id === data.id)
      if (at >= 0) queue.splice(at, 1)
      if (current?.id !== data.id || current!.withdrawn) return
      current!.withdrawn = true
      putAway()
    }),
    context.data.on(nameOf("notice"), ({ data, location }) => {
      toast.show({ message: `tenon: ${data.message}`, variant: data.level })
      void tell("shown", { id: data.id, location, withdrawn: false, data })
    }),
  ]

  return () => {
    closed = true
    queue.length = 0
    for (const end of ends) end()
    if (current) putAway()
  }
}

function nameOf(event: string): string {
  return `rpc.${definition.id}.${event}`
}

/** Shows one question; a dialog that is put away is a no. */
async function put(dialog: TuiContext["ui"]["dialog"], shown: Shown): Promise<object | undefined> {
  const { title, message, fields, url, always } = shown.data
  if (url !== undefined || fields?.length === 0) {
    const yes = await dialog.confirm({ title, message: [message, url].filter(Boolean).join("\n") })
    if (yes === undefined) return { action: "cancel" }
    return { action: yes ? "accept" : "decline", values: {} }
  }
  if (fields) return fill(dialog, shown, fields)
  if (!dialog.select) {
    return { reply: (await dialog.confirm({ title, message })) ? "once" : "reject" }
  }
  const reply = await dialog.select({
    title: message ? `${title} ${message}` : title,
    options: [
      { title: "Allow once", value: "once" },
      ...(always ? [{ title: "Always allow", value: "always", description: "this tool, in this project" }] : []),
      { title: "Reject", value: "reject" },
    ],
  })
  return { reply: reply ?? "reject" }
}

/** One dialog a field. Whoever puts one away has cancelled the form. */
async function fill(dialog: TuiContext["ui"]["dialog"], shown: Shown, fields: Field[]): Promise<object | undefined> {
  const values: Record<string, string | string[]> = {}
  for (const [i, field] of fields.entries()) {
    if (shown.withdrawn) return undefined
    const about = i === 0 ? [shown.data.title, shown.data.message].filter(Boolean).join(": ") : ""
    const given = await ask(dialog, field, about)
    if (given === undefined) return { action: "cancel" }
    if (given !== "" || field.required) values[field.name] = field.kind === "choices" ? given.split("\u0000") : given
  }
  return { action: "accept", values }
}

async function ask(dialog: TuiContext["ui"]["dialog"], field: Field, about: string): Promise<string | undefined> {
  const title = [about, field.title].filter(Boolean).join(" – ")
  const options = field.kind === "boolean" ? yesNo : field.options
  if (!options || !dialog.select) {
    return dialog.prompt({
      title,
      ...(field.description ? { description: field.description } : {}),
      ...(field.preset === undefined ? {} : { value: field.preset }),
    })
  }
  const empty = field.required ? [] : [{ title: "Leave empty", value: "" }]
  if (field.kind !== "choices") return dialog.select({ title, options: [...options, ...empty] })
  // Several of a list: one after the other, until "Done".
  const chosen: string[] = []
  for (;;) {
    const rest = options.filter(({ value }) => !chosen.includes(value))
    if (rest.length === 0) return chosen.join("\u0000")
    const value = await dialog.select<string | null>({
      title: `${title} (${chosen.length} chosen)`,
      options: [...rest, { title: "Done", value: null }],
    })
    if (value === undefined) return undefined
    if (value === null) return chosen.join("\u0000")
    chosen.push(value)
  }
}

const yesNo = [
  { title: "Yes", value: "true" },
  { title: "No", value: "false" },
]
