/**
 * Answers elicitation/ask: what a server asks in the middle of a call. Forms go
 * to the user; a request for a completion goes to the host's model, once the user
 * has allowed it.
 */

import { contentOf, fieldsOf, plain } from "@tenon/bridge"
import type { Answer, Question } from "@tenon/proto"
import type { Calls } from "../calls.ts"
import type { Context } from "../host.ts"
import type { Asks } from "./asks.ts"

/** What it takes to answer. */
export interface QuestionRoom {
  ctx: Context
  asks: Asks
  calls: Calls
}

/** Answers one. `signal` is the daemon's cancel. */
export async function answerQuestion(room: QuestionRoom, question: Question, signal: AbortSignal): Promise<Answer> {
  try {
    return question.kind === "sampling" ? await sample(room, question, signal) : await elicit(room, question, signal)
  } catch (error) {
    return { unavailable: error instanceof Error ? error.message : String(error) }
  }
}

/** Most characters of an address, which has to be seen whole. */
const mostAddress = 2_000
const nobody = "opencode has no way to ask its user here"

async function elicit({ asks, calls }: QuestionRoom, question: Question, signal: AbortSignal): Promise<Answer> {
  const params = (question.params ?? {}) as Record<"mode" | "message" | "url" | "requestedSchema", unknown>
  const page = params.mode === "url"
  const fields = page ? [] : fieldsOf(params.requestedSchema)
  if (!fields) return { unavailable: "the form asks for something that opencode's dialogs cannot ask for" }
  const url = page ? plain(params.url, mostAddress + 1) : undefined
  if (url === "") return { unavailable: "the page has no address" }
  if (url && url.length > mostAddress) return { unavailable: "the address is too long to be shown whole" }
  const filled = await asks.fill(
    {
      id: question.id,
      session: question.origin.session,
      call: calls.find(question.origin.session, question.origin.call),
      title: `${question.server} asks`,
      message: plain(params.message),
      ...(url ? { url } : {}),
      fields,
    },
    signal,
  )
  if (!filled) return { unavailable: nobody }
  if (filled.action !== "accept") return { result: { action: filled.action } }
  if (page) return { result: { action: "accept" } }
  return { result: { action: "accept", content: contentOf(fields, filled.values) } }
}

interface SamplingParams {
  systemPrompt?: unknown
  messages?: unknown
}

async function sample({ ctx, asks, calls }: QuestionRoom, question: Question, signal: AbortSignal): Promise<Answer> {
  const { systemPrompt, messages = [] } = (question.params ?? {}) as SamplingParams
  const prompt = promptOf(systemPrompt, messages)
  if (prompt === undefined) return { unavailable: "opencode's model is asked in text only" }
  const decision = await asks.decide(
    {
      id: question.id,
      session: question.origin.session,
      agent: question.origin.agent,
      call: calls.find(question.origin.session, question.origin.call),
      key: "tenon_sampling",
      title: `Let ${question.server} ask the model`,
      details: { server: question.server, tool: question.tool, prompt: plain(prompt) },
      always: false,
    },
    signal,
  )
  if (!decision) return { unavailable: nobody }
  if (decision.reply === "reject") {
    return { unavailable: decision.feedback ?? `the user does not let ${question.server} ask the model` }
  }
  const { text } = await ctx.generate.text({ prompt })
  const content = { type: "text", text }
  return { result: { role: "assistant", content, model: "opencode", stopReason: "endTurn" } }
}

/** One text of a conversation; undefined when it holds something else than text. */
function promptOf(system: unknown, messages: unknown): string | undefined {
  const parts = typeof system === "string" && system ? [system] : []
  if (!Array.isArray(messages)) return undefined
  for (const message of messages) {
    const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown }
    for (const each of Array.isArray(content) ? content : [content]) {
      const part = each as { type?: unknown; text?: unknown } | null | undefined
      if (part?.type !== "text" || typeof part.text !== "string") return undefined
      parts.push(role === "assistant" ? `Assistant: ${part.text}` : part.text)
    }
  }
  return parts.length > 0 ? parts.join("\n\n") : undefined
}
