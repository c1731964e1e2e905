/**
 * Gives shells their identity: a script that the agent starts is the same
 * session as the agent. A terminal without a session gets its directory's.
 */

import { accessSync, constants } from "node:fs"
import { basename, delimiter, dirname, isAbsolute, join } from "node:path"
import { within, type Bridge } from "@tenon/bridge"
import { hookWait } from "./limits.ts"
import type { Options } from "./options.ts"
import type { Sessions } from "./session.ts"

/**
 * The variables for one shell. A ticket never precedes its session: when the
 * daemon does not answer in time there is none, and one that the host itself
 * inherited from an outer session is masked.
 */
export async function shellEnvironment(
  sessionID: string | undefined,
  sessions: Sessions,
  bridge: Bridge,
  options: Options,
  env: NodeJS.ProcessEnv,
): Promise<Record<string, string>> {
  const identity = sessionID ? await agentShell(sessionID, sessions, bridge) : await terminal(bridge)
  return { ...(identity ?? maskInherited(env)), ...configOf(options), ...pathWith(options.bin, env) }
}

async function agentShell(id: string, sessions: Sessions, bridge: Bridge) {
  const attach = async () => {
    await bridge.opened(hookWait)
    return sessions.attach(id)
  }
  // A session that is known keeps its ticket when the daemon is slow: tickets
  // outlive a restart, and a change of the session's rules comes as an event.
  const attached = (await within(attach(), hookWait)) ?? sessions.known(id)
  return attached && identityOf(attached.session, attached.ticket, attached.socket)
}

async function terminal(bridge: Bridge) {
  const hello = await bridge.opened(hookWait)
  return hello && identityOf(hello.session, hello.ticket, hello.socket)
}

function identityOf(session: string, ticket: string, socket: string) {
  return { TENON_SESSION_ID: session, TENON_TICKET: ticket, TENON_SOCKET: socket }
}

function maskInherited(env: NodeJS.ProcessEnv): Record<string, string> {
  const inherited = ["TENON_SESSION_ID", "TENON_TICKET"].filter((name) => env[name])
  return Object.fromEntries(inherited.map((name) => [name, ""]))
}

function configOf(options: Options): Record<string, string> {
  return options.config ? { TENON_CONFIG: options.config } : {}
}

/** PATH is left alone unless it has no tenon and the option names one. */
function pathWith(bin: string, env: NodeJS.ProcessEnv): Record<string, string> {
  if (!isAbsolute(bin) || basename(bin) !== "tenon") return {}
  const path = env.PATH ?? ""
  if (path.split(delimiter).some((dir) => dir !== "" && isProgram(join(dir, "tenon")))) return {}
  return { PATH: path === "" ? dirname(bin) : `${path}${delimiter}${dirname(bin)}` }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
