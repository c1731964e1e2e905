/**
 * A model that does what the prompt says: the prompt is a JSON list of steps, and
 * each answer is the step that follows the ones already taken. It keeps no
 * state, so sessions and sub-agents (whose prompt is a nested list) run side by
 * side. It speaks the OpenAI chat protocol that opencode's bundled provider speaks.
 */

import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"

/** One answer of the model: tool calls, made at once, or the final text. */
export type Step = string | { tool: string; args: unknown }[]

/** One request of the host to the model. */
export interface ModelRequest {
  session: string
  messages: { role: string; content: unknown; tool_call_id?: string }[]
  tools: { name: string; parameters: Record<string, unknown> }[]
}

/** A running model. */
export interface Model {
  url: string
  /** Every request with tools, in order. */
  requests: ModelRequest[]
  /** The tool results that the model has seen in a session, in order. */
  seen(session: string): string[]
  stop(): Promise<void>
}

/** The prompt that makes the model take these steps. */
export function script(...steps: Step[]): string {
  return JSON.stringify(steps)
}

/** Starts a model on a free port of the loopback interface. */
export async function startModel(): Promise<Model> {
  const requests: ModelRequest[] = []
  const server: Server = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += chunk
    const asked = JSON.parse(body)
    response.writeHead(200, { "content-type": "text/event-stream" })
    const say = (delta: object, finish: string | null = null) =>
      response.write(`data: ${JSON.stringify(chunkOf(delta, finish))}\n\n`)
    const step = asked.tools?.length ? stepFor(asked.messages) : "A title"
    if (asked.tools?.length) {
      requests.push({
        session: String(request.headers["x-session-id"] ?? ""),
        messages: asked.messages,
        tools: asked.tools.map((tool: { function: ModelRequest["tools"][number] }) => tool.function),
      })
    }
    if (typeof step === "string") {
      say({ role: "assistant", content: step })
      say({}, "stop")
    } else {
      const calls = step.map(({ tool, args }, index) => ({
        index,
        id: `call_${requests.length}_${index}`,
        type: "function",
        function: { name: tool, arguments: JSON.stringify(args) },
      }))
      say({ role: "assistant", tool_calls: calls })
      say({}, "tool_calls")
    }
    response.end("data: [DONE]\n\n")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    seen(session) {
      const last = requests.findLast((request) => request.session === session)
      return (last?.messages ?? [])
        .filter((message) => message.role === "tool")
        .map((message) => textOf(message.content))
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function stepFor(messages: ModelRequest["messages"]): Step {
  const from = messages.findLastIndex((message) => message.role === "user" && textOf(message.content).startsWith("["))
  if (from < 0) return "I was given no steps."
  const steps = JSON.parse(textOf(messages[from]!.content)) as Step[]
  const taken = messages.slice(from).filter((message) => message.role === "assistant").length
  return steps[taken] ?? "done"
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content
  return (content as { text?: string }[]).map((part) => part.text ?? "").join("")
}

function chunkOf(delta: object, finish: string | null) {
  const chunk = { id: "c", object: "chat.completion.chunk", created: 0, model: "fake-model" }
  const usage = finish ? { usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } } : {}
  return { ...chunk, choices: [{ index: 0, delta, finish_reason: finish }], ...usage }
}
