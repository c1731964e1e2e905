/** Failures with a kind, as the daemon speaks of them. */

import type { Error as WireError } from "@tenon/proto"

/** A failure of the closed list of kinds; `message` is safe to show to a model. */
export interface Failure extends Error {
  kind: WireError["kind"]
  hint: string
  wire?: WireError
}

/** Makes a failure. */
export function Failure(kind: Failure["kind"], message: string, hint = "", wire?: WireError): Failure {
  const error = new Error(message) as Failure
  error.name = kind
  error.kind = kind
  error.hint = hint
  if (wire) error.wire = wire
  return error
}

/** Whether something that was thrown is a Failure. */
export function isFailure(error: unknown): error is Failure {
  return error instanceof Error && typeof (error as Failure).kind === "string"
}

/** One sentence for a model or a log: the message, then what to do next. */
export function explain(error: unknown): string {
  if (!isFailure(error)) return error instanceof Error ? error.message : String(error)
  return error.hint ? `${error.message} (${error.hint})` : error.message
}
