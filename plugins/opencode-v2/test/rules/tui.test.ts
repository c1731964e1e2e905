/** Terminals: the side of a plugin that is where the user is. Not of the numbered rules; route 9.4 E of the contract. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { createHost, releases } from "../host/index.ts"
import { plugin } from "./lib.ts"

const definition = { id: "demo.ask", methods: { ask: { input: {}, output: {} } }, events: { wanted: { schema: {} } } }

for (const version of releases) {
  test(`a TUI entry shows dialogs and toasts, hears events and talks to its server part (${version})`, async () => {
    const host = await createHost({
      version,
      directory: import.meta.dirname,
      config: { permissions: [{ action: "from_tui", resource: "*", effect: "ask" }] },
      plugins: [
        plugin("server", async (ctx) => {
          await ctx.rpc.register(definition, { ask: async (input) => `heard ${input}` })
        }),
      ],
    })
    const heard: string[] = []
    const cleaned: string[] = []
    const entry = {
      default: {
        id: "demo",
        async setup(context: any) {
          context.data.on("session.created", () => heard.push("created"))
          context.data.listen((event: { type: string }) => heard.push(event.type))
          context.ui.toast.show({ message: `hello ${context.options.name}`, variant: "info" })
          const yes = await context.ui.dialog.confirm({ title: "Sure?", message: "Really" })
          const picked = await context.ui.dialog.select({ title: "Which?", options: [{ title: "A", value: "a" }] })
          heard.push(String(yes), picked, await context.client.rpc(definition).ask("it"))
          assert.throws(() => context.invented, /the contract has no/)
          return () => void cleaned.push("cleaned")
        },
      },
    }
    try {
      const tui = await host.tui(entry, {
        options: { name: "Ada" },
        answers: (dialog) => (dialog.kind === "confirm" ? true : dialog.kind === "select" && dialog.options[0]?.value),
      })
      assert.deepEqual(heard.splice(0), ["true", "a", "heard it"])
      assert.deepEqual(tui.toasts, [{ message: "hello Ada", variant: "info" }])
      assert.deepEqual(
        tui.dialogs.map((dialog) => dialog.kind),
        ["confirm", "select"],
      )
      await host.session.create()
      tui.emit({ type: "session.idle" })
      assert.deepEqual(heard, ["created", "session.created", "session.idle"])
      await tui.close()
      await host.session.create()
      assert.equal(heard.length, 3)
      assert.deepEqual(cleaned, ["cleaned"])
    } finally {
      await host.close()
    }
    assert.deepEqual(host.open(), [])
  })
}
