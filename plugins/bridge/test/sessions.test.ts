/** What the daemon is told of a host's sessions. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sessionTable, type Bridge } from "../src/index.ts"

/** A table over these sessions, and what it has sent. */
function table(parents: Record<string, string | undefined>) {
  const sent: { session: string; parent?: string }[] = []
  const bridge = {
    current: () => undefined,
    async request(_method: string, params: { session: string; parent?: string }) {
      sent.push(params)
      return { session: params.session, root: params.session, ticket: "t", socket: "s" }
    },
  } as unknown as Bridge
  const source = {
    session: async (id: string) => ({ id, directory: "/p", ...(parents[id] ? { parentID: parents[id] } : {}) }),
    agentRules: async () => [],
  }
  return { sessions: sessionTable(source, () => bridge, {}), sent }
}

test("a parent is told of before its child", async () => {
  const { sessions, sent } = table({ child: "root" })
  await sessions.attach("child")
  assert.deepEqual(
    sent.map(({ session, parent }) => [session, parent]),
    [
      ["root", undefined],
      ["child", "root"],
    ],
  )
})

test("sessions that a host tells to be above each other are attached, each by itself", async () => {
  const { sessions, sent } = table({ a: "b", b: "a", own: "own", below: "a" })
  await Promise.all(["a", "b", "own", "below"].map((id) => sessions.attach(id)))
  const parents = Object.fromEntries(sent.map(({ session, parent }) => [session, parent]))
  assert.deepEqual(parents, { a: undefined, b: undefined, own: undefined, below: "a" })
  assert.equal((await sessions.resolve("below")).known, true)
})
