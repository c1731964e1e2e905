/** A prompt on its way into a session. */

import { hookEvent } from "./strict.ts"
import { newID, type Core } from "./core.ts"
import type { HookTable } from "./hooks.ts"
import type { PromptEvent } from "./contract.ts"

/** Runs the `prompt` hook and keeps what it leaves. */
export async function admit(core: Core, hooks: HookTable, sessionID: string, text: string): Promise<{ text: string }> {
  const { info, messages } = core.sessions.get(sessionID)
  const fields = {
    prompt: { text, files: [], agents: [], skills: [] } as PromptEvent["prompt"],
    metadata: undefined as PromptEvent["metadata"],
    delivery: "queue" as PromptEvent["delivery"],
  }
  const { readonlyWrites } = core.switches
  const event: PromptEvent = hookEvent(fields, { sessionID, messageID: newID("msg") }, readonlyWrites, false)
  core.events.publish("session.inbox.enqueued", { sessionID, text }, info.location)
  await hooks.fire("prompt", event)
  messages.push({ role: "user", text: event.prompt.text })
  core.events.publish("session.inbox.delivered", { sessionID, text: event.prompt.text }, info.location)
  return { text: event.prompt.text }
}
