/**
 * Puts what a server asks in the middle of a call to opencode v1's user: in
 * dialogs of tenon's entry in the TUI where there is one. The host itself offers
 * yes or no only, so without the entry a page to visit and a form without fields
 * can be asked about, and nothing else can.
 */

import { contentOf, fieldsOf, plain, valuesOf } from "@tenon/bridge"
import type { Answer, Question } from "@tenon/proto"
import type { Client } from "./host.ts"
import type { Permissions } from "./permission.ts"
import type { ScreenLine } from "./screen.ts"

/** The questions of servers in one directory's plugin. */
export interface Questions {
  /** Answers elicitation/ask. Never hangs: a question is put, or it is unavailable at once. */
  ask(params: Question): Promise<Answer>
}

/** How long the words of a question stay on the screen, in milliseconds; the dialog beside them has none. */
const toastTime = 60_000
/** Most characters of a server's words there, and of an address, which has to be seen whole. */
const mostWords = 300
const mostAddress = 500

/** What is understood of an elicitation's params. */
interface Elicitation {
  mode?: unknown
  message?: unknown
  url?: unknown
  requestedSchema?: unknown
}

/** Makes the desk. `interactive`: somebody sees this host's dialogs. */
export function questionDesk(
  client: Client,
  permissions: Permissions,
  screen: ScreenLine,
  interactive: boolean,
): Questions {
  return {
    async ask(params) {
      if (params.kind !== "elicitation") return { unavailable: "opencode v1 gives a plugin no model" }
      if (!interactive) return { unavailable: "nobody watches this opencode" }
      const asked = (params.params ?? {}) as Elicitation
      const message = typeof asked.message === "string" ? asked.message : ""
      const url = asked.mode === "url" && typeof asked.url === "string" ? asked.url : undefined
      const fields = url ? [] : fieldsOf(asked.requestedSchema)
      if (!fields) return { unavailable: "the form asks for something that dialogs cannot ask for" }
      if (url && url.length > mostAddress) return { unavailable: "the address is too long to be shown by opencode v1" }

      const filled = await screen.fill(params, plain(message), fields, url && plain(url, mostAddress))
      switch (filled?.action) {
        case undefined:
          break // no entry in the TUI
        case "accept":
          if (url) return { result: { action: "accept" } }
          return { result: { action: "accept", content: contentOf(fields, valuesOf(filled!.values)) } }
        default:
          return { result: { action: filled!.action } }
      }
      if (fields.length > 0) return { unavailable: "opencode v1 has no forms without tenon's entry in its TUI" }

      // The dialog of an unknown key shows the key alone, so the words stand beside it.
      const beside = words(params.server, message, url)
      await client.tui
        .showToast({ body: { title: "tenon", message: beside, variant: "info", duration: toastTime } })
        .catch(() => {})
      const said = await permissions.consent(params, { message: beside, ...(url ? { url } : {}) })
      switch (said) {
        case "yes":
          return { result: url ? { action: "accept" } : { action: "accept", content: {} } }
        case "no":
          return { result: { action: "decline" } }
        default:
          return { unavailable: said.unavailable }
      }
    },
  }
}

/** A server's words for a toast: who asks, then what, without what could move a cursor. */
function words(server: string, message: string, url: string | undefined): string {
  const asked = `${server} asks: ${message}`.slice(0, mostWords)
  const how = url ? `(visit ${url} yourself; "allow" says that you will)` : '("allow" says yes)'
  return `${asked} ${how}`.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, " ")
}
