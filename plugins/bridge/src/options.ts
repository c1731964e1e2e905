/** The plugins' options, the second element of their entry in opencode's config. */

/** Options as understood, those that both plugins have. */
export interface Options {
  /** The tenon program: a path, or a name in PATH. Default "tenon". */
  bin: string
  /** A config file for tenon, instead of the user's. Default: TENON_CONFIG of opencode's environment. */
  config?: string
  /** Whether somebody sees questions. Default: yes, except under `opencode run`. */
  interactive: boolean
}

/** What an option may be. */
export type OptionTypes = Record<string, "string" | "boolean">

const common: OptionTypes = { bin: "string", config: "string", interactive: "boolean" }

/**
 * Reads the options; `more` names those that only one plugin has, which are
 * checked and left in `given`.
 *
 * @throws Error naming the option that is wrong
 */
export function readOptions(
  given: Record<string, unknown> | undefined,
  argv: string[],
  env: NodeJS.ProcessEnv,
  more: OptionTypes = {},
): Options {
  const options = given ?? {}
  const types = { ...common, ...more }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(types, name)) {
      const known = Object.keys(types).join(", ")
      throw new Error(`opencode-tenon: there is no option "${name}"; known: ${known}`)
    }
    if (typeof value !== types[name]) throw new Error(`opencode-tenon: option "${name}" must be a ${types[name]}`)
  }
  return {
    bin: (options.bin as string | undefined) ?? "tenon",
    config: (options.config as string | undefined) ?? (env.TENON_CONFIG || undefined),
    // `opencode run` rejects every request at once: nobody would see it.
    interactive: (options.interactive as boolean | undefined) ?? !argv.slice(2).includes("run"),
  }
}
