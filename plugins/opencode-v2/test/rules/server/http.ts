/** The double over Streamable HTTP: one POST, one stream of answers. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { json } from "node:stream/consumers"
import { session, type Message } from "./answers.mjs"
import type { AddressInfo } from "node:net"

export interface HttpDouble {
  url: string
  /** Every request, in order. */
  requests: { method: string; url: string; headers: IncomingMessage["headers"]; message?: Message }[]
  /** Answers the next requests with these statuses instead. */
  refuse: (number | undefined)[]
  close(): Promise<void>
}

export async function httpDouble(): Promise<HttpDouble> {
  const requests: HttpDouble["requests"] = []
  const refuse: (number | undefined)[] = []
  // What is said belongs to the stream of the request it is about; questions go to the latest call.
  const streams = new Map<unknown, ServerResponse>()
  const hear = session((message) => {
    const isAnswer = message.method === undefined
    const stream = isAnswer ? streams.get(message.id) : [...streams.values()].at(-1)
    stream?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
    if (isAnswer) stream?.end()
  })
  const server = createServer(async (request, response) => {
    const message = request.method === "POST" ? ((await json(request)) as Message) : undefined
    requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, message })
    const status = request.method === "POST" ? refuse.shift() : undefined
    if (status) return void response.writeHead(status).end("refused")
    if (request.method === "DELETE") return void response.writeHead(200).end()
    if (!message) return void response.writeHead(405).end()
    if (message.id === undefined || message.method === undefined) {
      response.writeHead(202).end()
      return hear(message)
    }
    response.writeHead(200, { "content-type": "text/event-stream", "mcp-session-id": "session-1" })
    streams.set(message.id, response)
    response.on("close", () => streams.delete(message.id))
    hear(message)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    refuse,
    close: async () => {
      hear({ jsonrpc: "2.0", method: "close" })
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
