/**
 * Gives shells their identity: a script that the agent starts is the same
 * session as the agent. A terminal without a session gets its directory's.
 */

import { accessSync, constants } from "node:fs"
import { basename, delimiter, dirname, isAbsolute, join } from "node:path"
import type { Bridge } from "./bridge.ts"
import { hookWait } from "./limits.ts"
import type { Options } from "./options.ts"
import type { Sessions } from "./sessions.ts"
import { within } from "./within.ts"

/** The variables that say who a shell is. */
export interface Identity {
  TENON_SESSION_ID: string
  TENON_TICKET: string
  TENON_SOCKET: string
}

/**
 * The identity of a shell that the agent of a session starts. A ticket never
 * precedes its session: undefined when the daemon does not answer in time.
 */
export async function sessionIdentity(id: string, sessions: Sessions, bridge: Bridge): Promise<Identity | undefined> {
  const attach = async () => {
    await bridge.opened(hookWait)
    return sessions.attach(id)
  }
  // A session that is known keeps its ticket when the daemon is slow: tickets
  // outlive a restart, and a change of the session's rules comes as an event.
  const attached = (await within(attach(), hookWait)) ?? sessions.known(id)
  return attached && identityOf(attached.session, attached.ticket, attached.socket)
}

/** The identity of the user's own terminals in the plugin's directory. */
export async function directoryIdentity(bridge: Bridge): Promise<Identity | undefined> {
  const hello = await bridge.opened(hookWait)
  return hello && identityOf(hello.session, hello.ticket, hello.socket)
}

/** The variables of an identity. */
export function identityOf(session: string, ticket: string, socket: string): Identity {
  return { TENON_SESSION_ID: session, TENON_TICKET: ticket, TENON_SOCKET: socket }
}

/** What takes the place of an identity: one that the host itself inherited from an outer session is masked. */
export function maskInherited(env: NodeJS.ProcessEnv): Record<string, string> {
  const inherited = ["TENON_SESSION_ID", "TENON_TICKET"].filter((name) => env[name])
  return Object.fromEntries(inherited.map((name) => [name, ""]))
}

/** What a shell needs besides: the configuration that the plugin was given, and a PATH that has tenon. */
export function shellAids(options: Options, env: NodeJS.ProcessEnv): Record<string, string> {
  return { ...(options.config ? { TENON_CONFIG: options.config } : {}), ...pathWith(options.bin, env) }
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
