// Compiles each .ts file of a directory by itself, strictly, and prints what the
// TypeScript compiler finds, one mistake a line. Files of a name that begins with
// "checker" have globals.ts beside them. Arguments: the compiler's module, the
// directory.
import { readdirSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

const ts = createRequire(import.meta.url)(process.argv[2])
const dir = process.argv[3]
const options = { noEmit: true, strict: true, skipLibCheck: true, target: ts.ScriptTarget.ESNext, lib: ["lib.esnext.d.ts"], types: [] }
const host = ts.createCompilerHost(options)
const read = host.getSourceFile
const known = new Map()
host.getSourceFile = (name, ...rest) => {
  if (!known.has(name)) known.set(name, read(name, ...rest))
  return known.get(name)
}
for (const name of readdirSync(dir).filter((name) => name.endsWith(".ts"))) {
  const beside = name.startsWith("checker") ? [join(dir, "globals.ts")] : []
  const program = ts.createProgram([join(dir, name), ...beside], options, host)
  for (const d of ts.getPreEmitDiagnostics(program)) {
    const at = d.file ? d.file.getLineAndCharacterOfPosition(d.start) : { line: 0 }
    const line = d.file ? d.file.text.split("\n")[at.line].trim().slice(0, 200) : ""
    console.log(`${d.file?.fileName.split("/").pop()}:${at.line + 1}: TS${d.code} ${ts.flattenDiagnosticMessageText(d.messageText, " ")} | ${line}`)
  }
}
