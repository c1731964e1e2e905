/** The user, scripted: what is done with permission requests and forms. */

import { newID } from "./core.ts"
import { patience } from "./events.ts"
import type { PermissionDecision, PermissionRequest } from "./contract.ts"
import type { Answer, Form, FormAnswer, User } from "./types.ts"

type Reply = (id: string, decision: PermissionDecision, message?: string) => Promise<void>

interface Waiting<T> {
  matches(item: T): boolean
  resolve(item: T): void
}

export class ScriptedUser implements User {
  #answer: ((request: PermissionRequest) => Answer | Promise<Answer>) | undefined
  #fill: ((form: Form) => FormAnswer | Promise<FormAnswer>) | undefined
  #forms = new Map<string, { form: Form; settle(answer: { accept: any } | "dismiss"): void }>()
  #asks: Waiting<PermissionRequest>[] = []
  #shows: Waiting<Form>[] = []
  #timers = new Set<NodeJS.Timeout>()

  /**
   * @param requests those that wait.
   * @param send how an answer reaches the host.
   */
  constructor(
    private readonly requests: () => PermissionRequest[],
    private readonly send: Reply,
    private readonly publish: (type: string, data: unknown) => void,
  ) {}

  answers(script: (request: PermissionRequest) => Answer | Promise<Answer>): void {
    this.#answer = script
    for (const request of this.requests()) void this.#answered(request)
  }

  fills(script: (form: Form) => FormAnswer | Promise<FormAnswer>): void {
    this.#fill = script
    for (const { form } of this.#forms.values()) void this.#filled(form)
  }

  pending(): readonly PermissionRequest[] {
    return this.requests()
  }

  forms(): readonly Form[] {
    return [...this.#forms.values()].map(({ form }) => form)
  }

  asked(matches: (request: PermissionRequest) => boolean = () => true): Promise<PermissionRequest> {
    return this.#next(this.requests(), this.#asks, matches, "permission request")
  }

  shown(matches: (form: Form) => boolean = () => true): Promise<Form> {
    return this.#next(this.forms(), this.#shows, matches, "form")
  }

  reply(request: string | PermissionRequest, decision: PermissionDecision, message?: string): Promise<void> {
    return this.send(typeof request === "string" ? request : request.id, decision, message)
  }

  fill(form: string | Form, answer: { accept: any } | "dismiss"): void {
    const id = typeof form === "string" ? form : form.id
    const entry = this.#forms.get(id)
    if (!entry) throw new Error(`no form ${id} waits`)
    this.#forms.delete(id)
    this.publish(answer === "dismiss" ? "form.cancelled" : "form.replied", { id, sessionID: entry.form.sessionID })
    entry.settle(answer)
  }

  /** A request has been published. */
  hear(request: PermissionRequest): void {
    this.#wake(this.#asks, request)
    void this.#answered(request)
  }

  /** Shows a form until it is filled, dismissed or withdrawn. @throws when withdrawn. */
  async show(form: Omit<Form, "id">, signal: AbortSignal): Promise<{ accept: any } | "dismiss"> {
    const shown: Form = { ...form, id: newID("frm") }
    return new Promise((resolve, reject) => {
      const withdraw = () => {
        if (this.#forms.delete(shown.id)) this.publish("form.cancelled", { id: shown.id, sessionID: shown.sessionID })
        reject(new Error("form withdrawn"))
      }
      if (signal.aborted) return withdraw()
      signal.addEventListener("abort", withdraw, { once: true })
      const settle = (answer: { accept: any } | "dismiss") => {
        signal.removeEventListener("abort", withdraw)
        resolve(answer)
      }
      this.#forms.set(shown.id, { form: shown, settle })
      this.publish("form.created", shown)
      this.#wake(this.#shows, shown)
      void this.#filled(shown)
    })
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  async #answered(request: PermissionRequest): Promise<void> {
    const answer = await this.#answer?.(request)
    if (!answer || !this.requests().some((other) => other.id === request.id)) return
    const { decision, message } = typeof answer === "string" ? { decision: answer, message: undefined } : answer
    await this.send(request.id, decision, message)
  }

  async #filled(form: Form): Promise<void> {
    const answer = await this.#fill?.(form)
    if (answer && this.#forms.has(form.id)) this.fill(form, answer)
  }

  #wake<T>(waiting: Waiting<T>[], item: T): void {
    const at = waiting.findIndex((one) => one.matches(item))
    if (at >= 0) waiting.splice(at, 1)[0]?.resolve(item)
  }

  #next<T>(now: readonly T[], waiting: Waiting<T>[], matches: (item: T) => boolean, what: string): Promise<T> {
    const there = now.find(matches)
    if (there) return Promise.resolve(there)
    return new Promise((resolve, reject) => {
      const one: Waiting<T> = {
        matches,
        resolve: (item) => {
          clearTimeout(timer)
          this.#timers.delete(timer)
          resolve(item)
        },
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(one), 1)
        this.#timers.delete(timer)
        reject(new Error(`no ${what} within ${patience} ms`))
      }, patience)
      this.#timers.add(timer)
      waiting.push(one)
    })
  }
}
