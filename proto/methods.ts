/**
 * Which message type each method of the bridge takes and gives, read from
 * x-methods of schema/bridge.json.
 */

import bridge from "./schema/bridge.json" with { type: "json" }

const methods = bridge["x-methods"] as { name: string; params: string; result?: string }[]

/** The type of a method's parameters; undefined for a method that is not known. */
export function paramsType(method: string): string | undefined {
  return typeOf(methods.find((m) => m.name === method)?.params)
}

/** The type of a method's result; undefined for notifications and unknown methods. */
export function resultType(method: string): string | undefined {
  return typeOf(methods.find((m) => m.name === method)?.result)
}

function typeOf(ref: string | undefined): string | undefined {
  return ref?.split("#/$defs/")[1]
}
