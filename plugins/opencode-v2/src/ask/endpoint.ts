/**
 * Where this very process serves its HTTP API, if it does and says so: by the
 * plugin's options, by what it was started with, or by the registration of the
 * managed service. Another process's server would ask somebody else's user.
 */

import { readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

/** An address with what it takes to be let in. */
export interface Endpoint {
  url: string
  authorization?: string
}

/** What decides. */
export interface EndpointSources {
  options: { url?: string; password?: string }
  argv: string[]
  env: NodeJS.ProcessEnv
  pid: number
}

/** The user of the host's Basic authentication. */
const user = "opencode"

/** Finds the address, anew at each question: a service may be registered later. */
export function findEndpoint({ options, argv, env, pid }: EndpointSources): Endpoint | undefined {
  const password = options.password ?? env.OPENCODE_SERVER_PASSWORD
  const url = options.url ?? served(argv)
  if (url !== undefined) return password ? endpoint(url, password) : undefined
  const service = registered(env)
  return service?.pid === pid ? endpoint(service.url, service.password) : undefined
}

function endpoint(url: string, password: string | undefined): Endpoint {
  const base = url.replace(/\/+$/, "")
  if (!password) return { url: base }
  return { url: base, authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` }
}

/** `opencode serve --port N`, with the port named: one that was chosen is not told to plugins. */
function served(argv: string[]): string | undefined {
  if (!argv.includes("serve")) return undefined
  const port = Number(valueOf(argv, "--port"))
  if (!Number.isInteger(port) || port <= 0 || port > 65_535) return undefined
  const host = valueOf(argv, "--hostname") ?? "127.0.0.1"
  const reachable = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
}

function valueOf(argv: string[], flag: string): string | undefined {
  const joined = argv.find((each) => each.startsWith(`${flag}=`))
  if (joined) return joined.slice(flag.length + 1)
  const at = argv.indexOf(flag)
  return at < 0 ? undefined : argv[at + 1]
}

function registered(env: NodeJS.ProcessEnv): { url: string; pid: number; password?: string } | undefined {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state")
  try {
    const { url, pid, password } = JSON.parse(readFileSync(join(state, "opencode", "service.json"), "utf8"))
    if (typeof url !== "string" || typeof pid !== "number") return undefined
    return { url, pid, ...(typeof password === "string" ? { password } : {}) }
  } catch {
    return undefined // no service, or none that can be read
  }
}
