/** The double over stdio. Everything it hears is appended to the file named by MCP_LOG, one message a line. */

import { appendFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { session } from "./answers.mjs"

const hear = session((message) => process.stdout.write(`${JSON.stringify(message)}\n`))
const lines = createInterface({ input: process.stdin })
lines.on("line", (line) => {
  if (process.env.MCP_LOG) appendFileSync(process.env.MCP_LOG, `${line}\n`)
  void hear(JSON.parse(line))
})
lines.on("close", () => process.exit(0))
