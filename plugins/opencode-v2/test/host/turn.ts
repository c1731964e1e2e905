/** Turns: the calls of a model's step, run at once, and what ends a turn early. */

import { invoke } from "./invoke.ts"
import { newID } from "./core.ts"
import { orInterrupted, unlessInterrupted } from "./interrupt.ts"
import { Sequence } from "./sequence.ts"
import { Declined, Defect, Interrupted, type Caller } from "./tool.ts"
import type { Call, CallResult, SessionRef, StepOptions, StepResult, Turn } from "./types.ts"
import type { EventHub } from "./events.ts"
import type { HookTable } from "./hooks.ts"
import type { ModelRequest } from "./types.ts"
import type { SessionStore } from "./session.ts"
import type { Switches } from "./switches.ts"
import type { Metadata, SessionInfo } from "./contract.ts"
import type { Snapshot } from "./request.ts"

export interface TurnOptions {
  sessions: SessionStore
  events: EventHub
  switches: Switches
  hooksOf(session: SessionInfo): Promise<HookTable>
  request(session: SessionRef): Promise<ModelRequest>
  snapshotOf(request: ModelRequest): Snapshot
}

interface Execution {
  controller: AbortController
  ended: boolean
  interrupted: boolean
  over: Promise<void>
}

export class Turns {
  #running = new Map<string, Execution>()
  #sequences = new Map<string, { sequence: Sequence; index: number }>()

  constructor(private readonly options: TurnOptions) {}

