/** Finds the programs under test, and places for them to live in. */

import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { clearAtExit } from "./leftovers.ts"

/** The top of the repository. */
export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
const packages = join(root, "test/node_modules")
const hosts = join(root, "test/hosts/node_modules")

/** The built program. */
export const tenonBin = join(root, "bin/tenon")
/** The built plugin. */
export const pluginFile = join(root, "plugins/opencode-v1/dist/tenon.js")
/** The built plugin for v2, as a directory that can be configured. */
export const v2PluginDir = join(root, "plugins/opencode-v2/dist")

/**
 * A binary that npm packages ship for each kind of machine. The launcher in front
 * of them needs an install script, which npm may be told not to run.
 */
function platformBinary(parent: string, prefix: string, file: string): string {
  for (const name of readdirSync(parent)
    .filter((each) => each.startsWith(prefix))
    .sort()) {
    const path = join(parent, name, "bin", file)
    if (existsSync(path) && runs(path)) return path
  }
  throw new Error(`no ${file} for this machine in ${parent}: run make test once, which installs it`)
}

function runs(path: string): boolean {
  try {
    execFileSync(path, ["--version"], { stdio: "ignore", timeout: 60_000 })
    return true
  } catch {
    return false
  }
}

/** TENON_TEST_OPENCODE is a path of another opencode, or "newest" for the newest release of the same line. */
const chosen = process.env.TENON_TEST_OPENCODE
const line = chosen === "newest" ? join(hosts, "opencode-newest/node_modules") : hosts
let opencode = chosen === "newest" ? undefined : chosen
/** The opencode under test. */
export const opencodeBin = () => (opencode ??= platformBinary(line, "opencode-", "opencode"))
let bun: string | undefined
/** The pinned Bun, of the version that opencode carries. */
export const bunBin = () => (bun ??= platformBinary(join(packages, "@oven"), "bun-", "bun"))

/** The command of a pinned MCP server of npm. */
export function npmServer(name: string, ...args: string[]): string[] {
  return [process.execPath, join(packages, "@modelcontextprotocol", `server-${name}`, "dist/index.js"), ...args]
}

/** A private HOME, a project and a runtime directory; all below one short path. */
export interface Place {
  home: string
  project: string
  runtime: string
  state: string
}

/** How the directories of this run begin; set for all files of a run by all.ts, which looks at what is left of them. */
export const runPrefix = process.env.TENON_TEST_RUN ?? `te-${process.pid.toString(36)}-`

/** A directory that is gone when this process is, with what lives in it. */
export function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), runPrefix))
  if (scratches.push(dir) === 1) {
    process.on("exit", () => scratches.forEach((each) => clearAtExit(each, tenonBin)))
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))
  }
  return dir
}

const scratches: string[] = []

/** Makes a place. opencode would install packages into its config folder; the lock file says that it has. */
export function makePlace(): Place {
  const top = scratch()
  const place = { home: join(top, "h"), project: join(top, "p"), runtime: join(top, "r"), state: join(top, "s") }
  for (const dir of Object.values(place)) mkdirSync(dir, { mode: 0o700 })
  preseed(join(place.home, ".config/opencode"))
  return place
}

/** Makes a configuration folder of opencode that needs no npm install. */
export function preseed(dir: string) {
  mkdirSync(join(dir, "node_modules"), { recursive: true })
  const lock = { name: "x", lockfileVersion: 3, packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } }
  writeFileSync(join(dir, "package-lock.json"), JSON.stringify(lock))
}

/** A port that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
