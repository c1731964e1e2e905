/** The whole product in one place: opencode with the plugin, the daemon it starts, servers, a scripted model. */

import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { hostEnvironment, startHost, type Host } from "./host.ts"
import { clear } from "./leftovers.ts"
import { startModel, type Model } from "./model.ts"
import { makePlace, pluginFile, tenonBin, type Place } from "./program.ts"
import { patience } from "./until.ts"

/** What a scene is made of. */
export interface SceneOptions {
  /** tenon's servers; `fake(...)` and `npmServer(...)` give commands. */
  servers?: Record<string, Record<string, unknown>>
  /** tenon's own permission settings. */
  permissions?: Record<string, unknown>
  /** opencode's config: permission, agent, … */
  opencode?: Record<string, unknown>
  /** More plugins, loaded before tenon's. */
  plugins?: string[]
  /** Options of tenon's plugin. */
  options?: Record<string, unknown>
}

/** A daemon's place with its config, before any host is in it. */
export interface Scenery {
  place: Place
  /** Runs `tenon …` as the user at a terminal. */
  tenon(...args: string[]): Promise<{ stdout: string; stderr: string; code: number }>
  /** The messages that a fake server with `--journal` in this scene has received. */
  journal(name: string): { method?: string; params?: any }[]
  /** The daemon's process id, as its own file says. */
  daemon(): number
  stop(): Promise<void>
}

/** A scene that plays. */
export interface Scene extends Scenery {
  model: Model
  host: Host
}

/** The command of a fake server whose journal is the scene's file of that name. */
export function fake(place: Place, name: string, ...flags: string[]): string[] {
  return [tenonBin, "fake-server", "--journal", journalFile(place, name), ...flags]
}

function journalFile(place: Place, name: string): string {
  return join(dirname(place.home), `${name}.journal`)
}

/** Builds a place with tenon's config and no host; `make` gets the place, for commands that name files in it. */
export function makeScenery(make: (place: Place) => SceneOptions): Scenery {
  const place = makePlace()
  writeConfig(place, make(place))
  return {
    place,
    tenon: (...args) => runTenon(place, args),
    journal: (name) => readJournal(journalFile(place, name)),
    daemon: () => JSON.parse(readFileSync(join(place.runtime, "daemon.json"), "utf8")).pid,
    stop: () => leave(place),
  }
}

/** Builds a scene with opencode in it. */
export async function startScene(make: (place: Place) => SceneOptions): Promise<Scene> {
  let options: SceneOptions = {}
  const scenery = makeScenery((place) => (options = make(place)))
  const model = await startModel()
  const host = await startHost(scenery.place, model, hostConfig(options)).catch(async (error) => {
    await model.stop() // else it keeps the test's process alive
    await scenery.stop()
    throw error
  })
  return {
    ...scenery,
    model,
    host,
    async stop() {
      try {
        await host.stop()
      } finally {
        await model.stop()
        await scenery.stop()
      }
    },
  }
}

/** Writes tenon's config of the user. */
export function writeConfig(place: Place, { servers = {}, permissions }: SceneOptions) {
  const file = join(place.home, ".config/tenon/config.jsonc")
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify({ servers, permissions }, null, 2))
}

/** opencode's config with the plugin in it. */
export function hostConfig(options: SceneOptions): Record<string, unknown> {
  const plugin = [...(options.plugins ?? []), [pluginFile, { bin: tenonBin, ...options.options }]]
  return { ...options.opencode, plugin }
}

/** Ends what lives in a place, and removes it. */
export function leave(place: Place): Promise<void> {
  return clear(dirname(place.home), () => runTenon(place, ["daemon", "stop", "--force"]))
}

/** Runs the program to its end; one that hangs is killed. */
export function runTenon(place: Place, args: string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const how = { cwd: place.project, env: hostEnvironment(place), timeout: 5 * patience, killSignal: "SIGKILL" as const }
  return new Promise((resolve) => {
    execFile(tenonBin, args, how, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error ? Number((error as { code?: unknown }).code ?? 1) : 0 })
    })
  })
}

function readJournal(file: string): { method?: string; params?: any }[] {
  if (!existsSync(file)) return []
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const entry = JSON.parse(line)
      return entry.message ?? entry
    })
}
