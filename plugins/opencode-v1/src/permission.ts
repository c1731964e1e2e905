/**
 * Puts questions to opencode's own permission system, from inside the tool call
 * they belong to, and takes them back: the host leaves a request in its list for
 * ever when the call that asked was aborted.
 */

import { aborted, type Bridge } from "@tenon/bridge"
import type { Ask, AskReply, Question as ServerQuestion } from "@tenon/proto"
import type { Client, HostEvent, ToolContext } from "./host.ts"
import type { ScreenLine } from "./screen.ts"

/** One tool call of the host while it runs. */
export interface Call {
  ctx: ToolContext
  /** The host's own error of the last question that was refused; rethrown as it is, it ends the turn. */
  refusal?: unknown
}

/** The questions of one directory's plugin. */
export interface Permissions {
  /** Begins a call; pairs with leave. */
  enter(ctx: ToolContext): Call
  leave(call: Call): void
  /** Asks for the tool's own id. Throws the host's own error on a refusal. */
  own(call: Call, id: string, metadata: Record<string, unknown>): Promise<void>
  /** Answers permission/ask. */
  ask(params: Ask): Promise<AskReply>
  /**
   * Asks yes or no about what a server asks, under the key `<server>_elicitation`. A yes is a
   * person's: where a rule allows the key nobody was asked, and that is no answer.
   */
  consent(params: ServerQuestion, metadata: Record<string, unknown>): Promise<"yes" | "no" | { unavailable: string }>
  /** Answers permission/withdraw; a question that is over already is left alone. */
  withdraw(id: string): void
  onEvent(event: HostEvent): void
}

interface Question {
  sessionID: string
  /** The host's id, once its event has told it. */
  request?: string
  /** Set when nobody waits any more: how the host's request is put away. */
  over?: "once" | "reject"
  /** Wakes who waits. */
  withdraw(): void
}

