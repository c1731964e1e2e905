/** Questions of MCP servers to the user. */

import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client"
import type { Core } from "./core.ts"

/** A question belongs to the location: its form is of the session `global`, not of the one that called. */
export async function elicited(
  core: Core,
  server: string,
  params: ElicitRequest["params"],
  signal: AbortSignal,
): Promise<ElicitResult> {
  const isUrl = params.mode === "url"
  const fields: unknown = isUrl ? params.url : params.requestedSchema
  // Nothing to fill in is nothing to show.
  if (!isUrl && Object.keys(params.requestedSchema.properties ?? {}).length === 0) {
    return { action: "accept", content: {} }
  }
  const title = `${server} is requesting input`
  const mode = isUrl ? "url" : "form"
  const answer = await core.user.show({ sessionID: "global", title, message: params.message, mode, fields }, signal)
  if (answer === "dismiss") return { action: "cancel" }
  return isUrl ? { action: "accept" } : { action: "accept", content: answer.accept }
}
