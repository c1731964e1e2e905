/** An MCP server without an SDK: it says exactly what a test needs, and can be run by plain node. */

const PNG = "iVBORw0KGgo="
const text = (value) => ({ content: [{ type: "text", text: value }] })

const numbers = { type: "object", properties: { n: { type: "number" } }, required: ["n"] }
const tools = {
  echo: (args) => text(`echo ${JSON.stringify(args)}`),
  json: () => text('{"a":1}'),
  words: () => text("[no json"),
  structured: () => ({ ...text("the text"), structuredContent: { n: 1 } }),
  image: () => ({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] }),
  parts: () => ({
    content: [
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "file:///b", text: "embedded" } },
      { type: "resource", resource: { uri: "file:///c", blob: PNG, mimeType: "image/png" } },
    ],
  }),
  empty: () => ({ content: [] }),
  fails: () => ({ ...text("it went wrong"), isError: true }),
  "fails-silently": () => ({ content: [], isError: true }),
  ["l".repeat(80)]: () => text("long"),
  ["x".repeat(126)]: () => text("too long"),
  "my-tool.v2": () => text("odd name"),
  where: () => text(JSON.stringify({ cwd: process.cwd(), pid: process.pid, mark: process.env.MARK ?? null })),
}
const asking = {
  asks: { message: "Your name?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
  "asks-nothing": { message: "Well?", requestedSchema: { type: "object", properties: {} } },
  "asks-url": { mode: "url", message: "Look", url: "https://example.com/", elicitationId: "e1" },
}
const others = ["slow", "grows", "roots"]

/** @param {(message: object) => void} send */
export function session(send) {
  let last = 0
  const waiting = new Map()
  const timers = new Map()
  let grown = false
  const request = (method, params) =>
    new Promise((resolve) => {
      waiting.set(`s${++last}`, resolve)
      send({ jsonrpc: "2.0", id: `s${last}`, method, params })
    })
  const listed = () =>
    [...Object.keys(tools), ...Object.keys(asking), ...others, ...(grown ? ["grown"] : [])].map((name) => ({
      name,
      description: `The tool ${name}.`,
      inputSchema: { type: "object" },
      ...(name === "structured" && { outputSchema: numbers }),
    }))
  const call = async (id, { name, arguments: args, _meta }) => {
    if (name in tools) return tools[name](args)
    if (name in asking) return text(JSON.stringify(await request("elicitation/create", asking[name])))
    if (name === "roots") return text(JSON.stringify(await request("roots/list")))
    if (name === "grows") {
      grown = true
      send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
      return text("grown")
    }
    // Reports progress and never answers.
    let progress = 0
    const report = () =>
      send({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: _meta.progressToken, progress: ++progress },
      })
    timers.set(id, setInterval(report, 20))
    return undefined
  }
  const stop = (id) => {
    clearInterval(timers.get(id))
    timers.delete(id)
  }
  return async (message) => {
    const { id, method, params } = message
    if (method === undefined) return waiting.get(id)?.(message.result ?? { error: message.error })
    if (method === "notifications/cancelled") return stop(params.requestId)
    if (method === "close") return [...timers.keys()].forEach(stop)
    if (id === undefined) return
    const answer = (result) => send({ jsonrpc: "2.0", id, result })
    if (method === "initialize") {
      const { protocolVersion } = params
      return answer({
        protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "double", version: "1" },
      })
    }
    if (method === "tools/list") return answer({ tools: listed() })
    if (method !== "tools/call") return send({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } })
    const result = await call(id, params)
    if (result) answer(result)
  }
}