/** Makes the table of questions. */
export function permissionTable(client: Client, bridge: () => Bridge, screen: ScreenLine): Permissions {
  const calls = new Map<string, Call>()
  const questions = new Map<string, Question>()

  const putAway = (question: Question) => {
    if (!question.request || !question.over) return // the event will bring the id
    const path = { id: question.sessionID, permissionID: question.request }
    client.postSessionIdPermissionsPermissionId({ path, body: { response: question.over } }).catch(() => {}) // answered meanwhile
  }

  /**
   * Resolves when allowed, with whether somebody was asked; rejects with the host's error, or with an
   * Error when withdrawn or aborted. `always` is what the host's "always" opens from then on.
   */
  const put = async (
    call: Call,
    id: string,
    permission: string,
    metadata: Record<string, unknown>,
    always: string[] = ["*"],
    resource = "*",
  ): Promise<{ shown: boolean }> => {
    const { ctx } = call
    if (ctx.abort.aborted) throw new Error("aborted")
    // Round trip: an undefined inside would break GET /permission for every client.
    // First, since what is nested too deeply cannot be written.
    const details = JSON.parse(JSON.stringify({ ...metadata, tenon: id }))
    const stopped = aborted(ctx.abort)
    let put: Question | undefined
    const withdrawn = new Promise<never>((_, reject) => {
      put = { sessionID: ctx.sessionID, withdraw: () => reject(new Error("withdrawn")) }
      questions.set(id, put)
    })
    withdrawn.catch(() => {}) // may come when nobody waits
    // Async: a host that throws instead of rejecting leaves nothing behind either.
    const asked = (async () => ctx.ask({ permission, patterns: [resource], always, metadata: details }))()
    const settled = () => questions.delete(id) // by the host: nothing is left in its list
    asked.then(settled, settled) // also when nobody waits any more
    try {
      await Promise.race([asked, stopped.promise, withdrawn])
      if (ctx.abort.aborted) throw new Error("aborted")
      return { shown: put?.request !== undefined }
    } catch (error) {
      const question = questions.get(id)
      if (question && !isRefusal(error) && !question.over) {
        // One reject rejects everything that is pending in the session, which is
        // right for an abort and for nothing else.
        question.over = "reject"
        putAway(question)
      }
      throw error
    } finally {
      stopped.stop()
    }
  }

  return {
    enter(ctx) {
      const call: Call = { ctx }
      calls.set(keyOf(ctx.sessionID, ctx.callID), call)
      return call
    },
    leave(call) {
      calls.delete(keyOf(call.ctx.sessionID, call.ctx.callID))
    },
    async own(call, id, metadata) {
      await put(call, `own:${call.ctx.callID ?? call.ctx.messageID}`, id, metadata)
    },
    async ask(params) {
      const call = calls.get(keyOf(params.origin.session, params.origin.call))
      if (!call) return screen.ask(params)
      try {
        const about = { server: params.server, tool: params.tool, args: params.arguments }
        await put(call, params.id, params.key, about, alwaysOf(params.resource), params.resource)
        return { reply: "once" }
      } catch (error) {
        if (!isRefusal(error)) return { reply: "unavailable" }
        call.refusal = error
        return replyOf(error)
      }
    },
    async consent(params, metadata) {
      const call = calls.get(keyOf(params.origin.session, params.origin.call))
      if (!call) return { unavailable: "no tool call is going on in which opencode could ask" }
      const key = `${params.server}_elicitation`.replace(/[^A-Za-z0-9_-]/g, "_")
      const about = { server: params.server, tool: params.tool, ...metadata }
      try {
        const { shown } = await put(call, params.id, key, about, [])
        return shown ? "yes" : { unavailable: `opencode's rules allow ${key} without asking anybody` }
      } catch (error) {
        return isRefusal(error) ? "no" : { unavailable: "the question was taken back" }
      }
    },
    withdraw(id) {
      screen.withdraw(id)
      const question = questions.get(id)
      if (!question || question.over) return
      // The answer is not looked at any more, so "once" allows nothing; it is the
      // only way to close one request without rejecting the session's others.
      question.over = "once"
      question.withdraw() // first: the answer below must find nobody waiting
      putAway(question)
    },
    onEvent(event) {
      if (event.type !== "permission.asked" || !event.properties) return
      const id = (event.properties.metadata as { tenon?: unknown } | null | undefined)?.tenon
      const question = typeof id === "string" ? questions.get(id) : undefined
      if (!question || typeof event.properties.id !== "string") return
      question.request = event.properties.id
      if (question.over) return putAway(question)
      if (!String(id).startsWith("own:")) bridge().notify("permission/shown", { id: String(id) })
    },
  }
}

function keyOf(session: string, call: string | undefined): string {
  return `${session}/${call ?? ""}`
}

/** The host's class names are minified: only `_tag` tells its errors apart. */
function tagOf(error: unknown): string | undefined {
  return (error as { _tag?: string } | null | undefined)?._tag
}

/**
 * What the host's "always" opens: a tool as a whole, of an address the host that it names. Nothing where
 * that would open more: a host's name may hold a star, and an address without one has the origin "null".
 */
function alwaysOf(resource: string | undefined): string[] {
  if (resource === undefined) return ["*"]
  const { origin } = new URL(resource)
  return origin === "null" || /[*?\\]/.test(origin) ? [] : [`${origin}/*`]
}

const refusals = ["PermissionRejectedError", "PermissionCorrectedError", "PermissionDeniedError"]

function isRefusal(error: unknown): boolean {
  return refusals.includes(tagOf(error) ?? "")
}

function replyOf(error: unknown): AskReply {
  if (tagOf(error) === "PermissionDeniedError") return { reply: "reject", denied: true }
  const { feedback } = error as { feedback?: unknown }
  return typeof feedback === "string" && feedback !== "" ? { reply: "reject", feedback } : { reply: "reject" }
}
