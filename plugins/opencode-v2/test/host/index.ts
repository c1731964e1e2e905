/**
 * The contract host: a double of opencode 2.0.x that holds a plugin to the rules of the host's plugin API, release by
 * release. It is held to those rules (test/rules), not to any plugin.
 *
 *     const host = await createHost({ version: "2.0.23", directory, plugins: [{ package: "/abs/plugin", options: {} }] })
 *     host.user.answers((request) => (request.action === "shell" ? "once" : { decision: "reject", message: "no" }))
 *     const session = await host.session.create({ directory })
 *     const request = await host.modelRequest(session)           // system parts, direct tools, catalogue
 *     const { results } = await host.step(session, [{ tool: "shell", input: { command: "env" } }, …])  // one model step
 *     const result = await host.execute(session, `return await tools.demo.search({ q: 1 })`)           // Code Mode
 *     await host.close()                                         // unloads, ends processes; then host.open() is empty
 *
 * - **Plugins**: `plugins` are configuration entries, `roots` are searched first. `{ module }` loads an object in place of
 *   a file. One instance for each location: `host.location(dir)` makes the location, `session.create` does too.
 *   `(await host.location()).plugins()` has the states, `.reload(id)`, `.unload(id)`, `.configure(list)` change them.
 * - **A step** runs its calls at once, as the host does, and gives what the model sees. `order: ["before:0", "before:1",
 *   "create:1", "create:0"]` forces how the hooks of the calls interleave. `host.turn` makes several steps of one turn;
 *   a bare reject ends it. `host.interrupt(session)` is the cancel key: the step resolves, the executor is not waited for.
 * - **The user** answers by script (`user.answers`, `user.fills` for forms) or by hand (`await user.asked()`, then
 *   `user.reply`). Nobody answers unless told so: an ask then waits.
 * - **Switches**: a release is a set of switches (switches.ts); a test may override any of them. Strict by default: an
 *   unknown member of the context throws, a write to a read-only field throws, transforms run twice, async context does
 *   not travel from a call to its hooks.
 * - **Not played**: models and providers and the hooks of their requests (`generate`, `title`, `compaction`, `http.*`,
 *   `retry`, web sockets: they register and never fire), the Effect runtime (a plugin with `effect` is called with the
 *   context and awaited), installing packages, watching files (call `reload`), deltas of the catalogue, truncation of long
 *   output, the built-in tools besides `shell`, `read`, `write` and `question`. A reload evaluates the entry anew; what
 *   the entry imports is shared within the process.
 */

export type * from "./contract.ts"
export type * from "./types.ts"
export type * from "./switches.ts"
export type * from "./tui.ts"
export { releases, switchesOf } from "./switches.ts"
export { createHost } from "./host.ts"
