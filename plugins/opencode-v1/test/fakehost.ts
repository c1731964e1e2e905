/** The parts of opencode that the plugin meets, scripted: sessions, agents, permission requests, events. */

import type { AskInput, Client, HostEvent, HostRule, HostSession, Hooks, ToolContext } from "../src/host.ts"

/** A request that waits for the user. */
export interface HostRequest extends AskInput {
  id: string
  sessionID: string
  callID: string
  answer(reply: "once" | "reject", error?: Error): void
}

/** A scripted host. */
export interface FakeHost {
  client: Client
  sessions: Map<string, HostSession>
  agents: { name: string; permission: HostRule[] }[]
  requests: HostRequest[]
  replies: { id: string; response: string }[]
  toasts: { message: string; variant: string }[]
  /** Which permission keys are answered without asking; the others become requests. */
  verdict(key: string): "allow" | "ask" | "deny"
  /** The plugin that hears the events. */
  hooks?: Hooks
  emit(event: HostEvent): Promise<void>
  /** The context of one tool call. */
  context(call: string, more?: Partial<ToolContext>): ToolContext & { cancel(): void }
}

/** An error as the host throws it: class names are minified, `_tag` is not. */
export function hostError(tag: string, more: object = {}): Error {
  return Object.assign(new Error(`The user rejected permission to use this tool (${tag})`), { _tag: tag, ...more })
}

/** Makes a host with one session, ses_1, in /project. */
export function fakeHost(): FakeHost {
  let last = 0
  const host: FakeHost = {
    sessions: new Map([["ses_1", { id: "ses_1", directory: "/project", title: "Work" }]]),
    agents: [{ name: "build", permission: [{ permission: "*", pattern: "*", action: "allow" }] }],
    requests: [],
    replies: [],
    toasts: [],
    verdict: () => "allow",
    client: {
      session: {
        get: async ({ path }) => {
          const data = host.sessions.get(path.id)
          return data ? { data } : { error: { name: "NotFoundError" } }
        },
      },
      app: { agents: async () => ({ data: host.agents }) },
      tui: { showToast: async ({ body }) => void host.toasts.push(body) },
      postSessionIdPermissionsPermissionId: async ({ path, body }) => {
        host.replies.push({ id: path.permissionID, response: body.response })
        // As the host does: one reject rejects everything of the session.
        for (const request of [...host.requests]) {
          if (body.response === "reject" ? request.sessionID === path.id : request.id === path.permissionID) {
            request.answer(body.response as "once", hostError("PermissionRejectedError"))
          }
        }
      },
    },
    emit: async (event) => host.hooks?.event?.({ event }),
    context(call, more = {}) {
      const control = new AbortController()
      const ctx: ToolContext = {
        sessionID: "ses_1",
        messageID: "msg_1",
        callID: call,
        agent: "build",
        directory: "/project",
        abort: control.signal,
        ask: (input) => ask(ctx, input),
        ...more,
      }
      return Object.assign(ctx, { cancel: () => control.abort() })
    },
  }

  function ask(ctx: ToolContext, input: AskInput): Promise<void> {
    const verdict = host.verdict(input.permission)
    if (verdict === "allow") return Promise.resolve()
    if (verdict === "deny") return Promise.reject(hostError("PermissionDeniedError"))
    return new Promise((resolve, reject) => {
      const request: HostRequest = {
        ...input,
        id: `per_${++last}`,
        sessionID: ctx.sessionID,
        callID: ctx.callID!,
        answer(reply, error) {
          host.requests.splice(host.requests.indexOf(request), 1)
          if (reply === "once") return resolve()
          reject(error ?? hostError("PermissionRejectedError"))
        },
      }
      host.requests.push(request)
      const { id, sessionID, permission, metadata } = request
      void host.emit({
        type: "permission.asked",
        properties: { id, sessionID, permission, metadata, tool: { callID: ctx.callID, messageID: ctx.messageID } },
      })
    })
  }

  return host
}
