// Builds the files that opencode loads, each with only a default export. They may
// import nothing but what Bun and Node have built in, so everything else is
// bundled. dist is itself a plugin directory: the host looks for server, tui and
// rpc beside its package.json.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { build } from "esbuild"

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"))
const { name, version, description, license, type, engines } = read("package.json")

const options = {
  absWorkingDir: import.meta.dirname,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  define: { __VERSION__: JSON.stringify(version) },
  legalComments: "inline",
  logLevel: "warning",
}

// The first line says what a file is, wherever it is copied: `tenon opencode status` looks for it.
const title = (part) => `// ${name}/${part} ${version}\n`
for (const [part, entry] of Object.entries({ server: "src/index.ts", dual: "src/dual.ts" })) {
  await build({
    ...options,
    entryPoints: { [part]: entry },
    outdir: "dist",
    // The ws package is CommonJS and requires Node's own modules; an ES module has no require.
    banner: {
      js: `${title(part)}import { createRequire as __createRequire } from "node:module"\nconst require = __createRequire(import.meta.url)`,
    },
    // Optional native helpers of ws, which it does without.
    external: ["bufferutil", "utf-8-validate"],
  })
}
for (const part of ["tui", "rpc"]) {
  await build({ ...options, entryPoints: { [part]: `src/${part}.ts` }, outdir: "dist", banner: { js: title(part) } })
}

const exports = { ".": "./server.js", "./server": "./server.js", "./tui": "./tui.js", "./rpc": "./rpc.js" }
mkdirSync(new URL("dist", import.meta.url), { recursive: true })
writeFileSync(
  new URL("dist/package.json", import.meta.url),
  `${JSON.stringify({ name, version, description, license, type, engines, exports }, null, 2)}\n`,
)
