/** Every number of the plugins that bounds something, in one place. */

/** Any hook waits so long for the daemon, then goes on without it (milliseconds). */
export const hookWait = 250
/** A tool waits so long for a daemon that has to be started. */
export const toolWait = 10_000
/** After an abort the host waits 250 ms for the tool; the daemon's answer gets this much of it. */
export const abortGrace = 150
/** Text for the model. v1 cuts at 50 KiB and 2,000 lines, from the head; tenon cuts first and says how. */
export const text = { bytes: 48 * 1024, lines: 1_900 }
/** Sub-agents of sub-agents: how far parents are followed. */
export const maxDepth = 16
/** Sessions that are remembered; beyond, the one that was used longest ago is forgotten, here only. */
export const maxSessions = 512
