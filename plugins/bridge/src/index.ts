/**
 * The client of tenon's bridge that the opencode plugins share. It finds or
 * starts the daemon, speaks JSON-RPC with it over its unix socket, and comes
 * back by itself when the daemon was replaced.
 */

export { connect, type Bridge, type BridgeOptions } from "./bridge.ts"
export { hostEnvironment, wantedEnvironment } from "./environment.ts"
export { Failure, isFailure, explain } from "./failure.ts"
export type { Handlers, RequestOptions } from "./rpc.ts"
export { within } from "./within.ts"
