/** The command line: a user at a terminal, with named sessions. */

import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { hostEnvironment } from "../lib/host.ts"
import { scratch, tenonBin } from "../lib/program.ts"
import { fake, makeScenery } from "../lib/scene.ts"
import { until } from "../lib/until.ts"
import type { Agent, Program, Rules, Running, Surface } from "./surface.ts"

export const cli: Surface = {
  name: "command line",
  without: { "sub-agent": "a named session has no parent" },
  start,
}

async function start(rules: Rules): Promise<Running> {
  const scenery = makeScenery((place) => ({
    servers: { srv: { command: fake(place, "srv"), scope: "session", maxInstances: 40 } },
    permissions: { rules },
  }))
  const { place } = scenery
  const files = scratch()
  let count = 0

  /** Runs `tenon exec` on a terminal of its own, with its output in a file, as a shell's `>` does. */
  const onTerminal = (session: string, code: string): Program => {
    const name = join(files, String(count++))
    writeFileSync(`${name}.ts`, code)
    const command = `${tenonBin} --session ${session} exec ${name}.ts > ${name}.out`
    const child = spawn("script", ["-qfec", command, "/dev/null"], {
      cwd: place.project,
      env: { ...hostEnvironment(place), TERM: "dumb" },
      stdio: ["pipe", "pipe", "inherit"],
    })
    let seen = ""
    child.stdout.setEncoding("utf8").on("data", (text) => (seen += text))
    const code0 = new Promise<number | null>((resolve) => child.on("close", resolve))
    let answered = 0
    return {
      text: code0.then((status) => (status === 0 ? readFileSync(`${name}.out`, "utf8").replace(/\n$/, "") : seen)),
      // Questions come one after the other: the next is shown when this one is answered.
      question: (n = answered) =>
        until(`question ${n}`, () => {
          const key = [...seen.matchAll(/wants to call (\S+)[^]*?allow\?/g)][n]?.[1]
          if (!key) return undefined
          return {
            key,
            async answer(reply, words = "") {
              answered++
              child.stdin.write(`${{ once: "yes", always: "always", reject: "no" }[reply]} ${words}\n`)
            },
          }
        }),
      async abort() {
        child.stdin.write("\x03")
      },
    }
  }

  let sessions = 0
  return {
    place,
    async agent() {
      const id = `named-${++sessions}`
      const agent: Agent = {
        id,
        begin: (code) => onTerminal(id, code),
        shell: (command) =>
          new Promise((resolve, reject) => {
            const env = { ...hostEnvironment(place), PATH: `${dirname(tenonBin)}:${process.env.PATH}` }
            const child = spawn("sh", ["-c", command.replaceAll("tenon ", `tenon --session ${id} `)], {
              cwd: place.project,
              env,
            })
            let text = ""
            child.stdout.setEncoding("utf8").on("data", (more) => (text += more))
            child.stderr.setEncoding("utf8").on("data", (more) => (text += more))
            child.on("error", reject)
            child.on("close", () => resolve(text))
          }),
      }
      return agent
    },
    tenon: scenery.tenon,
    journal: () => scenery.journal("srv"),
    daemon: scenery.daemon,
    stop: scenery.stop,
  }
}
