/**
 * The host's variables that the daemon may see: those that programs need to find
 * their way, never secrets. What a server's config names besides is sent with a
 * session, by name (HelloResult.wants).
 */

/**
 * What is sent whenever it is set; a star stands for any rest of the name. The
 * daemon has the same list (proto/fixtures/environment.json holds both to it).
 */
export const hostVariables = [
  ..."PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM NO_COLOR".split(" "),
  ..."TMPDIR TEMP TMP DISPLAY WAYLAND_DISPLAY XAUTHORITY SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS".split(" "),
  ..."HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy".split(" "),
  ..."SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS LC_* XDG_*".split(" "),
]

const names = new Set(hostVariables)
const prefixes = hostVariables.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1))

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
