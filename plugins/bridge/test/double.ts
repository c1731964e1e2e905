/**
 * A daemon's double: the other side of the bridge, scripted, behind a program
 * that answers `daemon start --json` as the real one does.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { check, paramsType, protocol, type HelloResult, type Methods, type RPCMessage } from "@tenon/proto"
import { WebSocketServer, type WebSocket } from "ws"

/** What the double answers; a method without an entry is refused. */
export type Answers = {
  [M in keyof Methods]?: (params: Methods[M]["params"], peer: Peer, id: number) => Promise<unknown> | unknown
}

/** One connected plugin. */
export interface Peer {
  request<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]>
  notify<M extends keyof Methods>(method: M, params: Methods[M]["params"]): void
  /** Reads nothing any more, as a stopped daemon does. */
  pause(): void
  /** Cuts the connection, as a killed daemon does. */
  cut(): void
}

/** A running double. */
export interface Double {
  /** The program to give as `bin`. */
  bin: string
  socket: string
  peers: Peer[]
  /** Everything plugins have sent, in order. */
  received: { method: string; params: any }[]
  answers: Answers
  /** Of one method. */
  sent<M extends keyof Methods>(method: M): Methods[M]["params"][]
  /** Stops listening; `start` listens again on the same path. */
  stop(): Promise<void>
  start(): Promise<void>
  remove(): Promise<void>
}

/** What the double says to hello. */
export function welcome(socket: string, connection = "br_1"): HelloResult {
  return {
    protocol,
    build: { version: "0.0.0", commit: "" },
    pid: process.pid,
    connection,
    socket,
    hostTicket: "h.ticket",
    wants: ["BROWSER_TOKEN"],
    session: "dir:1",
    ticket: "d.ticket",
  }
}

/** Starts a double. */
export async function startDouble(answers: Answers = {}): Promise<Double> {
  const dir = mkdtempSync(join(tmpdir(), "td-"))
  const socket = join(dir, "s")
  const bin = join(dir, "tenon")
  writeFileSync(
    bin,
    `#!/bin/sh\n[ -S ${socket} ] && echo '{"socket":"${socket}"}' || { echo no daemon >&2; exit 3; }\n`,
    {
      mode: 0o700,
    },
  )
  let server: Server | undefined
  let connections = 0
  const double: Double = {
    bin,
    socket,
    peers: [],
    received: [],
    answers: {
      "bridge/hello": () => welcome(socket, `br_${++connections}`),
      "session/attach": ({ session, parent }) => ({ session, root: parent ?? session, ticket: `t.${session}`, socket }),
      "session/detach": () => ({}),
      ...answers,
    },
    sent: (method) => double.received.filter((each) => each.method === method).map((each) => each.params),
    async start() {
      server = createServer()
      const sockets = new WebSocketServer({ server, path: "/v1/bridge" })
      sockets.on("connection", (connection) => double.peers.push(serve(connection, double)))
      await new Promise<void>((resolve) => server!.listen(socket, resolve))
    },
    async stop() {
      for (const peer of double.peers.splice(0)) peer.cut()
      await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
      server = undefined
    },
    async remove() {
      await double.stop()
      rmSync(dir, { recursive: true })
    },
  }
  await double.start()
  return double
}

function serve(connection: WebSocket, double: Double): Peer {
  const pending = new Map<string, { resolve(value: any): void; reject(error: Error): void }>()
  let last = 0
  const send = (message: object) => connection.send(JSON.stringify({ jsonrpc: "2.0", ...message }))
  const peer: Peer = {
    request: (method, params) =>
      new Promise((resolve, reject) => {
        const id = `d${++last}`
        pending.set(id, { resolve, reject })
        send({ id, method, params })
      }),
    notify: (method, params) => send({ method, params }),
    pause: () => connection.pause(),
    cut: () => connection.terminate(),
  }
  connection.on("message", async (data) => {
    const message = check<RPCMessage>("RPCMessage", JSON.parse(String(data)))
    if (message.method === undefined) {
      const waiting = pending.get(String(message.id))
      if (message.error) return waiting?.reject(new Error(message.error.message))
      return waiting?.resolve(message.result)
    }
    check(paramsType(message.method)!, message.params) // what a plugin sends must be in the schemas
    double.received.push({ method: message.method, params: message.params })
    if (message.id === undefined) return
    const answer = double.answers[message.method as keyof Methods] as
      ((params: unknown, peer: Peer, id: number) => unknown) | undefined
    try {
      if (!answer) throw new Error(`no method "${message.method}"`)
      send({ id: message.id, result: await answer(message.params, peer, message.id as number) })
    } catch (error) {
      const wire = (error as { wire?: object }).wire
      send({
        id: message.id,
        error: { code: -32000, message: (error as Error).message, ...(wire ? { data: wire } : {}) },
      })
    }
  })
  return peer
}

/** An error that the double answers with. */
export function fault(kind: string, message: string, more: object = {}): Error {
  return Object.assign(new Error(message), { wire: { kind, message, hint: "", ...more } })
}
