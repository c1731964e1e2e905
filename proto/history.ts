/**
 * What history says of runs besides their rows: limits they had, and statistics.
 * Twin of history.go; both are held against schema/history.json by their tests.
 */

/** RunLimits are the limits that a run was asked for; what is absent was left to the settings. */
export interface RunLimits {
  /** 0: none */
  timeoutMs?: number
  callTimeoutMs?: number
  maxOutputBytes?: number
  maxToolCalls?: number
  memoryBytes?: number
}

/** RunStats is GET /v1/runs/stats: what came of the calls, or runs, that history keeps. */
export interface RunStats {
  by: "tool" | "server" | "script" | "kind"
  /** RFC 3339; absent: all that is kept */
  since?: string
  /** most calls first */
  rows: StatsRow[]
}

/** StatsRow is what came of one tool, server, script or kind of failure. */
export interface StatsRow {
  /** server/tool, server, script or kind; of runs without a script: empty */
  name: string
  /** of a tool or server */
  server?: string
  tool?: string
  /** calls; runs by script */
  count: number
  /** of them without a failure */
  ok: number
  /** ok / count */
  rate: number
  /** failures by kind */
  kinds?: Record<string, number>
  /** by kind: the tools that failed so */
  where?: Record<string, number>
  /** half took no longer */
  p50Ms: number
  /** 95 % took no longer */
  p95Ms: number
  /** of a tool: what followed InvalidToolInput and worked; the commonest first */
  repairs?: Repair[]
}

/**
 * Repair is how arguments were mended: the next call of the same tool in the same session that worked, held against the
 * one that was refused.
 */
export interface Repair {
  /** in words, such as: pathh is path; head is number, was string */
  change: string
  count: number
}
