/** Permission rules: which of them holds, and what they hide. */

import type { PermissionEffect, PermissionRule } from "./contract.ts"
import type { AgentConfig, HostConfig } from "./types.ts"
import type { Switches } from "./switches.ts"

/** Rules of a built-in agent, below everything that is configured. */
const defaults: readonly PermissionRule[] = [
  { action: "*", resource: "*", effect: "allow" },
  { action: "external_directory", resource: "*", effect: "ask" },
  { action: "read", resource: "*.env", effect: "ask" },
  { action: "read", resource: "*.env.*", effect: "ask" },
]

/** The default agent. */
export const defaultAgent = "build"

/** `*` stands for any characters, `/` included. */
export function matches(pattern: string, text: string): boolean {
  const source = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
  return new RegExp(`^${source.join("[^]*")}$`).test(text)
}

/** The last rule that matches wins; without one, the user is asked. */
export function effectOf(rules: readonly PermissionRule[], action: string, resource: string): PermissionEffect {
  return rules.findLast((rule) => matches(rule.action, action) && matches(rule.resource, resource))?.effect ?? "ask"
}

/** Of several resources the strictest: one denied denies all, one asked asks. */
export function effectOfAll(rules: readonly PermissionRule[], action: string, resources: readonly string[]) {
  const effects = resources.map((resource) => effectOf(rules, action, resource))
  return effects.find((effect) => effect === "deny") ?? effects.find((effect) => effect === "ask") ?? "allow"
}

/** The rules of an agent; one that nobody has configured may do nothing. */
export function agentRules(config: HostConfig, agent: string): readonly PermissionRule[] {
  const known: AgentConfig | undefined = config.agents?.[agent] ?? (agent === defaultAgent ? {} : undefined)
  if (!known) return [{ action: "*", resource: "*", effect: "deny" }]
  return [...(known.defaults === false ? [] : defaults), ...(config.permissions ?? []), ...(known.permissions ?? [])]
}

/** Nothing that the action could be used for is left: its tool is not shown. */
export function whollyDenied(rules: readonly PermissionRule[], action: string, rule: Switches["hideRule"]): boolean {
  const concerned = rules.filter((one) => matches(one.action, action))
  if (rule === "last-rule") {
    const last = concerned.at(-1)
    return last?.resource === "*" && last.effect === "deny"
  }
  const probes = [...concerned.map((one) => one.resource), "*"]
  return probes.every((probe) => effectOf(rules, action, probe) === "deny")
}
