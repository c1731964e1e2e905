/** The one line about tenon in the system prompt. */

const line =
  "MCP servers of this project are reached through tenon. To call several tools, loop or filter, write one program with " +
  "tenon_exec: `const page = await tools.browser.snapshot({})` (names: tools.<namespace>.<tool>; only its result enters " +
  "the conversation). Find names with tenon_search; they exist inside programs and for tenon_call, not as tools of " +
  "their own. In bash, `tenon exec` and `tenon call` are this same session."

/** Adds the line, once, except to the side jobs of the host (titles, generated agents). */
export function instruct(sessionID: string | undefined, system: string[]): void {
  if (!sessionID || system[0]?.startsWith("You are a title generator")) return
  if (!system.includes(line)) system.push(line)
}
