/**
 * Live status of a program at its tool call: which calls it makes and what it
 * logs. Shown by the host while the program runs; the final result has it again.
 */

import { check, type CallEvent, type Frame, type Log, type Progress } from "@tenon/proto"
import type { Call, Calls } from "./calls.ts"

/** Status of running programs. */
export interface Reports {
  /** run/event of the daemon. Throws a FieldError for one that is not in the schemas. */
  onFrame(frame: Frame): void
  /** Begins to show a call; the function ends it, and nothing is shown after. */
  open(call: Call): () => void
}

interface Child {
  id: number
  tool: string
  status: string
  input?: string
  ms?: number
  progress?: string
}

interface Report {
  call: Call
  run?: string
  children: Map<number, Child>
  logs: string[]
  timer?: ReturnType<typeof setTimeout>
}

/** Changes are gathered for so long (milliseconds). */
const gather = 100
/** So many calls and lines are shown, the latest. */
const shownCalls = 50
const shownLogs = 20
/** Characters of a line. */
const line = 200

/** Makes the table. */
export function reportTable(calls: Calls): Reports {
  const reports = new Map<Call, Report>()
  const runs = new Map<string, Report>()

  const find = (frame: Frame): Report | undefined => {
    const known = runs.get(frame.run)
    if (known || frame.type !== "start") return known
    // The first frame says whose the run is; a call's id alone may be another session's too.
    const session = (frame.data as { session?: unknown } | null | undefined)?.session
    const call = typeof session === "string" ? calls.find(session, frame.call) : undefined
    const report = call && reports.get(call)
    if (!report) return undefined
    report.run = frame.run
    runs.set(frame.run, report)
    return report
  }

  return {
    onFrame(frame) {
      const report = find(frame)
      if (!report || !note(report, frame)) return
      report.timer ??= setTimeout(() => {
        delete report.timer
        if (report.call.signal.aborted) return
        // It rejects when the call is interrupted, and may throw when it is over.
        try {
          report.call.ctx.progress(metadataOf(report)).catch(() => {})
        } catch {
          // Nobody looks any more.
        }
      }, gather)
    },
    open(call) {
      const report: Report = { call, children: new Map(), logs: [] }
      reports.set(call, report)
      return () => {
        clearTimeout(report.timer)
        reports.delete(call)
        if (report.run) runs.delete(report.run)
      }
    },
  }
}

/** Whether the frame changed what is shown. */
function note(report: Report, frame: Frame): boolean {
  const { children, logs } = report
  if (frame.type === "call") {
    const { id, server, tool, status, input, ms } = check<CallEvent>("CallEvent", frame.data)
    children.set(id, {
      ...children.get(id),
      id,
      tool: `${server}.${tool}`,
      status,
      ...(input === undefined ? {} : { input: input.slice(0, line) }),
      ...(ms === undefined ? {} : { ms }),
    })
    if (children.size > shownCalls) children.delete(children.keys().next().value!)
    return true
  }
  if (frame.type === "progress") {
    const { call, progress, total, message } = check<Progress>("Progress", frame.data)
    const child = children.get(call)
    if (!child) return false
    const amount = total === undefined ? `${progress}` : `${progress}/${total}`
    child.progress = message ? `${amount} ${message.slice(0, line)}` : amount
    return true
  }
  if (frame.type === "log") {
    const { level, message } = check<Log>("Log", frame.data)
    logs.push(`${level}: ${message.slice(0, line)}`)
    if (logs.length > shownLogs) logs.shift()
    return true
  }
  return false
}

function metadataOf(report: Report): Record<string, unknown> {
  const toolCalls = [...report.children.values()].map(({ id: _, ...child }) => child)
  return { toolCalls, ...(report.logs.length > 0 ? { logs: [...report.logs] } : {}) }
}
