/**
 * Runs test files one after the other, and then looks at what they have left: a
 * process or a directory of this run is a failure, whatever the tests said.
 */

import { spawn } from "node:child_process"
import { readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { leaving, processesBelow, toldOf } from "./leftovers.ts"
import { runPrefix } from "./program.ts"
import { until } from "./until.ts"

const prefix = join(tmpdir(), runPrefix)
const child = spawn("tsx", ["--test", "--test-concurrency=1", ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...process.env, TENON_TEST_RUN: runPrefix },
})
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal))
const code = await new Promise<number>((resolve, reject) => {
  child.on("error", reject)
  child.on("close", (status) => resolve(status ?? 1))
})
process.exitCode = code

await until("all processes are gone", () => processesBelow(prefix).length === 0, leaving).catch(() => {
  process.exitCode = 1
  console.error(`${leaving / 1_000} s after the tests these live on:\n${toldOf(processesBelow(prefix))}`)
})
const left = readdirSync(tmpdir()).filter((name) => name.startsWith(runPrefix))
if (left.length > 0) {
  process.exitCode = 1
  console.error(`the tests left directories in ${tmpdir()}: ${left.join(", ")}`)
  for (const name of left) rmSync(join(tmpdir(), name), { recursive: true, force: true })
}
