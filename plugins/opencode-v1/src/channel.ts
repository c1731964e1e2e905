/** The line between the two threads in which opencode v1 runs its plugins and its TUI. */

import type { LineAnswer } from "@tenon/bridge"

/** What goes over it: events to the TUI, and what it says. */
export type Message =
  | { to: "tui"; event: "ask" | "withdraw" | "notice"; data: any }
  | { to: "plugin"; method: "shown" | "answer"; data: { id: string } & LineAnswer }

/** One end. */
export interface Channel {
  onmessage: ((event: { data: Message | undefined }) => void) | null
  postMessage(message: Message): void
  close(): void
}

/** Opens an end that keeps no process alive; undefined where the runtime has no channels. */
export function openChannel(): Channel | undefined {
  if (typeof BroadcastChannel === "undefined") return undefined
  const channel = new BroadcastChannel("opencode-tenon") as unknown as Channel & { unref?(): void }
  channel.unref?.()
  return channel
}
