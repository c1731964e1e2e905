/** One run of a tool with everything around it: hooks, input, executor, checks of the result. */

import { hookEvent } from "./strict.ts"
import { checkJson, decode, isStandard } from "./schema.ts"
import { messageOf } from "./core.ts"
import { Defect, Interrupted, ToolFailure, type Caller, type HostTool } from "./tool.ts"
import type { HookTable } from "./hooks.ts"
import type { Content, Metadata, ToolResult } from "./contract.ts"
import type { Switches } from "./switches.ts"

export interface Invocation {
  tool: string
  input: unknown
  caller: Caller
  /** The tools of the request, by the name that is called. @throws ToolFailure for one that is not offered. */
  find(name: string): HostTool
  hooks: HookTable
  switches: Switches
  /** Runs a group of hooks when its turn has come. */
  gate<T>(run: () => Promise<T>): Promise<T>
}

/** What a tool came to: content is a list of parts. */
export interface Outcome {
  tool: string
  content: Content[]
  output?: unknown
  metadata?: Record<string, any>
}

/** @throws ToolFailure, Declined, Defect or Interrupted. */
export async function invoke(invocation: Invocation): Promise<Outcome> {
  const { caller, hooks, switches } = invocation
  const { sessionID, agent, messageID, id } = caller
  const called = invocation.find(invocation.tool)
  const before = hookEvent(
    { tool: called.id, input: invocation.input },
    { sessionID, agent, messageID, id },
    switches.readonlyWrites,
    switches.frozenHookArguments,
  )
  await invocation.gate(async () => {
    try {
      await hooks.fire("execute.before", before)
    } catch (error) {
      throw new ToolFailure(messageOf(error))
    }
  })
  if (caller.signal.aborted) throw new Interrupted()
  const tool = before.tool === called.id ? called : invocation.find(before.tool)
  const after = { tool: tool.id, sessionID, agent, messageID, id, input: before.input }
  const event = await ran(tool, before.input, caller, switches)
  if (caller.signal.aborted) throw new Interrupted()
  const hooked = hookEvent(event.change, { ...after, status: event.status }, switches.readonlyWrites, false)
  try {
    await hooks.fire("execute.after", hooked)
  } catch (error) {
    throw new Defect(error)
  }
  if ("error" in hooked) throw new ToolFailure(hooked.error.message, hooked.error.metadata)
  const { content } = hooked.result
  if (typeof content === "string")
    return { ...hooked.result, tool: tool.id, content: [{ type: "text", text: content }] }
  if (!Array.isArray(content)) throw new Defect(new Error("Tool result content is neither a string nor parts"))
  return { ...hooked.result, tool: tool.id, content }
}

type Ran =
  | { status: "completed"; change: { result: ToolResult } }
  | { status: "error"; change: { error: { message: string; metadata?: Metadata } } }

/** A typed failure is an outcome that hooks hear of; a death and a declined question are not. */
async function ran(tool: HostTool, given: unknown, caller: Caller, switches: Switches): Promise<Ran> {
  try {
    const input = await decoded(tool, given, switches)
    return { status: "completed", change: { result: await checked(tool, await tool.run(input, caller)) } }
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error
    return { status: "error", change: { error: { message: error.message, metadata: error.metadata } } }
  }
}

async function decoded(tool: HostTool, input: unknown, switches: Switches): Promise<unknown> {
  if (!isStandard(tool.input) && !switches.validateJsonInput) return input
  try {
    return await decode(tool.input, input)
  } catch (error) {
    throw new ToolFailure(`Invalid tool input: ${messageOf(error)}`)
  }
}

/** Holds a result against the tool's declaration; content becomes parts. */
async function checked(tool: HostTool, result: ToolResult): Promise<ToolResult> {
  const { output } = result
  if (output !== undefined && !tool.output) {
    throw new Defect(new Error("Tool result declared output without an output schema"))
  }
  if (tool.output) {
    if (output === undefined) throw new ToolFailure("Tool did not return its declared output")
    try {
      checkJson(output)
    } catch (error) {
      throw new ToolFailure(`Tool returned a value that is not JSON: ${messageOf(error)}`)
    }
    try {
      await decode(tool.output, output)
    } catch (error) {
      throw new ToolFailure(`Tool returned an invalid value for its output schema: ${messageOf(error)}`)
    }
  }
  return { ...result, content: parts(result) }
}

function parts({ content, output }: ToolResult): Content[] {
  if (typeof content === "string" && content !== "") return [{ type: "text", text: content }]
  if (Array.isArray(content) && content.length > 0) return [...content]
  if (output === undefined) return []
  return [{ type: "text", text: JSON.stringify(output) ?? String(output) }]
}
