/** opencode v1, the real program, with a scripted model. */

import { fake, startScene } from "../lib/scene.ts"
import { script } from "../lib/model.ts"
import { until } from "../lib/until.ts"
import type { Agent, Program, Running, Rules, Surface } from "./surface.ts"

export const v1: Surface = { name: "opencode v1", without: {}, start }

async function start(rules: Rules): Promise<Running> {
  const scene = await startScene((place) => ({
    servers: { srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 } },
    opencode: { permission: rules },
  }))
  const { host, model } = scene
  const exec = (code: string) => ({ tool: "tenon_exec", args: { code } })

  /** A turn of a session that makes one tool call. */
  const turn = (session: string, call: { tool: string; args: unknown }): Program => {
    const asked = host.events.filter((event) => event.type === "permission.asked").length
    const over = host.turn(session, [[call], "done"])
    return {
      text: over.then(async () => {
        const part = (await host.parts(session)).at(-1)
        return part?.state.output ?? part?.state.error ?? ""
      }),
      question: (n = 0) =>
        until(`question ${n} of ${session}`, () => {
          const mine = host.events
            .filter((event) => event.type === "permission.asked")
            .slice(asked)
            .filter((event) => event.properties.sessionID === session)[n]
          if (!mine) return undefined
          const request = mine.properties as Parameters<typeof host.reply>[0]
          return { key: request.permission, answer: (reply, words) => host.reply(request, reply, words) }
        }),
      abort: () => host.abort(session),
    }
  }

  const main = (id: string): Agent => ({
    id,
    begin: (code) => turn(id, exec(code)),
    shell: (command) => turn(id, { tool: "bash", args: { command, description: "run" } }).text,
  })

  /** A sub-agent exists for one prompt only: each of its programs is a task of its parent's that goes on with it. */
  const child = async (parent: Agent): Promise<Agent> => {
    const task = async (call: { tool: string; args: unknown }) => {
      const args = { description: "help", prompt: script([call], "helped"), subagent_type: "general" }
      await turn(parent.id, { tool: "task", args: { ...args, ...(agent.id ? { task_id: agent.id } : {}) } }).text
      const children = (await host.call("GET", `/session/${parent.id}/children`)) as { id: string }[]
      agent.id ||= children.at(-1)!.id
      return model.seen(agent.id).at(-1) ?? ""
    }
    const agent: Agent = {
      id: "",
      begin: (code) => ({
        text: task(exec(code)),
        question: () => Promise.reject(new Error("not of a sub-agent")),
        abort: () => host.abort(parent.id),
      }),
      shell: (command) => task({ tool: "bash", args: { command, description: "run" } }),
    }
    return agent
  }

  return {
    place: scene.place,
    agent: async (parent) => (parent ? child(parent) : main(await host.session())),
    tenon: scene.tenon,
    journal: () => scene.journal("srv"),
    daemon: scene.daemon,
    stop: scene.stop,
  }
}
