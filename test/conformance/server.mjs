/**
 * The upstream server that the conformance suite finds behind tenon: the tools,
 * resources and prompts that its server scenarios use by name, over stdio. It is written on the bare
 * protocol, so that nothing of an SDK's behaviour hides tenon's.
 */

import { createInterface } from "node:readline"

const text = (value) => ({ content: [{ type: "text", text: value }] })
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
const embedded = (uri) => ({
  type: "resource",
  resource: { uri, mimeType: "text/plain", text: "This is an embedded resource" },
})
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const form = (properties, required) => ({ type: "object", properties, ...(required ? { required } : {}) })
const options = ["option1", "option2", "option3"]
const titled = ["First", "Second", "Third"].map((word, i) => ({ const: `value${i + 1}`, title: `${word} Option` }))

const enums = form({
  untitledSingle: { type: "string", enum: options },
  titledSingle: { type: "string", oneOf: titled },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", minItems: 1, maxItems: 3, items: { type: "string", enum: options } },
  titledMulti: { type: "array", minItems: 1, maxItems: 3, items: { anyOf: titled } },
})

const defaults = form({
  name: { type: "string", description: "User name", default: "John Doe" },
  age: { type: "integer", description: "User age", default: 30 },
  score: { type: "number", description: "User score", default: 95.5 },
  status: { type: "string", description: "User status", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", description: "Verification status", default: true },
})

const none = { type: "object" }
const schema2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
  properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
  additionalProperties: false,
}

/** Each tool: its schema, and what it does with its arguments and the call's progress token. */
const tools = {
  test_simple_text: [none, () => text("This is a simple text response for testing.")],
  test_image_content: [none, () => ({ content: [{ type: "image", data: png, mimeType: "image/png" }] })],
  test_audio_content: [none, () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] })],
  test_embedded_resource: [none, () => ({ content: [embedded("test://embedded-resource")] })],
  test_multiple_content_types: [
    none,
    () => ({
      content: [
        { type: "text", text: "Multiple content types test:" },
        { type: "image", data: png, mimeType: "image/png" },
        embedded("test://mixed-content-resource"),
      ],
    }),
  ],
  test_tool_with_logging: [
    none,
    async () => {
      for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        notify("notifications/message", { level: "info", data })
        await pause(50)
      }
      return text("Tool with logging executed successfully")
    },
  ],
  test_tool_with_progress: [
    none,
    async (_, progressToken) => {
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          notify("notifications/progress", { progressToken, progress, total: 100, message: `${progress} of 100` })
        }
        await pause(50)
      }
      return text(String(progressToken))
    },
  ],
  test_error_handling: [
    none,
    () => ({ isError: true, ...text("This tool intentionally returns an error for testing") }),
  ],
  test_sampling: [
    form({ prompt: { type: "string" } }, ["prompt"]),
    async ({ prompt }) => {
      const messages = [{ role: "user", content: { type: "text", text: prompt } }]
      const answer = await ask("sampling/createMessage", { messages, maxTokens: 100 })
      return text(`LLM response: ${answer.content.text}`)
    },
  ],
  test_elicitation: [
    form({ message: { type: "string" } }, ["message"]),
    ({ message }) => elicit(message, form({ username: { type: "string" }, email: { type: "string" } }, ["username"])),
  ],
  test_elicitation_sep1034_defaults: [none, () => elicit("Please review the defaults", defaults)],
  test_elicitation_sep1330_enums: [none, () => elicit("Please choose", enums)],
  json_schema_2020_12_tool: [schema2020, (args) => text(JSON.stringify(args))],
}

async function elicit(message, requestedSchema) {
  const { action, content } = await ask("elicitation/create", { message, requestedSchema })
  return text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`)
}

/** Each resource: its media type, and the member of its content. */
const resources = {
  "test://static-text": ["text/plain", { text: "This is the content of the static text resource." }],
  "test://static-binary": ["image/png", { blob: png }],
  "test://watched-resource": ["text/plain", { text: "Watched" }],
}

function read(uri) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  const [mimeType, content] = id
    ? ["application/json", { text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }]
    : (resources[uri] ?? [])
  if (!content) throw Object.assign(new Error(`Resource not found: ${uri}`), { code: -32002 })
  return { contents: [{ uri, mimeType, ...content }] }
}

const said = (...contents) => ({ messages: contents.map((content) => ({ role: "user", content })) })
const words = (value) => ({ type: "text", text: value })

/** Each prompt: the names of its arguments, and what it makes of them. */
const prompts = {
  test_simple_prompt: [[], () => said(words("This is a simple prompt for testing."))],
  test_prompt_with_arguments: [
    ["arg1", "arg2"],
    ({ arg1, arg2 }) => said(words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  ],
  test_prompt_with_embedded_resource: [
    ["resourceUri"],
    ({ resourceUri }) => said(embedded(resourceUri), words("Please process the embedded resource above.")),
  ],
  test_prompt_with_image: [
    [],
    () => said({ type: "image", data: png, mimeType: "image/png" }, words("Please analyze the image above.")),
  ],
}

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const notify = (method, params) => send({ method, params })
const waiting = new Map()

function ask(method, params) {
  const id = `q${waiting.size + 1}`
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject })
    send({ id, method, params })
  })
}

async function answer({ id, method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {}, logging: {}, resources: { subscribe: true }, prompts: {}, completions: {} },
        serverInfo: { name: "conformance", version: "1" },
      }
    case "tools/list":
      return {
        tools: Object.entries(tools).map(([name, [inputSchema]]) => ({
          name,
          description: `For ${name}`,
          inputSchema,
        })),
      }
    case "tools/call":
      return await tools[params.name][1](params.arguments ?? {}, params._meta?.progressToken)
    case "resources/list":
      return {
        resources: Object.entries(resources).map(([uri, [mimeType]]) => ({ uri, name: uri.slice(7), mimeType })),
      }
    case "resources/templates/list":
      return { resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }] }
    case "resources/read":
      return read(params.uri)
    case "prompts/list":
      return {
        prompts: Object.entries(prompts).map(([name, [names]]) => ({
          name,
          description: `For ${name}`,
          arguments: names.map((argument) => ({ name: argument, required: true })),
        })),
      }
    case "prompts/get":
      return prompts[params.name][1](params.arguments ?? {})
    case "completion/complete":
      return { completion: { values: ["test1", "test2"].filter((word) => word.startsWith(params.argument.value)) } }
    case "ping":
    case "logging/setLevel":
    case "resources/subscribe":
    case "resources/unsubscribe":
      return {}
    default:
      throw new Error(`no method ${method} (${id})`)
  }
}

createInterface({ input: process.stdin }).on("line", async (line) => {
  const message = JSON.parse(line)
  if (message.method === undefined) {
    const question = waiting.get(message.id)
    if (message.error) question?.reject(new Error(message.error.message))
    else question?.resolve(message.result)
    return
  }
  if (message.id === undefined) return
  try {
    send({ id: message.id, result: await answer(message) })
  } catch (error) {
    send({ id: message.id, error: { code: error.code ?? -32603, message: error.message } })
  }
})
