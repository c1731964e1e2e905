/**
 * What the opencode plugins share: the client of tenon's bridge, which finds or
 * starts the daemon, speaks JSON-RPC with it over its unix socket and comes back
 * by itself when the daemon was replaced; the table of sessions; and what
 * tenon's tools say and do.
 */

export { aborted, unlessAborted } from "./abort.ts"
export { argumentsOf, readArguments, schemaOf, type Arguments } from "./arguments.ts"
export { connect, type Bridge, type BridgeOptions } from "./bridge.ts"
export { contentOf, fieldsOf, valuesOf } from "./form.ts"
export { hostEnvironment, wantedEnvironment } from "./environment.ts"
export { Failure, isFailure, explain } from "./failure.ts"
export { about, instructionsFor, type Instructions } from "./instructions.ts"
export { abortGrace, hookWait, maxDepth, maxSessions, text, toolWait } from "./limits.ts"
export { askLine, type Line, type LineAnswer, type Waiting } from "./line.ts"
export { plain, plainJSON } from "./plain.ts"
export { readOptions, type Options, type OptionTypes } from "./options.ts"
export type { Handlers, RequestOptions } from "./rpc.ts"
export { sessionTable, type Attached, type SessionFacts, type Sessions, type SessionSource } from "./sessions.ts"
export { directoryIdentity, identityOf, maskInherited, sessionIdentity, shellAids, type Identity } from "./shell.ts"
export { dataURL, isDenial, sentence, tools, type ToolCall, type ToolID, type ToolOutput } from "./tools.ts"
export { matches } from "./wildcard.ts"
export { within } from "./within.ts"
export type { Field } from "./dialogs.ts"
