/** One tool as the host keeps it, and the two ways in which running it can fail. */

import { messageOf } from "./core.ts"
import { strict } from "./strict.ts"
import type { Metadata, ToolContext, ToolInfo, ToolOptions, ToolResult, ValueSchema } from "./contract.ts"
import type { Switches } from "./switches.ts"

/** Where a call comes from, and how it ends early. */
export interface Caller {
  sessionID: string
  agent: string
  messageID: string
  id: string
  signal: AbortSignal
  progress(metadata: Metadata): Promise<void>
}

/** @throws ToolFailure, Declined (both typed) or Defect. */
export type Executor = (input: any, caller: Caller) => Promise<ToolResult>

export interface HostTool {
  id: string
  name: string
  namespace?: string
  description: string
  input: ValueSchema
  output?: ValueSchema
  options: ToolOptions
  run: Executor
}

/** A failure that the host knows as such: hooks see it, the model reads its message. */
export class ToolFailure extends Error {
  constructor(
    message: string,
    readonly metadata?: Metadata,
  ) {
    super(message)
  }
}

/** The user said no and nothing more: the turn is over. */
export class Declined extends Error {
  constructor() {
    super("The user declined this tool call")
  }
}

/** An executor died. No hook sees it. */
export class Defect extends Error {
  readonly type: "tool.execution" | "unknown"

  constructor(reason: unknown) {
    super(messageOf(reason), { cause: reason })
    // The class comes from the host's own package; minified builds keep its tag.
    const tagged = reason as { _tag?: string; name?: string } | undefined
    this.type = tagged?._tag === "ToolError" || tagged?.name === "ToolError" ? "tool.execution" : "unknown"
  }
}

/** The call's work was interrupted; whatever it still brings is dropped. */
export class Interrupted extends Error {
  constructor() {
    super("Tool execution interrupted")
  }
}

/** The executor of a Promise-style tool: whatever its promise rejects with is a defect. */
export function executorOf(execute: ToolInfo["execute"], switches: Switches): Executor {
  return async (input, caller) => {
    let returned: unknown
    try {
      returned = execute(input, contextOf(caller, switches))
      if (typeof (returned as Promise<unknown> | undefined)?.then !== "function") {
        throw new TypeError("execute must return a promise")
      }
      return ((await returned) ?? {}) as ToolResult
    } catch (error) {
      throw new Defect(error)
    }
  }
}

/** A host's executor as a plugin may call it: typed failures become plain rejections, only their message survives. */
export function promised(run: Executor): ToolInfo["execute"] {
  return async (input, context) => {
    const { sessionID, agent, messageID, id, progress } = context
    const signal = context.signal ?? new AbortController().signal
    try {
      return await run(input, { sessionID, agent, messageID, id, progress, signal })
    } catch (error) {
      throw new Error(messageOf(error))
    }
  }
}

/** What a plugin's executor is given: exactly this. */
export function contextOf(caller: Caller, switches: Switches): ToolContext {
  const { sessionID, agent, messageID, id, progress, signal } = caller
  const context = { sessionID, agent, messageID, id, progress, ...(switches.toolSignal && { signal }) }
  return strict("tool context", context, ["signal", "checkpoint"], switches.strictContext)
}
