/** The real opencode, headless, with one project and everything it does as events. */

import { spawn, type ChildProcess } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import type { Model, Step } from "./model.ts"
import { script } from "./model.ts"
import { freePort, opencodeBin, type Place } from "./program.ts"
import { patience, until } from "./until.ts"

/** One event of the host's bus. */
export interface HostEvent {
  type: string
  properties: Record<string, any>
}

/** A permission request of the host. */
export interface Request {
  id: string
  sessionID: string
  permission: string
  metadata: Record<string, any>
  tool?: { callID: string }
}

/** A rule as POST /session takes it. */
export interface SessionRule {
  permission: string
  pattern: string
  action: string
}

/** A running host. */
export interface Host {
  place: Place
  events: HostEvent[]
  /** Creates a session and gives its id. */
  session(options?: { permission?: SessionRule[]; agent?: string }): Promise<string>
  /** Runs one turn in which the model takes these steps; resolves when it is over. */
  turn(session: string, steps: Step[], options?: { agent?: string }): Promise<Message>
  /** The tool parts of a session, in order. */
  parts(session: string): Promise<ToolPart[]>
  /** Waits for the n-th (0 = first) request of a session. */
  request(session: string, n?: number): Promise<Request>
  /** The requests of a session that nobody has answered. */
  pending(session: string): Request[]
  reply(request: Request, reply: "once" | "always" | "reject", message?: string): Promise<void>
  abort(session: string): Promise<void>
  call(method: string, path: string, body?: unknown): Promise<any>
  log(): string
  pid: number
  kill(): Promise<void>
  stop(): Promise<void>
}

/** The last message of a turn. */
export interface Message {
  info: { id: string; error?: { name: string } }
  parts: { type: string; text?: string }[]
}

/** A tool call in the transcript. */
export interface ToolPart {
  tool: string
  callID: string
  state: { status: string; output?: string; error?: string; metadata?: Record<string, any>; title?: string }
}

/** Starts `opencode serve` in a place. */
export async function startHost(
  place: Place,
  model: Model,
  config: Record<string, unknown>,
  env: Record<string, string> = {},
): Promise<Host> {
  writeFileSync(join(place.project, "opencode.json"), JSON.stringify({ ...modelConfig(model), ...config }, null, 2))
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const child = spawn(opencodeBin(), ["serve", "--port", String(port)], {
    cwd: place.project,
    env: { ...hostEnvironment(place), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text))
  await until("opencode listens", () => {
    if (child.exitCode !== null) throw new Error(`opencode ended:\n${output}`)
    return output.includes("listening on")
  }).catch(async (error) => {
    await end(child, "SIGKILL")
    throw error
  })
  const events: HostEvent[] = []
  const control = new AbortController()
  const directory = encodeURIComponent(place.project)
  const following = follow(`${base}/event?directory=${directory}`, events, control.signal)
  await until("events", () => events.length > 0)

  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${base}${path}${path.includes("?") ? "&" : "?"}directory=${directory}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === "" ? undefined : JSON.parse(text)
  }
  const requests = (session: string) =>
    events
      .filter((event) => event.type === "permission.asked" && event.properties.sessionID === session)
      .map((event) => event.properties as Request)
  const isAnswered = (request: Request) =>
    events.some((event) => event.type === "permission.replied" && event.properties.requestID === request.id)

  return {
    place,
    events,
    call,
    pid: child.pid!,
    session: async (options = {}) => (await call("POST", "/session", { title: "test", ...options })).id,
    turn: (session, steps, options = {}) =>
      call("POST", `/session/${session}/message`, { parts: [{ type: "text", text: script(...steps) }], ...options }),
    async parts(session) {
      const messages = (await call("GET", `/session/${session}/message`)) as {
        parts: ({ type: string } & ToolPart)[]
      }[]
      return messages.flatMap((message) => message.parts).filter((part) => part.type === "tool")
    },
    request: (session, n = 0) => until(`request ${n} of ${session}`, () => requests(session)[n]),
    pending: (session) => requests(session).filter((request) => !isAnswered(request)),
    reply: async (request, reply, message) => {
      await call("POST", `/permission/${request.id}/reply`, { reply, ...(message === undefined ? {} : { message }) })
    },
    abort: async (session) => {
      await call("POST", `/session/${session}/abort`)
    },
    log: () => readFileSync(join(place.home, ".local/share/opencode/log/opencode.log"), "utf8"),
    kill: () => end(child, "SIGKILL"),
    async stop() {
      // Runs the plugin's dispose. The host may be gone already, or hang.
      await Promise.race([
        call("POST", "/instance/dispose").catch(() => {}),
        pause(patience, undefined, { ref: false }),
      ])
      control.abort()
      await following
      await end(child, "SIGTERM")
    },
  }
}

/** What `opencode run` printed. */
export interface RunOutput {
  stdout: string
  stderr: string
  code: number | null
  ms: number
}

/** Runs `opencode run` once, to its end. */
export async function runOnce(
  place: Place,
  model: Model,
  config: Record<string, unknown>,
  steps: Step[],
  args: string[] = [],
): Promise<RunOutput> {
  writeFileSync(join(place.project, "opencode.json"), JSON.stringify({ ...modelConfig(model), ...config }, null, 2))
  const started = performance.now()
  const child = spawn(opencodeBin(), ["run", ...args], { cwd: place.project, env: hostEnvironment(place) })
  child.stdin.end(script(...steps)) // as an argument it would be put in quotes
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text))
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text))
  const hangs = setTimeout(() => child.kill("SIGKILL"), 5 * patience)
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve))
  clearTimeout(hangs)
  return { stdout, stderr, code, ms: performance.now() - started }
}

/** The environment of a host that reaches nothing outside, in a place of its own. */
export function hostEnvironment(place: Place): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: place.home,
    LANG: "C.UTF-8",
    TENON_RUNTIME_DIR: place.runtime,
    TENON_STATE_DIR: place.state,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_CLAUDE_CODE: "1",
    npm_config_registry: "http://127.0.0.1:9/",
    npm_config_fetch_retries: "0",
  }
}

function modelConfig(model: Model): Record<string, unknown> {
  return {
    model: "fake/fake-model",
    small_model: "fake/fake-model",
    share: "disabled",
    autoupdate: false,
    provider: {
      fake: {
        npm: "@ai-sdk/openai-compatible",
        name: "Fake",
        options: { baseURL: model.url, apiKey: "sk-fake" },
        models: { "fake-model": { name: "Fake", tool_call: true, limit: { context: 128_000, output: 8_192 } } },
      },
    },
  }
}

async function follow(url: string, into: HostEvent[], signal: AbortSignal) {
  try {
    const response = await fetch(url, { signal })
    const decoder = new TextDecoder()
    let rest = ""
    for await (const chunk of response.body!) {
      const frames = (rest + decoder.decode(chunk, { stream: true })).split("\n\n")
      rest = frames.pop()!
      for (const frame of frames) if (frame.startsWith("data: ")) into.push(JSON.parse(frame.slice(6)))
    }
  } catch {
    // ended by stop, or the host was killed
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once("exit", resolve))
  child.kill(signal)
  const hangs = setTimeout(() => child.kill("SIGKILL"), patience)
  await gone
  clearTimeout(hangs)
  for (const stream of [child.stdout, child.stderr]) stream?.destroy() // which a child of it may hold open
}
