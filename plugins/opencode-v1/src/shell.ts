/** The variables for one shell of opencode v1, which says whose it is. */

import {
  directoryIdentity,
  maskInherited,
  sessionIdentity,
  shellAids,
  type Bridge,
  type Options,
  type Sessions,
} from "@tenon/bridge"

/** A session's shell is that session; the terminals that the user opens have none, and get their directory's. */
export async function shellEnvironment(
  sessionID: string | undefined,
  sessions: Sessions,
  bridge: Bridge,
  options: Options,
  env: NodeJS.ProcessEnv,
): Promise<Record<string, string>> {
  const identity = sessionID ? await sessionIdentity(sessionID, sessions, bridge) : await directoryIdentity(bridge)
  return { ...(identity ?? maskInherited(env)), ...shellAids(options, env) }
}
