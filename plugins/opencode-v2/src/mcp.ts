/**
 * tenon as an MCP server of opencode, in place of the plugin's own tools: what
 * the model calls is then asked about by the host itself. Its entry carries the
 * host's ticket, which proves that the session ids on its calls are this host's.
 */

import type { Options } from "@tenon/bridge"
import type { HelloResult } from "@tenon/proto"
import type { Context } from "./host.ts"

/** The entry. */
export interface Registered {
  /** A daemon greeted: its ticket goes into the entry. Nothing happens when it has not changed. */
  onHello(hello: HelloResult): void
}

/** Registers the transform. The entry is there once a daemon has given a ticket. */
export async function registerServer(ctx: Context, options: Options): Promise<Registered> {
  let ticket: string | undefined
  let socket = ""
  await ctx.mcp.transform((editor) => {
    if (ticket === undefined) return
    editor.set("tenon", {
      type: "local",
      command: [options.bin, "mcp"],
      environment: {
        TENON_TICKET: ticket,
        TENON_SOCKET: socket,
        ...(options.config ? { TENON_CONFIG: options.config } : {}),
      },
      codemode: false, // a program inside a program helps nobody
    })
  })
  return {
    onHello(hello) {
      if (hello.hostTicket === ticket) return
      ticket = hello.hostTicket
      socket = hello.socket
      ctx.mcp.reload().catch(() => {}) // the next rebuild has it too
    },
  }
}
