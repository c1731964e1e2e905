/**
 * The host's variables that the daemon may see: those that programs need to find
 * their way, never secrets. What a server's config names besides is sent with a
 * session, by name (HelloResult.wants).
 */

/** Names that are sent whenever they are set. The daemon holds the same list. */
const names = new Set(
  (
    "PATH HOME USER LOGNAME LANG LANGUAGE TZ TERM COLORTERM SHELL TMPDIR DISPLAY WAYLAND_DISPLAY XAUTHORITY " +
    "SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy " +
    "no_proxy all_proxy"
  ).split(" "),
)
const prefixes = ["LC_", "XDG_"]

/** The allow-listed part of an environment. */
export function hostEnvironment(env: NodeJS.ProcessEnv): Record<string, string> {
  return pick(env, (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix)))
}

/** The variables of an environment that a view names; a caller's tickets are never among them. */
export function wantedEnvironment(env: NodeJS.ProcessEnv, wants: string[]): Record<string, string> {
  return pick(env, (name) => wants.includes(name) && name !== "TENON_TICKET" && name !== "TENON_SESSION_ID")
}

function pick(env: NodeJS.ProcessEnv, keep: (name: string) => boolean): Record<string, string> {
  const out: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && keep(name)) out[name] = value
  }
  return out
}
