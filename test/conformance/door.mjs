/**
 * A door for test tools that can send no bearer token: listens on a port of its
 * own and passes every request on to the daemon's TCP listener, with the token,
 * and with its own name replaced by the daemon's where Host or Origin has it.
 * Every other Host and Origin goes through as it came, so that the daemon's
 * checks stay what is tested. Usage: door.mjs DAEMON_HOST:PORT; the token is in
 * TENON_TOKEN. The first line of its output is its address.
 */

import { createServer, request } from "node:http"

const daemon = process.argv[2]
const door = createServer((incoming, outgoing) => {
  const own = `127.0.0.1:${door.address().port}`
  const named = (value) => value?.replace(own, daemon).replace(own.replace("127.0.0.1", "localhost"), daemon)
  const headers = { ...incoming.headers, host: named(incoming.headers.host) }
  if (headers.origin) headers.origin = named(headers.origin)
  headers.authorization = `Bearer ${process.env.TENON_TOKEN}`
  const [host, port] = daemon.split(":")
  const onward = request({ host, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers)
    answer.pipe(outgoing)
  })
  onward.on("error", () => outgoing.destroy())
  outgoing.on("close", () => onward.destroy())
  incoming.pipe(onward)
})
door.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${door.address().port}`))
