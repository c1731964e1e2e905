/** fetch over a unix socket, for clients that take a fetch of one's own. */

import { request } from "node:http"
import { Readable } from "node:stream"

/** A fetch whose every request goes to the socket at `path`; the URL's host is only a name. */
export function unixFetch(path: string) {
  return (url: string | URL, init: RequestInit = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const { pathname, search, host } = new URL(url)
      const headers: Record<string, string> = {}
      new Headers(init.headers).forEach((value, name) => (headers[name] = value))
      const method = init.method ?? "GET"
      const signal = init.signal ?? undefined
      const outgoing = request({
        socketPath: path,
        path: pathname + search,
        method,
        headers: { host, ...headers },
        signal,
      })
      outgoing.on("error", reject)
      outgoing.on("response", (incoming) => {
        const status = incoming.statusCode ?? 500
        const body = [202, 204, 304].includes(status) ? (incoming.resume(), null) : Readable.toWeb(incoming)
        resolve(new Response(body as BodyInit | null, { status, headers: pairs(incoming.rawHeaders) }))
      })
      outgoing.end(init.body as string | undefined)
    })
}

function pairs(raw: string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1]!] as [string, string]] : []))
}
