/** The entry in the TUI, beside the plugin in the same process. */

import assert from "node:assert/strict"
import { afterEach, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { startDouble } from "../../bridge/test/double.ts"
import tenon from "../src/index.ts"
import entry, { type TuiApi } from "../src/tui.ts"
import { fakeHost } from "./fakehost.ts"

Object.assign(globalThis, { __VERSION__: "0.0.0-test" })

const cleanups: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function until(what: string, condition: () => unknown) {
  for (const deadline = Date.now() + 20_000; !condition(); await pause(2)) {
    assert.ok(Date.now() < deadline, `never: ${what}`)
  }
}

/** A TUI that keeps the dialog that is open, as the real one does: one at a time, replaced or cleared. */
function fakeTui() {
  const toasts: string[] = []
  const shown: any[] = []
  let close: (() => void) | undefined
  const api: TuiApi = {
    ui: {
      toast: ({ message }) => void toasts.push(message),
      dialog: {
        replace(render, onClose) {
          close?.()
          close = onClose
          render()
        },
        clear() {
          const closing = close
          close = undefined
          closing?.()
        },
      },
      DialogSelect: (options) => shown.push({ kind: "select", ...options }),
      DialogConfirm: (options) => shown.push({ kind: "confirm", ...options }),
      DialogPrompt: (options) => shown.push({ kind: "prompt", ...options }),
    },
    lifecycle: { onDispose: (callback) => void cleanups.push(callback) },
  }
  return { api, toasts, shown, isOpen: () => close !== undefined }
}

async function bench() {
  const daemon = await startDouble()
  cleanups.push(() => daemon.remove())
  const hooks = await tenon({ client: fakeHost().client, directory: "/project", worktree: "/" }, { bin: daemon.bin })
  cleanups.push(() => hooks.dispose!())
  await until("the plugin is connected", () => daemon.sent("bridge/hello").length === 1)
  const ask = (id: string) =>
    daemon.peers[0]!.request("permission/ask", {
      id,
      origin: { session: "ses_1" },
      key: "srv_write",
      server: "srv",
      tool: "write",
      arguments: { path: "/a" },
    })
  return { daemon, ask }
}

test("what a script must ask is a dialog in the TUI", async () => {
  const { daemon, ask } = await bench()
  const { api, toasts, shown, isOpen } = fakeTui()
  await entry.tui(api)
  for (const answer of ["once", "always", "reject"]) {
    const reply = ask(`ask_${answer}`)
    await until("it is shown", () => shown.length === 1)
    const dialog = shown.shift()
    assert.match(dialog.title, /^Call tool srv_write \{.*"path":"\/a"/)
    dialog.onSelect(dialog.options.find(({ value }: { value: string }) => value === answer))
    assert.deepEqual(await reply, { reply: answer })
    await until("it is closed", () => !isOpen())
  }
  assert.equal(daemon.sent("permission/shown").length, 3)
  assert.equal(toasts[0], "tenon: Call tool srv_write")
})

test("what is taken back is closed and not answered; what is put away is a no", async () => {
  const { daemon, ask } = await bench()
  const { api, shown, isOpen } = fakeTui()
  await entry.tui(api)
  const first = ask("ask_1")
  await until("it is shown", () => shown.length === 1)
  await daemon.peers[0]!.request("permission/withdraw", { id: "ask_1", reason: "timeout" })
  assert.deepEqual(await first, { reply: "unavailable" })
  await until("it is closed", () => !isOpen())
  const second = ask("ask_2")
  await until("the next is shown", () => shown.length === 2)
  api.ui.dialog.clear() // Esc
  assert.deepEqual(await second, { reply: "reject" })
})

test("a server's form is filled in by dialogs, one a field", async () => {
  const { daemon } = await bench()
  const { api, shown } = fakeTui()
  await entry.tui(api)
  const put = (id: string, params: unknown) =>
    daemon.peers[0]!.request("elicitation/ask", {
      id,
      origin: { session: "ses_1" },
      server: "booking",
      tool: "reserve",
      kind: "elicitation",
      params,
    })
  const form = {
    message: "For whom?",
    requestedSchema: {
      type: "object",
      properties: { name: { type: "string" }, age: { type: "integer" }, sure: { type: "boolean" } },
      required: ["name", "age", "sure"],
    },
  }
  const answer = put("ask_1", form)
  await until("the first field", () => shown.length === 1)
  assert.match(shown[0].title, /booking asks.*For whom\?.*name/)
  shown[0].onConfirm("Ann")
  await until("the second", () => shown.length === 2)
  shown[1].onConfirm("30")
  await until("the third", () => shown.length === 3)
  shown[2].onSelect(shown[2].options[0])
  assert.deepEqual(await answer, { result: { action: "accept", content: { name: "Ann", age: 30, sure: true } } })
  assert.equal(daemon.sent("permission/shown").length, 1)

  const page = put("ask_2", { mode: "url", message: "Sign in", url: "https://example.com/x", elicitationId: "e" })
  await until("the page", () => shown.length === 4)
  assert.match(shown[3].message, /https:\/\/example\.com\/x/)
  shown[3].onConfirm()
  assert.deepEqual(await page, { result: { action: "accept" } })

  const dismissed = put("ask_3", form)
  await until("the form again", () => shown.length === 5)
  api.ui.dialog.clear() // Esc
  assert.deepEqual(await dismissed, { result: { action: "cancel" } })
})

test("without the entry nobody is kept waiting", async () => {
  const { ask } = await bench()
  const since = Date.now()
  assert.deepEqual(await ask("ask_1"), { reply: "unavailable" })
  assert.ok(Date.now() - since < 2_000)
})
