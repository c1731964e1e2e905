/** What the tests of rules share: each runs on every release, with a host that must leave nothing behind. */

import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, test } from "node:test"
import { createHost, releases, switchesOf } from "../host/index.ts"
import type { Cleanup, Context, Host, HostOptions, PluginSource, Release, Switches, ToolInfo } from "../host/index.ts"

export type { Context } from "../host/index.ts"

export interface Given {
  release: Release
  switches: Switches
  /** Empty, its own, gone afterwards. */
  directory: string
  /** A host of this release; closed, and found empty, after the test. */
  host(options?: Partial<HostOptions>): Promise<Host>
  /** Writes a file under the directory and gives its path. */
  file(name: string, text: string): string
}

/** One rule of the contract as a test of the host, on every release. */
export function rule(number: number, behaviour: string, body: (given: Given) => Promise<void>): void {
  for (const release of releases) {
    test(`rule ${number}: ${behaviour} (${release})`, { timeout: 60_000 }, async () => {
      const directory = realpathSync(mkdtempSync(join(tmpdir(), "v2-rule-")))
      const hosts: Host[] = []
      const host = async (options: Partial<HostOptions> = {}) => {
        const made = await createHost({ version: release, directory, ...options })
        hosts.push(made)
        return made
      }
      const file = (name: string, text: string) => {
        const path = join(directory, name)
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, text)
        return path
      }
      try {
        await body({ release, switches: switchesOf(release), directory, host, file })
      } finally {
        for (const one of hosts) await one.close()
        rmSync(directory, { recursive: true, force: true })
      }
      for (const one of hosts) assert.deepEqual(one.open(), [])
    })
  }
}

/** A plugin that is nothing but its setup. */
export function plugin(id: string, setup: (ctx: Context) => Cleanup | void | Promise<Cleanup | void>): PluginSource {
  return { name: id, module: { default: { id, setup } } }
}

/** A direct tool that says `ok`, with whatever is different. */
export function tool(name: string, more: Partial<ToolInfo> = {}): ToolInfo {
  return {
    name,
    description: `The tool ${name}.`,
    input: { type: "object" },
    execute: async () => ({ content: "ok" }),
    ...more,
    options: { codemode: false, ...more.options },
  }
}

/** A plugin with these tools. */
export function toolbox(...tools: ToolInfo[]): PluginSource {
  return plugin("toolbox", async (ctx) => {
    await ctx.tool.transform((editor) => tools.forEach((one) => editor.add(one)))
  })
}

/** A promise to settle by hand. */
export function deferred<T = void>() {
  let resolve: (value: T) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Waits until it holds, at most 10 s. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 10_000; !holds();) {
    if (Date.now() > deadline) throw new Error(`not within 10 s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const held = new Set(["ProcessWrap", "TCPServerWrap", "TCPSocketWrap"])

// Neither a process nor a socket of any test may be left.
after(() =>
  until("no process and no socket is left", () => !process.getActiveResourcesInfo().some((one) => held.has(one))),
)