  /** @throws when a turn of the session goes on already. */
  async turn<T>(ref: SessionRef, body: (turn: Turn) => Promise<T>): Promise<T> {
    const { info } = this.options.sessions.get(ref)
    if (this.#running.has(info.id)) throw new Error(`session ${info.id} is busy`)
    let over = () => {}
    const execution: Execution = {
      controller: new AbortController(),
      ended: false,
      interrupted: false,
      over: new Promise((resolve) => (over = resolve)),
    }
    this.#running.set(info.id, execution)
    this.#publish(info, "session.execution.started", {})
    try {
      return await body({ step: (calls, options = {}) => this.#step(execution, info, calls, options) })
    } finally {
      this.#running.delete(info.id)
      if (!execution.interrupted) this.#publish(info, "session.execution.succeeded", {})
      this.#publish(info, "session.idle", {})
      over()
    }
  }

  /** Ends what the session does now: signals abort at once, executors are not waited for. False: nothing ran. */
  interrupt(sessionID: string, reason: "user" | "shutdown" | "superseded" = "user"): boolean {
    const execution = this.#running.get(sessionID)
    if (!execution || execution.interrupted) return false
    execution.interrupted = execution.ended = true
    execution.controller.abort(new Interrupted())
    const session = this.options.sessions.find(sessionID)
    this.options.events.publish("session.execution.interrupted", { sessionID, reason }, session?.info.location)
    return true
  }

  /** Until the session does nothing. */
  async idle(sessionID: string): Promise<void> {
    await this.#running.get(sessionID)?.over
  }

  running(): string[] {
    return [...this.#running.keys()]
  }

  /** Runs the hooks of a call when the test's order says that it is their turn. */
  gate<T>(caller: Caller, point: "before" | "create", run: () => Promise<T>): Promise<T> {
    const place = this.#sequences.get(keyOf(caller))
    return place ? place.sequence.at(`${point}:${place.index}`, run) : run()
  }

  async #step(execution: Execution, info: SessionInfo, calls: Call[], options: StepOptions): Promise<StepResult> {
    if (execution.ended) throw new Error("the turn has ended")
    const request = options.request ?? (await this.options.request(info.id))
    const messageID = newID("msg")
    const sequence = options.order && new Sequence(options.order)
    this.#publish(info, "session.step.started", { messageID })
    const deaths: Defect[] = []
    const running = calls.map((call, index) => {
      const id = call.id ?? newID("call")
      const key = keyOf({ sessionID: info.id, messageID, id })
      if (sequence) this.#sequences.set(key, { sequence, index })
      return this.#call(execution, info, request, { ...call, id }, messageID, deaths).finally(() => {
        this.#sequences.delete(key)
        sequence?.leave(index)
      })
    })
    const results = await Promise.all(running)
    for (const { result, death } of results) {
      // The host fails them together, with the message of whichever died first.
      const shown = this.options.switches.sharedDefects ? deaths[0] : death
      if (death && shown) {
        result.text = shown.message
        result.error = { type: death.type, message: shown.message }
      }
      const outcome = result.status === "completed" ? "success" : "failed"
      this.#publish(info, `session.tool.${outcome}`, {
        messageID,
        id: result.id,
        tool: result.tool,
        ...(result.error ? { error: result.error } : { content: result.content, metadata: result.metadata }),
      })
    }
    this.#publish(info, "session.step.ended", { messageID })
    return {
      messageID,
      results: results.map(({ result }) => result),
      ended: execution.ended,
      interrupted: execution.interrupted,
    }
  }

  async #call(
    execution: Execution,
    info: SessionInfo,
    request: ModelRequest,
    call: Call & { id: string },
    messageID: string,
    deaths: Defect[],
  ): Promise<{ result: CallResult; death?: Defect }> {
    const { sessions, switches } = this.options
    const hooks = await this.options.hooksOf(info)
    const input = call.input ?? {}
    const result: CallResult = {
      id: call.id,
      messageID,
      tool: call.tool,
      status: "completed",
      text: "",
      content: [],
      progress: [],
    }
    const entry = { id: call.id, tool: call.tool, input: structuredClone(input), result }
    sessions.get(info.id).transcript.push(entry)
    this.#publish(info, "session.tool.called", { messageID, id: call.id, tool: call.tool, input })
    const { signal } = execution.controller
    const caller: Caller = {
      sessionID: info.id,
      agent: request.agent,
      messageID,
      id: call.id,
      signal,
      progress: (metadata) => this.#progress(info, result, metadata, signal),
    }
    try {
      const outcome = await orInterrupted(
        signal,
        invoke({
          tool: call.tool,
          // Hooks change their own copy: the transcript keeps what the model sent.
          input: structuredClone(input),
          caller,
          find: (name) => this.options.snapshotOf(request).find(name),
          hooks,
          switches,
          gate: (run) => this.gate(caller, "before", run),
        }),
      )
      const { content, output, metadata } = outcome
      const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
      Object.assign(result, { content, output, metadata, text })
      const program = output as { output?: unknown; toolCalls?: CallResult["toolCalls"] } | undefined
      if (outcome.tool === "execute" && program?.toolCalls) {
        Object.assign(result, { toolCalls: program.toolCalls, value: program.output })
      }
      return { result }
    } catch (error) {
      const failure = error as Error
      const type = failure instanceof Defect ? failure.type : "tool.execution"
      Object.assign(result, { status: "error", text: failure.message, error: { type, message: failure.message } })
      if (failure instanceof Declined) execution.ended = true
      if (!(failure instanceof Defect)) return { result }
      deaths.push(failure)
      return { result, death: failure }
    }
  }

  /** Published in its own time; pending ones reject when the call is interrupted, as the host's fibres do. */
  async #progress(info: SessionInfo, result: CallResult, metadata: Metadata, signal: AbortSignal): Promise<void> {
    await unlessInterrupted(signal, new Promise((resolve) => setImmediate(resolve)))
    const copy: Metadata = JSON.parse(JSON.stringify(metadata))
    result.progress.push(copy)
    this.#publish(info, "session.tool.progress", { messageID: result.messageID, id: result.id, metadata: copy })
  }

  #publish(info: SessionInfo, type: string, data: object): void {
    this.options.events.publish(type, { sessionID: info.id, ...data }, info.location)
  }
}

function keyOf(caller: Pick<Caller, "sessionID" | "messageID" | "id">): string {
  return `${caller.sessionID} ${caller.messageID} ${caller.id}`
}
