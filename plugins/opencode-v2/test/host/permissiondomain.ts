/** `ctx.permission`: pending requests, answers, the hook. There is no way to ask. */

import { endpoint, type Fields } from "./api.ts"
import type { Core } from "./core.ts"
import type { PermissionDomain } from "./contract.ts"

const decisions = ["once", "always", "reject"]

export function permissionDomain(
  core: Core,
  hook: unknown,
  domain: <T extends object>(name: string, members: T, known?: string[]) => T,
): PermissionDomain {
  const { permissions, sessions, switches } = core
  const replyFields: Fields = {
    sessionID: "string!",
    requestID: "string!",
    [switches.replyKey]: "string!",
    message: "string",
  }
  const members = {
    list: endpoint("permission.list", { sessionID: "string!" }, ({ sessionID }) => ({
      data: permissions.pending(sessionID),
    })),
    get: endpoint("permission.get", { sessionID: "string!", requestID: "string!" }, ({ sessionID, requestID }) => ({
      data: permissions.get(sessionID, requestID),
    })),
    reply: endpoint("permission.reply", replyFields, (input) => {
      const decision = input[switches.replyKey]
      if (!decisions.includes(decision)) throw new Error(`permission.reply: ${switches.replyKey} is invalid`)
      permissions.reply(input.sessionID, input.requestID, decision, input.message)
    }),
    hook,
    ...(switches.permissionRules && {
      rules: endpoint("permission.rules", { sessionID: "string!", permissions: "array!" }, (input) =>
        sessions.update(input.sessionID, { permissions: input.permissions }),
      ),
    }),
  }
  return domain("permission", members as unknown as PermissionDomain, ["rules"])
}
