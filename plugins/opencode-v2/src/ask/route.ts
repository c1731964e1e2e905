/**
 * The ways to the user. A plugin of v2 cannot ask by itself; each route reaches
 * the user in another way and knows when it cannot.
 */

import type { Field } from "@tenon/bridge"
import type { Call } from "../calls.ts"

export type { Field }

/** Something that the user must allow. */
export interface Prompt {
  /** The daemon's id of the question. */
  id: string
  session: string
  agent?: string
  /** The tool call that it belongs to, while that runs; a script from bash has none. */
  call?: Call
  /** The permission that is asked for, exact. */
  key: string
  /** What the host's rules are matched against; absent: "*". */
  resource?: string
  /** One line for the user. */
  title: string
  /** What the call is about: server, tool, shortened arguments. */
  details: Record<string, unknown>
  /** Whether "always" may be offered. */
  always: boolean
}

/** What came of it. */
export interface Decision {
  reply: "once" | "always" | "reject"
  feedback?: string
  /** A rule of the host says no; nobody was asked. */
  denied?: true
}

/** A form that the user fills in. */
export interface Form {
  id: string
  session: string
  call?: Call
  title: string
  message: string
  /** An address to open, instead of fields. */
  url?: string
  fields: Field[]
}

/** What came of a form; values are as the user gave them, by field. */
export type Filled = { action: "accept"; values: Record<string, string | string[]> } | { action: "decline" | "cancel" }

/** One way to the user. */
export interface Route {
  /** For logs and docs. */
  readonly name: string
  /**
   * Asks. Undefined when this route reaches nobody; then nothing of it is left
   * before the user. `signal` withdraws it; `shown` says that the user sees it.
   */
  ask(prompt: Prompt, signal: AbortSignal, shown: () => void): Promise<Decision | undefined>
  /** Shows a form, if this route can. */
  fill?(form: Form, signal: AbortSignal, shown: () => void): Promise<Filled | undefined>
}
