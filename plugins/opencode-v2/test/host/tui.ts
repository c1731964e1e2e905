/** A terminal user interface, scripted: what a `./tui` entry is given, and what it did with it. */

import type { HostEvent } from "./contract.ts"

export interface DialogConfirm {
  kind: "confirm"
  title?: string
  message?: string
}
export interface DialogSelect {
  kind: "select"
  title?: string
  options: { title: string; value: any; description?: string }[]
}
export interface DialogPrompt {
  kind: "prompt"
  title?: string
  message?: string
  placeholder?: string
  value?: string
}
export interface DialogAlert {
  kind: "alert"
  title?: string
  message?: string
}
export type Dialog = DialogConfirm | DialogSelect | DialogPrompt | DialogAlert

export interface TuiOptions {
  /** Reaches the entry as `context.options`. Default `{}`. */
  options?: Record<string, any>
  /** The location that the TUI shows. Default: the host's first. */
  directory?: string
  /** What the user does with a dialog. Undefined: it is dismissed. Default: nothing, the dialog stays open. */
  answers?: (dialog: Dialog) => unknown
}

export interface Tui {
  readonly id: string
  readonly toasts: readonly { message: string; variant?: string }[]
  /** Every dialog that was shown, in order. */
  readonly dialogs: readonly Dialog[]
  /** Publishes an event to `data.on` and `data.listen` of this TUI only. */
  emit(event: Partial<HostEvent> & { type: string }): void
  close(): Promise<void>
}
