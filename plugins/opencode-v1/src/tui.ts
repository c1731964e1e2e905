/**
 * tenon's entry in the TUI of opencode v1, a module of its own in tui.json: shows
 * what scripts from bash must ask. What tools ask is in opencode's own dialogs.
 */

import { showQuestions, type Dialogs } from "@tenon/bridge/dialogs"
import { openChannel } from "./channel.ts"

/** What draws a dialog; made and kept by the host. */
type Element = unknown

/** The parts of the TUI's interface that are used, as 1.18.31 has them. */
export interface TuiApi {
  ui: {
    toast(options: { message: string; variant?: string }): void
    /** `onClose` runs however the dialog goes, also after a selection. */
    dialog: { replace(render: () => Element, onClose?: () => void): void; clear(): void }
    DialogSelect<V>(options: {
      title: string
      options: { title: string; value: V; description?: string }[]
      onSelect(option: { value: V }): void
    }): Element
    DialogConfirm(options: { title: string; message: string; onConfirm(): void; onCancel(): void }): Element
    DialogPrompt(options: { title: string; value?: string; onConfirm(value: string): void }): Element
  }
  lifecycle: { onDispose(callback: () => void): unknown }
}

export default { id: "opencode-tenon-tui", tui }

async function tui(api: TuiApi): Promise<void> {
  const channel = openChannel()
  if (!channel) return
  const questions = showQuestions<undefined>({
    dialogs: dialogsOf(api),
    putAway: () => api.ui.dialog.clear(),
    toast: (message, variant) => api.ui.toast({ message, variant }),
    tell: (method, data) => channel.postMessage({ to: "plugin", method, data }),
  })
  channel.onmessage = ({ data: message }) => {
    if (message?.to !== "tui" || !message.data) return
    if (message.event === "ask") questions.ask(message.data, undefined)
    else if (message.event === "notice") questions.notice(message.data, undefined)
    else questions.withdraw(message.data.id)
  }
  api.lifecycle.onDispose(() => {
    questions.close()
    channel.close()
  })
}

/** The host's dialogs as promises. */
function dialogsOf({ ui }: TuiApi): Dialogs {
  const show = <T>(render: (finish: (value: T) => void) => Element): Promise<T | undefined> =>
    new Promise((resolve) => {
      const finish = (value: T) => {
        resolve(value)
        ui.dialog.clear()
      }
      ui.dialog.replace(
        () => render(finish),
        () => resolve(undefined),
      )
    })
  return {
    select: <V>(options: { title: string; options: { title: string; value: V; description?: string }[] }) =>
      show<V>((finish) => ui.DialogSelect<V>({ ...options, onSelect: ({ value }) => finish(value) })),
    confirm: (options) =>
      show<boolean>((finish) =>
        ui.DialogConfirm({ ...options, onConfirm: () => finish(true), onCancel: () => finish(false) }),
      ),
    prompt: ({ title, value }) =>
      show<string>((finish) =>
        ui.DialogPrompt({ title, ...(value === undefined ? {} : { value }), onConfirm: finish }),
      ),
  }
}
