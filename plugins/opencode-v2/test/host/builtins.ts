/** The host's own tools, as far as this double plays them. */

import { readFile, writeFile } from "node:fs/promises"
import { relative, resolve } from "node:path"
import { hostTool } from "./toolset.ts"
import { messageOf } from "./core.ts"
import { shellTool } from "./shell.ts"
import { ToolFailure, type Caller, type HostTool } from "./tool.ts"
import type { Core } from "./core.ts"
import type { LocationHost } from "./location.ts"

export function builtins(core: Core, location: LocationHost): HostTool[] {
  return [shellTool(core, location), readTool(core), writeTool(core), questionTool(core)]
}

const text = { type: "string" }

function readTool(core: Core): HostTool {
  const info = {
    name: "read",
    description: "Reads a file.",
    input: { type: "object", properties: { path: text }, required: ["path"] },
    options: { codemode: false },
  }
  return hostTool(
    info,
    async (input, caller) => {
      const path = await asserted(core, "read", input, caller)
      return { content: await attempted(() => readFile(path, "utf8")), metadata: {} }
    },
    core.switches,
  )
}

function writeTool(core: Core): HostTool {
  const info = {
    name: "write",
    description: "Writes a file.",
    input: { type: "object", properties: { path: text, content: text }, required: ["path", "content"] },
    options: { codemode: false },
  }
  return hostTool(
    info,
    async (input, caller) => {
      const path = await asserted(core, "edit", input, caller)
      await attempted(() => writeFile(path, String(input.content ?? "")))
      return { content: `Wrote ${path}.`, metadata: {} }
    },
    core.switches,
  )
}

/** The file that is meant, when the caller may have it. */
async function asserted(core: Core, action: string, input: any, caller: Caller): Promise<string> {
  if (typeof input?.path !== "string") throw new ToolFailure("Invalid tool input: path is not a string")
  const { directory } = core.sessions.get(caller.sessionID).info.location
  const path = resolve(directory, input.path)
  const resources = [relative(directory, path)]
  const source = { type: "tool" as const, messageID: caller.messageID, id: caller.id }
  const { sessionID, agent } = caller
  await core.permissions.assert(
    { sessionID, agent, action, resources, save: resources, metadata: {}, source },
    caller.signal,
  )
  return path
}

async function attempted<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new ToolFailure(messageOf(error))
  }
}

function questionTool(core: Core): HostTool {
  const info = {
    name: "question",
    description: "Asks the user.",
    input: { type: "object", properties: { questions: { type: "array" } }, required: ["questions"] },
    options: { codemode: false },
  }
  return hostTool(
    info,
    async (input, caller) => {
      const { sessionID, agent, messageID, id, signal } = caller
      const source = { type: "tool" as const, messageID, id }
      await core.permissions.assert(
        { sessionID, agent, action: "question", resources: ["*"], metadata: {}, source },
        signal,
      )
      const form = { sessionID, title: "Question", message: "", mode: "question" as const, fields: input.questions }
      const answer = await core.user.show(form, signal)
      if (answer === "dismiss") throw new ToolFailure("The user dismissed this question")
      return { content: JSON.stringify(answer.accept), metadata: { answers: answer.accept } }
    },
    core.switches,
  )
}
