/** What the system prompt says about tenon, in every host. */

/** What tenon is, where its names live, and one example. */
export const about =
  "MCP servers of this project are reached through tenon. To call several tools, loop or filter, write one program with " +
  "tenon_exec: `const page = await tools.browser.snapshot({})` (names: tools.<namespace>.<tool>; only its result enters " +
  "the conversation). Find names with tenon_search; they exist inside programs and for tenon_call, not as tools of " +
  "their own. In bash, `tenon exec` and `tenon call` are this same session."
