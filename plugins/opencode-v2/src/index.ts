/**
 * tenon's plugin for opencode v2: one instance and one bridge for each location
 * that opencode has open. It holds no state that the daemon does not own, stores
 * nothing, never prints, and keeps no turn waiting.
 */

import {
  connect,
  hookWait,
  hostEnvironment,
  readOptions,
  sessionTable,
  within,
  Failure,
  type Bridge,
} from "@tenon/bridge"
import { askTable } from "./ask/asks.ts"
import { dialogRoute } from "./ask/dialog.ts"
import { findEndpoint } from "./ask/endpoint.ts"
import { tuiLink } from "./ask/link.ts"
import { questionRoute } from "./ask/question.ts"
import { answerQuestion } from "./ask/serverquestion.ts"
import { callTable } from "./calls.ts"
import { evaluate } from "./evaluate.ts"
import { readEvents } from "./events.ts"
import { leave, take } from "./handover.ts"
import type { Cleanup, Context, Tool } from "./host.ts"
import { instruct } from "./instructions.ts"
import { registerServer } from "./mcp.ts"
import { outcomes } from "./outcome.ts"
import { reportTable } from "./progress.ts"
import { sourceOf } from "./session.ts"
import { followSessions } from "./sessionevents.ts"
import { shells } from "./shell.ts"
import { toolsOf } from "./tools.ts"

/** Set when the bundle is built. */
declare const __VERSION__: string

/** The plugin. The host takes no other export. */
export default { id: "opencode-tenon", setup }

async function setup(ctx: Context): Promise<Cleanup> {
  const { options: given } = ctx
  const options = readOptions(given, process.argv, process.env, { mcp: "boolean", url: "string", password: "string" })
  const { env, argv, pid } = process
  const { directory } = ctx.location
  const bridge = (): Bridge => link

  const events = readEvents(ctx)
  const source = sourceOf(ctx, events)
  const sessions = sessionTable(source, bridge, env)
  sessions.adopt(take(directory))
  const calls = callTable(events)
  const reports = reportTable(calls)

  const server = { url: given.url as string | undefined, password: given.password as string | undefined }
  const dialog = dialogRoute(ctx, events, () => findEndpoint({ options: server, argv, env, pid }))
  const tui = await tuiLink(ctx)
  let question: Tool | undefined
  const asks = askTable([dialog, tui, questionRoute(() => question)], calls, bridge)
  const registered = given.mcp === true ? await registerServer(ctx, options) : undefined
  const instructions = await instruct(ctx, bridge, sessions)

  const link = connect({
    bin: options.bin,
    env,
    hello: {
      build: { version: __VERSION__, commit: "" },
      plugin: "opencode-tenon-v2",
      host: "opencode-v2",
      hostVersion: ctx.app.version,
      runtime: process.versions.bun ? `bun ${process.versions.bun}` : `node ${process.versions.node}`,
      pid,
      directory,
      worktree: ctx.location.project.directory,
      interactive: options.interactive,
      events: true,
      ...(options.config ? { config: options.config } : {}),
      env: hostEnvironment(env),
    },
    handlers: {
      "session/resolve": ({ session }) => sessions.resolve(session),
      "permission/ask": (params, signal) => asks.permission(params, signal),
      "permission/withdraw": ({ id }) => (asks.withdraw(id), {}),
      "elicitation/ask": (params, signal) => answerQuestion({ ctx, asks, calls }, params, signal),
      "notice/show": async (notice) => {
        if (await tui.notice(notice)) return {}
        throw Failure(
          "NotFound",
          "no TUI of opencode shows notices",
          "add tenon's TUI entry, or use tenon approvals --watch",
        )
      },
      "run/event": (frame) => reports.onFrame(frame),
      "catalog/changed": () => instructions.changed(),
    },
    async onOpen(hello) {
      registered?.onHello(hello)
      instructions.changed() // while there was no connection, nobody told of changes
      await sessions.again()
    },
  })

  const close = async () => {
    await asks.close() // while the host still listens
    calls.close()
    leave(directory, sessions.ids())
    await tui.close()
    events.close()
    await link.close()
  }

  try {
    await shells(ctx, events, { bridge, sessions, options, env, directory })
    await outcomes(ctx, bridge)
    await evaluate(ctx, dialog, sessions, registered !== undefined)
    await ctx.session.hook("prompt", async ({ sessionID }) => {
      // Early, so that the first shell of the turn finds its ticket; a daemon that
      // is not there yet is not waited for.
      await within(sessions.attach(sessionID), link.current() ? hookWait : 0)
    })
    const offered = registered ? [] : toolsOf({ ctx, bridge, source, sessions, calls, asks, reports })
    await ctx.tool.transform((editor) => {
      question = editor.get("question") // as it stands: the same at every replay
      for (const tool of offered) editor.add(tool)
    })
  } catch (error) {
    await close() // the host disposes of registrations only
    throw error
  }
  followSessions({ events, source, sessions, instructions, directory })
  return close
}
