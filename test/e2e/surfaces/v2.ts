/** opencode v2: tenon's plugin on a host that holds it to the contract of the given release. */

import assert from "node:assert/strict"
import { fork, type ChildProcess } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { hostEnvironment } from "../lib/host.ts"
import { tenonBin } from "../lib/program.ts"
import { fake, makeScenery } from "../lib/scene.ts"
import { until } from "../lib/until.ts"
import type { Agent, Program, Rules, Running, Surface } from "./surface.ts"
import type { Commands } from "./v2host.ts"

/** A release of the contract's drift table. */
export function v2(version: string): Surface {
  return { name: `opencode v2 (${version})`, without: {}, start: (rules) => start(rules, version) }
}

async function start(rules: Rules, version: string): Promise<Running> {
  const scenery = makeScenery((place) => ({
    servers: { srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 } },
  }))
  const { place } = scenery
  const child = fork(join(dirname(fileURLToPath(import.meta.url)), "v2host.ts"), {
    cwd: place.project,
    env: { ...hostEnvironment(place), PATH: `${dirname(tenonBin)}:${process.env.PATH}` },
    execArgv: ["--import", import.meta.resolve("tsx")],
  })
  const host = commandsOf(child)
  await host.start({ directory: place.project, bin: tenonBin, rules, version })

  const call = (session: string, tool: string, input: unknown): Program => {
    const before = host.asked(session)
    return {
      text: before.then(() => host.call(session, tool, input)),
      question: (n = 0) =>
        until(`question ${n} of ${session}`, async () => {
          const request = (await host.asked(session))[(await before).length + n]
          if (!request) return undefined
          return { key: request.action, answer: (reply, words) => host.reply(request.id, reply, words) }
        }),
      abort: () => host.interrupt(session),
    }
  }
  const agent = async (parent?: Agent): Promise<Agent> => {
    const id = await host.session(parent?.id)
    return {
      id,
      begin: (code) => call(id, "tenon_exec", { code }),
      shell: (command) => call(id, "shell", { command }).text,
    }
  }
  return {
    place,
    agent,
    tenon: scenery.tenon,
    journal: () => scenery.journal("srv"),
    daemon: scenery.daemon,
    async stop() {
      const open = await host.stop()
      child.disconnect()
      await scenery.stop()
      assert.deepEqual(open, [], "the host was left with something open")
    },
  }
}

/** The commands of the host's process, as functions. */
function commandsOf(child: ChildProcess): Commands {
  let count = 0
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  child.on("message", (message: { id: number; value?: unknown; error?: string }) => {
    const one = waiting.get(message.id)
    waiting.delete(message.id)
    if (message.error === undefined) one?.resolve(message.value)
    else one?.reject(new Error(message.error))
  })
  child.on("exit", (code) => {
    for (const one of waiting.values()) one.reject(new Error(`the host ended with ${code}`))
    waiting.clear()
  })
  return new Proxy({} as Commands, {
    get:
      (_, method: string) =>
      (...args: unknown[]) =>
        new Promise((resolve, reject) => {
          const id = count++
          waiting.set(id, { resolve, reject })
          child.send({ id, method, args })
        }),
  })
}
