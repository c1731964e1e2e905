/** The context of one plugin instance: the members of its release, and no others. */

import { endpoint } from "./api.ts"
import { handed } from "./toolset.ts"
import { sessionDomain } from "./sessiondomain.ts"
import { strict } from "./strict.ts"
import { permissionDomain } from "./permissiondomain.ts"
import type { Context, Registration, ValueDomain } from "./contract.ts"
import type { Instance } from "./instance.ts"
import type { LocationHost } from "./location.ts"
import type { State } from "./transforms.ts"
import type { ValueName } from "./values.ts"

const noModel = async () => {
  throw new Error("this host plays no such service")
}

export function createContext(instance: Instance, location: LocationHost): Context {
  const { core, info, hooks, values } = location
  const { switches } = core
  const domain = <T extends object>(name: string, members: T, known: string[] = []) =>
    strict(name, members, known, switches.strictContext)
  // A registration of a plugin that has gone would stay for ever.
  const alive = () => {
    if (instance.scope.closed) throw new Error(`plugin ${instance.id} is not active`)
  }
  const registration = (remove: () => void): Registration => Object.freeze(instance.scope.add(remove))
  const transform =
    <Editor extends object>(state: State<any, Editor>) =>
    async (callback: (editor: Editor) => void): Promise<Registration> => {
      alive()
      return registration(state.add(instance, callback))
    }
  const hook =
    (allowed: string[]) =>
    async (name: string, callback: (event: any) => unknown, options?: { providerID?: string }) => {
      alive()
      if (!allowed.includes(name)) throw new Error(`the contract has no hook ${name}`)
      return registration(hooks.add(instance, name, callback, options?.providerID))
    }
  const located = <T>(data: T) => ({ location: info, data })
  const valueDomain = (name: ValueName): ValueDomain => {
    const state = values.of(name)
    const list = async () => structuredClone(located([...state.read().values()]))
    const members: ValueDomain = { list, reload: async () => state.touch(), transform: transform(state) }
    const get = endpoint(`${name}.get`, { name: "string!" }, ({ name: key }) => state.read().get(key) ?? null)
    if (name === "agent" || name === "provider") Object.assign(members, { get })
    if (name === "model") Object.assign(members, { default: async () => [...state.read().values()][0] })
    return domain(name, members, ["get", "default", "remove"])
  }

  const tool = {
    transform: transform(location.tools),
    reload: async () => location.tools.touch(),
    hook: hook(["execute.before", "execute.after"]),
    ...(switches.toolList && { list: async () => [...location.tools.read().tools.values()].map(handed) }),
  }
  const mcp = {
    list: async () => structuredClone(located(location.mcp.servers())),
    reload: async () => location.mcp.state.touch(),
    transform: transform(location.mcp.state),
  }
  const event = {
    subscribe: (options: { signal?: AbortSignal } = {}) => {
      alive()
      return core.events.subscribe(options.signal, (end) => instance.scope.add(end))
    },
  }
  const generate = {
    text: endpoint("generate.text", { prompt: "string!", model: "object" }, async ({ prompt }) => ({
      text: await core.generate({ prompt }),
    })),
  }
  const members = {
    app: Object.freeze({ name: "opencode", version: core.release, channel: "latest" }),
    location: info,
    options: structuredClone(instance.planned.options),
    agent: valueDomain("agent"),
    aisdk: domain("aisdk", { hook: hook(["sdk", "language"]) }),
    command: valueDomain("command"),
    event: domain("event", event),
    generate: domain("generate", generate),
    integration: valueDomain("integration"),
    mcp: domain("mcp", mcp),
    permission: permissionDomain(core, hook(["evaluate"]), domain),
    plugin: domain("plugin", { list: async () => structuredClone(located(location.plugins())) }),
    reference: valueDomain("reference"),
    rpc: core.rpc.domain(instance, info.directory),
    session: sessionDomain(core, info, hook, domain),
    shell: domain("shell", { hook: hook(["create.before"]) }),
    skill: valueDomain("skill"),
    storage: core.storage.of(instance.id, switches.strictContext),
    tool: domain("tool", tool, ["list"]),
    vcs: domain("vcs", {}),
    websearch: domain("websearch", { list: noModel }),
    ...(switches.catalogDomain
      ? { catalog: valueDomain("catalog") }
      : { model: valueDomain("model"), provider: valueDomain("provider") }),
    ...(switches.worktreeDomain && { worktree: domain("worktree", {}) }),
  }
  const known = ["model", "provider", "catalog", "worktree", "credential", "experimental"]
  return strict("ctx", members as unknown as Context, known, switches.strictContext)
}
