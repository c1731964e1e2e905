/** What differs between releases of opencode 2.0.x. A test names a release and may override single switches. */

export type Release = "2.0.3" | "2.0.15" | "2.0.23"
export const releases: readonly Release[] = ["2.0.3", "2.0.15", "2.0.23"]

export interface Switches {
  /** Tools get an AbortSignal. Without it the only cue of an interrupt is the event `session.execution.interrupted`. */
  toolSignal: boolean
  /** The longest name of a tool, in characters. */
  toolNameLimit: number
  /** `last-rule`: the last rule that matches the action denies `*`. `all-probes`: every resource that is probed is denied. */
  hideRule: "all-probes" | "last-rule"
  /** Input of a tool with a plain JSON schema is checked before the tool runs. */
  validateJsonInput: boolean
  unknownToolText: "unknown" | "not-available"
  /** `ctx.permission.rules` exists. */
  permissionRules: boolean
  /** `ctx.session.update` exists. */
  sessionUpdate: boolean
  /** The key of the answer in `ctx.permission.reply`. */
  replyKey: "reply" | "decision"
  /** The field of a permission request that holds its text. */
  requestText: "reason" | "message"
  interruptFlag: "continue" | "resume"
  /** The prefix of the events of permissions. */
  permissionEvents: "permission.v2" | "permission"
  /** Programs of Code Mode have a `fetch` that nobody is asked about. */
  codemodeFetch: boolean
  environmentRoute: "/api/experimental/session/:id/environment" | "/api/session/:id/environment"
  /** A configured local path may be a single file. */
  localFilePlugins: boolean
  /** A named package without `exports["./server"]` is loaded from its root. */
  packageRootFallback: boolean
  /** `ctx.tool.list` exists. */
  toolList: boolean
  /** `ctx.session.create` takes a `parentID`. */
  sessionCreateParent: boolean
  /** `ctx.catalog` exists in place of `ctx.provider` and `ctx.model`. */
  catalogDomain: boolean
  /** `ctx.worktree` exists. */
  worktreeDomain: boolean
  /** Calls of one step that die all get the message of the first. */
  sharedDefects: boolean
  /** The host itself sets OPENCODE_SESSION_ID in the shells of a session. */
  nativeSessionVariable: boolean
  /** What a write to a read-only field of a hook's event does. It is never acted on. */
  readonlyWrites: "throw" | "ignore"
  /** The values inside a hook's event are frozen: a hook must replace them. */
  frozenHookArguments: boolean
  /** Access to a member of the context that no release has throws. */
  strictContext: boolean
  /** Async context (AsyncLocalStorage) does not reach a hook from whoever made the call. */
  severAsyncContext: boolean
  /** Callbacks of transforms run twice on every rebuild. */
  replayTwice: boolean
}

const baseline: Switches = {
  toolSignal: true,
  toolNameLimit: 128,
  hideRule: "last-rule",
  validateJsonInput: false,
  unknownToolText: "not-available",
  permissionRules: false,
  sessionUpdate: true,
  replyKey: "decision",
  requestText: "message",
  interruptFlag: "resume",
  permissionEvents: "permission",
  codemodeFetch: true,
  environmentRoute: "/api/session/:id/environment",
  localFilePlugins: false,
  packageRootFallback: false,
  toolList: false,
  sessionCreateParent: false,
  catalogDomain: false,
  worktreeDomain: true,
  sharedDefects: true,
  nativeSessionVariable: false,
  readonlyWrites: "throw",
  frozenHookArguments: false,
  strictContext: true,
  severAsyncContext: true,
  replayTwice: true,
}

// Where the first release with a change is not known, the release between the two ends has the older behaviour,
// except for what was seen in 2.0.15 itself: the signal, the directory rule and the names of the permission events.
const between: Partial<Switches> = {
  toolNameLimit: 64,
  sessionUpdate: false,
  replyKey: "reply",
  interruptFlag: "continue",
  codemodeFetch: false,
  environmentRoute: "/api/experimental/session/:id/environment",
  packageRootFallback: true,
  worktreeDomain: false,
}

const first: Partial<Switches> = {
  ...between,
  toolSignal: false,
  hideRule: "all-probes",
  validateJsonInput: true,
  unknownToolText: "unknown",
  permissionRules: true,
  requestText: "reason",
  permissionEvents: "permission.v2",
  localFilePlugins: true,
  catalogDomain: true,
}

/** The switches of a release, with the overrides on top. */
export function switchesOf(release: Release, overrides: Partial<Switches> = {}): Switches {
  const drift = { "2.0.3": first, "2.0.15": between, "2.0.23": {} }[release]
  return { ...baseline, ...drift, ...overrides }
}
