/** Runs the text of a program: types stripped, last expression as its result, nothing of the process in reach. */

import { createContext, runInContext } from "node:vm"

/** The promise of a child call. It notes whether the program looked at it, so that lost failures can be told. */
export class ChildCall<T> implements PromiseLike<T> {
  #seen = false

  constructor(
    private readonly work: Promise<T>,
    warnings: string[],
  ) {
    work.catch((error: Error) => {
      // A program that looks later does so in a microtask of its own; a turn of the loop is late enough.
      setImmediate(() => {
        if (!this.#seen) warnings.push(`unhandled rejection: ${error.message}`)
      })
    })
  }

  then<A = T, B = never>(
    done?: ((value: T) => A | PromiseLike<A>) | null,
    failed?: ((reason: any) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#seen = true
    return this.work.then(done, failed)
  }

  catch<B = never>(failed?: ((reason: any) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, failed)
  }

  finally(done?: (() => void) | null): Promise<T> {
    this.#seen = true
    return this.work.finally(done)
  }
}

/**
 * The value of a program, as JSON.
 *
 * @throws an Error whose message starts with the kind of failure, for text that is no program; else what the program
 * throws.
 */
export async function runProgram(code: string, globals: object, warnings: string[]): Promise<unknown> {
  const script = await prepared(code)
  const logs = (...values: unknown[]) => void warnings.push(values.map(String).join(" "))
  const context = createContext(
    { ...globals, console: { log: logs, warn: logs, error: logs } },
    { codeGeneration: { strings: false, wasm: false } },
  )
  const value: unknown = await (runInContext(script, context) as () => Promise<unknown>)()
  // Lost rejections are told a turn of the loop after they happen.
  await new Promise((resolve) => setImmediate(resolve))
  const text = JSON.stringify(value)
  return text === undefined ? undefined : JSON.parse(text)
}

/** The program as the text of one async function. */
async function prepared(code: string): Promise<string> {
  // Large, and most tests run no program.
  const { default: ts } = await import("typescript")
  const source = ts.createSourceFile("program.ts", code, ts.ScriptTarget.ES2022, true, ts.ScriptKind.TS)
  const last = source.statements.at(-1)
  const body =
    last && ts.isExpressionStatement(last)
      ? `${code.slice(0, last.getStart())}return (${last.expression.getText()});`
      : code
  const { outputText, diagnostics = [] } = ts.transpileModule(`(async () => {\n${body}\n})`, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    reportDiagnostics: true,
  })
  const wrong = diagnostics[0]
  if (wrong) throw new Error(`ParseError: ${ts.flattenDiagnosticMessageText(wrong.messageText, "\n")}`)
  return outputText
}
