/** Frames as they come over a real socket: in whatever pieces, they are the same messages. */

import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type Server, type Socket as Connection } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before } from "node:test"
import fc from "fast-check"
import { holds, message, text, written } from "../../../proto/test/fuzz.ts"
import { openSocket } from "../src/socket.ts"

let directory = ""
let path = ""
let server: Server
/** What the next connection is sent behind the handshake, piece by piece, and whether it is cut then. */
let next: { pieces: Buffer[]; cut: boolean } = { pieces: [], cut: false }

before(async () => {
  // A path that is no part of a URL.
  directory = mkdtempSync(join(tmpdir(), "tf #?:é"))
  path = join(directory, "s")
  server = createServer((connection) => void speak(connection))
  await new Promise<void>((resolve) => server.listen(path, resolve))
})
after(async () => {
  await new Promise((resolve) => server.close(resolve))
  rmSync(directory, { recursive: true })
})

async function speak(connection: Connection) {
  const { pieces, cut } = next
  connection.on("error", () => {}) // the client may hang up
  const head = await new Promise<string>((resolve) => connection.once("data", (bytes) => resolve(String(bytes))))
  const key = /sec-websocket-key: (.*)\r\n/i.exec(head)![1]!
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64")
  const answer = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`
  connection.on("data", () => connection.destroy()) // the client closes: it would wait for an answer
  connection.setNoDelay(true)
  connection.write(answer)
  for (const piece of pieces) {
    await new Promise((resolve) => setImmediate(resolve))
    if (!connection.destroyed) connection.write(piece)
  }
  if (cut) connection.end()
}

/** One frame of the protocol; `first` of a message, `last` of it. */
function frameOf(payload: Buffer, first: boolean, last: boolean): Buffer {
  const size = payload.length
  const length =
    size < 126
      ? [size]
      : size < 65_536
        ? [126, size >> 8, size & 255]
        : [127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((n) => (size >> n) & 255)]
  return Buffer.concat([Buffer.from([(last ? 0x80 : 0) | (first ? 1 : 0), ...length]), payload])
}

/** Bytes cut at these places. */
function pieces(bytes: Buffer, places: number[]): Buffer[] {
  const at = [...new Set([0, ...places.map((place) => place % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end))
}

/** Receives until `count` messages are there or the connection is over. */
async function receive(count: number): Promise<string[]> {
  const socket = await openSocket(path)
  const got: string[] = []
  await new Promise<void>((resolve) => {
    socket.onmessage = ({ data }) => {
      got.push(String(data))
      if (got.length === count) resolve()
    }
    socket.onerror = () => {}
    socket.onclose = () => resolve()
  })
  socket.close()
  return got
}

const messages = fc.array(fc.oneof(message("RPCMessage").map(written), text.map(written)), {
  minLength: 1,
  maxLength: 4,
})
const places = fc.array(fc.nat(), { maxLength: 6 })

holds(
  "messages that arrive cut at any byte, or as several frames, are the same",
  fc.asyncProperty(messages, places, places, async (sent, inFrames, onTheWire) => {
    const frames = sent.flatMap((each) => {
      const parts = pieces(Buffer.from(each), inFrames)
      return parts.map((part, i) => frameOf(part, i === 0, i === parts.length - 1))
    })
    next = { pieces: pieces(Buffer.concat(frames), onTheWire), cut: false }
    assert.deepEqual(await receive(sent.length), sent)
  }),
  { share: 0.3 },
)

holds(
  "of a message that is cut off nothing is believed, and those before it are",
  fc.asyncProperty(messages, fc.nat(), async (sent, at) => {
    const frames = sent.map((each) => frameOf(Buffer.from(each), true, true))
    const bytes = Buffer.concat(frames)
    const end = at % bytes.length
    next = { pieces: [bytes.subarray(0, end)], cut: true }
    const [whole] = frames.reduce<[number, number]>(
      ([count, size], frame) => (size + frame.length <= end ? [count + 1, size + frame.length] : [count, Infinity]),
      [0, 0],
    )
    assert.deepEqual(await receive(Infinity), sent.slice(0, whole))
  }),
  { share: 0.3 },
)
