/**
 * The messages that cross a process boundary, for TypeScript: types, and the
 * guard `decode` that holds a message against its schema.
 */

export type * from "./bridge.ts"
export type * from "./material.ts"
export type * from "./history.ts"
export type * from "./auth.ts"
export type * from "./preset.ts"
export type * from "./script.ts"
export type * from "./program.ts"
export type * from "./rest.ts"
export type * from "./result.ts"
export type * from "./rpc.ts"
export type { Build } from "./version.ts"
export { protocol } from "./version.ts"
export { decode, check, FieldError } from "./decode.ts"
export { paramsType, resultType } from "./methods.ts"
