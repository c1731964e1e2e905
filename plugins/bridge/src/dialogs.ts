/**
 * The other end of the line, in a TUI: what a plugin asks is shown, one dialog at
 * a time with a toast, and the answer goes back. Nothing is decided here.
 */

/** The dialogs of a TUI. A dialog that is put away gives undefined. */
export interface Dialogs {
  /** Missing where a TUI has none; a question is then yes or no. */
  select?<V>(options: {
    title: string
    options: { title: string; value: V; description?: string }[]
  }): Promise<V | undefined>
  confirm(options: { title: string; message: string }): Promise<boolean | undefined>
  prompt(options: { title: string; description?: string; value?: string }): Promise<string | undefined>
}

/** One value of a form. */
export interface Field {
  name: string
  title: string
  description?: string
  kind: "text" | "number" | "integer" | "boolean" | "choice" | "choices"
  /** For choices: what is sent, and what is shown. */
  options?: { value: string; title: string }[]
  required: boolean
  preset?: string
}

/** What comes over the line: with `fields` or `url` a form, else a permission. */
export interface Asked {
  id: string
  title: string
  message: string
  always?: boolean
  url?: string
  fields?: Field[]
}

/** What a screen is made of. `from` is where a question came from, and where its answer goes. */
export interface Screen<From> {
  dialogs: Dialogs
  /** Closes the dialog that is open; undefined where that cannot be done. */
  putAway?(): void
  toast(message: string, variant: string): void
  /** Sends an answer; it may find nobody. */
  tell(method: "shown" | "answer", data: { id: string }, from: From): void
}

/** A screen that shows questions. */
export interface Questions<From> {
  ask(asked: Asked, from: From): void
  withdraw(id: string): void
  notice(notice: { id: string; level: string; message: string }, from: From): void
  close(): void
}

interface Shown<From> {
  asked: Asked
  from: From
  /** Its answer is not wanted any more. */
  withdrawn: boolean
}

/** Makes the screen. */
export function showQuestions<From>({ dialogs, putAway, toast, tell }: Screen<From>): Questions<From> {
  const queue: Shown<From>[] = []
  let current: Shown<From> | undefined

  const next = async () => {
    if (current) return
    const shown = queue.shift()
    if (!shown) return
    current = shown
    try {
      const answer = await put(dialogs, shown)
      if (answer && !shown.withdrawn) tell("answer", { id: shown.asked.id, ...answer }, shown.from)
    } catch {
      // A dialog that failed has no answer; the question goes elsewhere in time.
    }
    current = undefined
    void next()
  }

  const drop = (shown: Shown<From>) => {
    if (shown.withdrawn) return
    shown.withdrawn = true
    putAway?.()
  }

  return {
    ask(asked, from) {
      queue.push({ asked, from, withdrawn: false })
      toast(`tenon: ${asked.title}`, "warning")
      tell("shown", { id: asked.id }, from)
      void next()
    },
    withdraw(id) {
      const at = queue.findIndex(({ asked }) => asked.id === id)
      if (at >= 0) queue.splice(at, 1)
      else if (current?.asked.id === id) drop(current)
    },
    notice({ id, level, message }, from) {
      toast(`tenon: ${message}`, level)
      tell("shown", { id }, from)
    },
    close() {
      queue.length = 0
      if (current) drop(current)
    },
  }
}

/** Shows one question; a dialog that is put away is a no. */
async function put(dialogs: Dialogs, shown: Shown<unknown>): Promise<object | undefined> {
  const { title, message, fields, url, always } = shown.asked
  if (url !== undefined || fields?.length === 0) {
    const yes = await dialogs.confirm({ title, message: [message, url].filter(Boolean).join("\n") })
    if (yes === undefined) return { action: "cancel" }
    return { action: yes ? "accept" : "decline", values: {} }
  }
  if (fields) return fill(dialogs, shown, fields)
  if (!dialogs.select) {
    return { reply: (await dialogs.confirm({ title, message })) ? "once" : "reject" }
  }
  const reply = await dialogs.select({
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
async function fill(dialogs: Dialogs, shown: Shown<unknown>, fields: Field[]): Promise<object | undefined> {
  const values: [string, string | string[]][] = []
  for (const [i, field] of fields.entries()) {
    if (shown.withdrawn) return undefined
    const about = i === 0 ? [shown.asked.title, shown.asked.message].filter(Boolean).join(": ") : ""
    const given = await one(dialogs, field, [about, field.title].filter(Boolean).join(" – "))
    if (given === undefined) return { action: "cancel" }
    if (given !== "" || field.required) values.push([field.name, given])
  }
  return { action: "accept", values: Object.fromEntries(values) }
}

async function one(dialogs: Dialogs, field: Field, title: string): Promise<string | string[] | undefined> {
  const options = field.kind === "boolean" ? yesNo : field.options
  if (!options || !dialogs.select) {
    return dialogs.prompt({
      title,
      ...(field.description ? { description: field.description } : {}),
      ...(field.preset === undefined ? {} : { value: field.preset }),
    })
  }
  if (field.kind === "choices") return several(dialogs.select, options, title)
  const empty = field.required ? [] : [{ title: "Leave empty", value: "" }]
  return dialogs.select({ title, options: [...options, ...empty] })
}

/** Several of a list: one after the other, until "Done". */
async function several(
  select: NonNullable<Dialogs["select"]>,
  options: { value: string; title: string }[],
  title: string,
): Promise<string[] | undefined> {
  const chosen: string[] = []
  for (;;) {
    const rest = options.filter(({ value }) => !chosen.includes(value))
    if (rest.length === 0) return chosen
    const value = await select<string | null>({
      title: `${title} (${chosen.length} chosen)`,
      options: [...rest, { title: "Done", value: null }],
    })
    if (value === undefined) return undefined
    if (value === null) return chosen
    chosen.push(value)
  }
}

const yesNo = [
  { title: "Yes", value: "true" },
  { title: "No", value: "false" },
]
