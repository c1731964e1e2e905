/** tenon's entry in opencode's TUI: shows what the server part asks, over the host's rpc. */

import { showQuestions, type Dialogs } from "@tenon/bridge/dialogs"
import definition from "./rpc.ts"

/** The parts of the TUI that are used. What may be missing is looked for. */
export interface TuiContext {
  readonly client: {
    rpc(definition: object): Record<string, (input: object, options?: { location?: unknown }) => Promise<unknown>>
  }
  readonly data: { on(type: string, handler: (event: TuiEvent) => void): () => void }
  readonly ui: {
    readonly dialog: Dialogs & { clear?(): void }
    readonly toast: { show(options: { message: string; variant?: string }): void }
  }
}

/** An event, with the location whose instance sent it: the answer goes there. */
interface TuiEvent {
  data: any
  location?: unknown
}

export default { id: "opencode-tenon-tui", setup }

function setup(context: TuiContext): () => void {
  const { dialog, toast } = context.ui
  const rpc = context.client.rpc(definition)
  const questions = showQuestions<unknown>({
    dialogs: dialog,
    // Not every release can close a dialog: its answer is dropped then.
    ...("clear" in dialog ? { putAway: () => dialog.clear?.() } : {}),
    toast: (message, variant) => toast.show({ message, variant }),
    tell: (method, data, location) => {
      rpc[method]!(data, location ? { location } : undefined).catch(() => {}) // nobody waits any more
    },
  })
  const on = (event: string, handler: (data: any, location: unknown) => void) =>
    context.data.on(`rpc.${definition.id}.${event}`, ({ data, location }) => handler(data, location))
  const ends = [
    on("ask", questions.ask),
    on("withdraw", ({ id }) => questions.withdraw(id)),
    on("notice", questions.notice),
  ]
  return () => {
    for (const end of ends) end()
    questions.close()
  }
}
