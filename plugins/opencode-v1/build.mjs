// Builds the files that opencode loads. They may import nothing but what Bun and
// Node have built in, so everything else is bundled.
import { readFileSync } from "node:fs"
import { build } from "esbuild"

const { name, version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"))

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

await build({
  ...options,
  entryPoints: ["src/index.ts"],
  outfile: "dist/tenon.js",
  // The first line says what the file is, wherever it is copied: `tenon opencode status` looks for it.
  // The ws package is CommonJS and requires Node's own modules; an ES module has no require.
  banner: {
    js: `// ${name} ${version}\nimport { createRequire as __createRequire } from "node:module"\nconst require = __createRequire(import.meta.url)`,
  },
  // Optional native helpers of ws, which it does without.
  external: ["bufferutil", "utf-8-validate"],
})
// opencode's TUI loads plugins of its own, from tui.json.
await build({
  ...options,
  entryPoints: ["src/tui.ts"],
  outfile: "dist/tui.js",
  banner: { js: `// ${name}/tui ${version}\n` },
})
