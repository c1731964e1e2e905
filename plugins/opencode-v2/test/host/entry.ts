/** Where the entry of a plugin is: a file, a directory or a package, as the host looks for it. */

import { existsSync, readFileSync, realpathSync, statSync } from "node:fs"
import { join, relative, resolve, sep } from "node:path"

export type EntryKind = "server" | "tui" | "rpc"

const extensions = [".ts", ".js", ".mjs", ".mts", ".tsx"]

/**
 * The entry file of a directory: `<dir>/server`, then for a server `<dir>/index`.
 *
 * @throws when the entry is outside of the directory.
 */
export function entryOfDirectory(directory: string, kind: EntryKind): string | undefined {
  const real = realpathSync(directory)
  const names = kind === "server" ? ["server", "index"] : [kind]
  for (const name of names) {
    const found = fileOf(join(real, name))
    if (found) return inside(real, found)
  }
  return undefined
}

/** The entry file of a named package: `name/server`, then, where the host still does that, `name`. */
export function entryOfPackage(directory: string, kind: EntryKind, rootFallback: boolean): string | undefined {
  const real = realpathSync(directory)
  const manifest = JSON.parse(readFileSync(join(real, "package.json"), "utf8"))
  const subpath = exported(manifest.exports, `./${kind}`) ?? (manifest.exports ? undefined : `./${kind}`)
  const found = subpath && fileOf(resolve(real, subpath))
  if (found) return inside(real, found)
  if (kind !== "server" || !rootFallback) return undefined
  const root = fileOf(resolve(real, exported(manifest.exports, ".") ?? manifest.main ?? "index"))
  return root && inside(real, root)
}

function exported(exports: unknown, subpath: string): string | undefined {
  if (typeof exports === "string") return subpath === "." ? exports : undefined
  if (typeof exports !== "object" || exports === null) return undefined
  return target((exports as Record<string, unknown>)[subpath])
}

/** The first condition that holds. */
function target(value: unknown): string | undefined {
  if (typeof value === "string") return value
  if (typeof value !== "object" || value === null) return undefined
  for (const [condition, inner] of Object.entries(value)) {
    if (["bun", "node", "import", "default"].includes(condition)) return target(inner)
  }
  return undefined
}

function fileOf(path: string): string | undefined {
  const candidates = [path, ...extensions.map((extension) => path + extension)]
  candidates.push(...extensions.map((extension) => join(path, `index${extension}`)))
  return candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile())
}

function inside(directory: string, file: string): string {
  if (relative(directory, realpathSync(file)).split(sep)[0] === "..") {
    throw new Error(`plugin entry ${file} is outside of ${directory}`)
  }
  return file
}
