/** Who may do what: rules, saved answers, the hooks of plugins, then the user. */

import { agentRules, effectOfAll } from "./rules.ts"
import { hookEvent } from "./strict.ts"
import { newID } from "./core.ts"
import { Declined, ToolFailure } from "./tool.ts"
import type { HookTable } from "./hooks.ts"
import type { EventHub } from "./events.ts"
import type { HostConfig } from "./types.ts"
import type { Switches } from "./switches.ts"
import type {
  PermissionDecision,
  PermissionEffect,
  PermissionRequest,
  PermissionRule,
  PermissionSource,
} from "./contract.ts"

/** What an executor asserts. */
export interface Assertion {
  /** Of an HTTP client that chose it. */
  id?: string
  sessionID: string
  agent?: string
  action: string
  resources: readonly string[]
  save?: readonly string[]
  metadata?: Record<string, any>
  source?: PermissionSource
}

/** What is asked about: the session's rules, project and hooks. */
export interface PermissionScope {
  agent: string
  rules: readonly PermissionRule[]
  projectID: string
  hooks: HookTable
}

interface Pending {
  request: PermissionRequest
  projectID: string
  resolve(): void
  reject(error: Error): void
}

/** A rule or a hook said no; tools that have a text of their own for it use that. */
export class Blocked extends ToolFailure {}

export interface PermissionOptions {
  switches: Switches
  config: HostConfig
  events: EventHub
  scopeOf(sessionID: string): PermissionScope
  /** A request has been published. */
  heard(request: PermissionRequest): void
}

export class Permissions {
  #pending = new Map<string, Pending>()
  #saved = new Map<string, PermissionRule[]>()

  constructor(private readonly options: PermissionOptions) {}

  saved(projectID: string): readonly PermissionRule[] {
    return this.#saved.get(projectID) ?? []
  }

  /** Requests that wait, of one session or of all. */
  pending(sessionID?: string): PermissionRequest[] {
    const requests = [...this.#pending.values()].map(({ request }) => request)
    return requests.filter((request) => sessionID === undefined || request.sessionID === sessionID)
  }

  /** @throws when it does not wait in this session. */
  get(sessionID: string, requestID: string): PermissionRequest {
    const request = this.#pending.get(requestID)?.request
    if (request?.sessionID !== sessionID) throw new Error(`Permission request not found: ${requestID}`)
    return request
  }

  /** The effect, and the text that a hook gave. */
  async evaluate(assertion: Assertion): Promise<{ effect: PermissionEffect; message?: string }> {
    const { sessionID, action, resources, metadata, source } = assertion
    const scope = this.options.scopeOf(sessionID)
    const agent = assertion.agent ?? scope.agent
    const rules = [...agentRules(this.options.config, agent), ...scope.rules]
    // Final: neither a hook nor a saved answer is looked at.
    if (effectOfAll(rules, action, resources) === "deny") return { effect: "deny" }
    const effect: PermissionEffect = effectOfAll([...rules, ...this.saved(scope.projectID)], action, resources)
    const { readonlyWrites, frozenHookArguments } = this.options.switches
    const readonly = { sessionID, agent, action, resources: [...resources], metadata, source }
    const event = hookEvent(
      { effect: effect as PermissionEffect, message: undefined as string | undefined },
      readonly,
      readonlyWrites,
      frozenHookArguments,
    )
    await scope.hooks.fire("evaluate", event)
    return { effect: event.effect, message: event.message }
  }

  /**
   * Goes on when it is allowed.
   *
   * @param signal the end of whoever asks withdraws the request.
   * @throws Blocked when it is denied, ToolFailure when rejected with a message, Declined for a bare reject.
   */
  async assert(assertion: Assertion, signal: AbortSignal): Promise<void> {
    const { effect, message } = await this.evaluate(assertion)
    if (effect === "allow") return
    if (effect === "deny") throw new Blocked(message ?? `Permission denied: ${assertion.action}`)
    await new Promise<void>((resolve, reject) => {
      const request = this.#publish(assertion, message, resolve, reject)
      const withdraw = () => {
        this.#pending.delete(request.id)
        reject(new ToolFailure("Tool execution interrupted"))
      }
      if (signal.aborted) return withdraw()
      signal.addEventListener("abort", withdraw, { once: true })
    })
  }

  /** Over HTTP: says the effect and does not wait; what is asked stays until it is answered. */
  async create(assertion: Assertion): Promise<{ id: string; effect: PermissionEffect }> {
    const id = assertion.id ?? newID("per")
    const { effect, message } = await this.evaluate(assertion)
    if (effect === "ask")
      this.#publish(
        { ...assertion, id },
        message,
        () => {},
        () => {},
      )
    return { id, effect }
  }

  /** @throws when the request does not wait in this session. */
  reply(sessionID: string, requestID: string, decision: PermissionDecision, message?: string): void {
    this.get(sessionID, requestID)
    const { request, projectID, resolve, reject } = this.#settle(requestID, decision)
    if (decision === "reject") {
      reject(message ? new ToolFailure(message) : new Declined())
      if (!message) this.#rejectOthers(sessionID)
      return
    }
    if (decision === "always") {
      const rules = (request.save ?? []).map((resource) => ({
        action: request.action,
        resource,
        effect: "allow" as const,
      }))
      this.#saved.set(projectID, [...this.saved(projectID), ...rules])
    }
    resolve()
  }

  /** A bare reject is a no to everything that the session asks. */
  #rejectOthers(sessionID: string): void {
    for (const other of this.pending(sessionID)) this.#settle(other.id, "reject").reject(new Declined())
  }

  #settle(requestID: string, decision: PermissionDecision): Pending {
    const pending = this.#pending.get(requestID) as Pending
    this.#pending.delete(requestID)
    const { sessionID } = pending.request
    this.options.events.publish(`${this.options.switches.permissionEvents}.replied`, {
      sessionID,
      requestID,
      reply: decision,
    })
    return pending
  }

  #publish(assertion: Assertion, message: string | undefined, resolve: () => void, reject: (error: Error) => void) {
    const { id = newID("per"), sessionID, action, resources, save, metadata, source } = assertion
    const text = message === undefined ? {} : { [this.options.switches.requestText]: message }
    const request: PermissionRequest = {
      id,
      sessionID,
      action,
      resources: [...resources],
      save,
      metadata,
      source,
      ...text,
    }
    const { projectID } = this.options.scopeOf(sessionID)
    this.#pending.set(id, { request, projectID, resolve, reject })
    this.options.events.publish(`${this.options.switches.permissionEvents}.asked`, request)
    this.options.heard(request)
    return request
  }
}
