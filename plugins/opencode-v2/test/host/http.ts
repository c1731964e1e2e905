/** The host's own HTTP server, on a loopback port, behind a password. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { randomBytes } from "node:crypto"
import { json } from "node:stream/consumers"
import { messageOf, type Core } from "./core.ts"
import { RpcError } from "./rpc.ts"
import type { AddressInfo } from "node:net"
import type { Host } from "./types.ts"
import type { Locations } from "./locations.ts"

export interface Served {
  access: NonNullable<Host["http"]>
  open(): string[]
  close(): Promise<void>
}

interface Request {
  params: string[]
  body: any
  url: URL
  response: ServerResponse
}

type Route = [method: string, path: RegExp, serve: (request: Request) => unknown]

/** Streams are answered by their route itself. */
const streaming = Symbol("streaming")

/** Serves until it is closed. */
export async function serve(core: Core, locations: Locations): Promise<Served> {
  const password = randomBytes(16).toString("hex")
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`
  const streams = new Set<() => void>()
  const routes = routesOf(core, locations, streams)
  const server = createServer((request, response) => {
    if (request.headers.authorization !== authorization) {
      response.writeHead(401, { "www-authenticate": "Basic" }).end()
      return
    }
    void answer(routes, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    access: { url, username: "opencode", password, authorization },
    open: () => (server.listening ? [`http server ${url}`] : []),
    close: async () => {
      for (const end of streams) end()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function routesOf(core: Core, locations: Locations, streams: Set<() => void>): Route[] {
  const { permissions, sessions, switches } = core
  const environment = switches.environmentRoute.replace(":id", "([^/]+)")
  return [
    ["GET", /^\/api\/event$/, (request) => stream(core, request.response, streams)],
    ["GET", /^\/api\/session\/([^/]+)$/, ({ params: [id = ""] }) => sessions.get(id).info],
    ["GET", /^\/api\/session\/([^/]+)\/permission$/, ({ params: [id] }) => permissions.pending(id)],
    [
      "POST",
      /^\/api\/session\/([^/]+)\/permission$/,
      ({ params: [sessionID = ""], body }) => {
        sessions.get(sessionID)
        if (typeof body?.action !== "string" || !Array.isArray(body.resources)) throw new Error("invalid input")
        const { id, action, resources, save, metadata, source, agent } = body
        return permissions.create({ id, sessionID, action, resources, save, metadata, source, agent })
      },
    ],
    [
      "POST",
      /^\/api\/session\/([^/]+)\/permission\/([^/]+)\/reply$/,
      ({ params: [sessionID = "", requestID = ""], body }) =>
        permissions.reply(sessionID, requestID, body?.[switches.replyKey], body?.message),
    ],
    [
      "PUT",
      new RegExp(`^${environment}$`),
      ({ params: [id = ""], body }) => void (sessions.get(id).environment = { ...body?.variables }),
    ],
    [
      "POST",
      /^\/api\/rpc\/([^/]+)\/([^/]+)$/,
      async ({ params: [id = "", method = ""], body, url }) => {
        const directory = url.searchParams.get("directory") ?? locations.handles()[0]?.info.directory ?? ""
        return { data: await core.rpc.call(directory, id, method, body) }
      },
    ],
  ]
}

async function answer(routes: Route[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://127.0.0.1")
  const found = routes.find(([method, path]) => method === request.method && path.test(url.pathname))
  if (!found) return void response.writeHead(404).end()
  const [, path, run] = found
  const params = (path.exec(url.pathname) ?? []).slice(1).map(decodeURIComponent)
  try {
    const hasBody = Number(request.headers["content-length"] ?? 0) > 0 || "transfer-encoding" in request.headers
    const body = hasBody ? await json(request) : undefined
    const result = await run({ params, body, url, response })
    if (result === streaming) return
    if (result === undefined) return void response.writeHead(204).end()
    respond(response, 200, result)
  } catch (error) {
    const missing = /not found/.test(messageOf(error))
    const typed = error instanceof RpcError ? { type: error.type, data: error.data } : {}
    respond(response, missing ? 404 : 400, { message: messageOf(error), ...typed })
  }
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

/** Events from now on, as server-sent events. */
function stream(core: Core, response: ServerResponse, streams: Set<() => void>): typeof streaming {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  // The first bytes tell a client that it is listening.
  response.write(`data: ${JSON.stringify({ id: "evt_0", type: "server.connected", data: {} })}\n\n`)
  const off = core.events.listen((event) => response.write(`data: ${JSON.stringify(event)}\n\n`))
  const end = () => {
    off()
    streams.delete(end)
  }
  streams.add(end)
  response.on("close", end)
  return streaming
}
