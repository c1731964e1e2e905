/**
 * A real OpenID provider for the tests of logins: it lets clients register, asks
 * nobody for consent, rotates refresh tokens, and counts what it was asked for.
 *
 *   provider.mjs [JSON]     settings: see below; prints {"issuer": …} when it serves
 *
 * Beside the provider's own routes there are, for tests:
 *   GET /-/counts           how often each grant was asked for, and what came of it
 *   POST /-/set             changes settings: {"ttl": 5, "down": true}
 *   POST /-/revoke          revokes every grant
 */

import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import Provider from "oidc-provider"

const settings = {
  ttl: 3600, // of access tokens, in seconds
  down: false, // the token endpoint answers 503
  slow: 0, // milliseconds before the token endpoint answers
  register: true, // clients may register themselves
  device: true, // the device flow is offered
  pkce: ["S256"],
  issuer: "", // in metadata, in place of the true one
  ...JSON.parse(process.argv[2] ?? "{}"),
}
const counts = {}
const count = (name) => (counts[name] = (counts[name] ?? 0) + 1)
const grants = new Set()

const server = createServer()
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
const issuer = `http://127.0.0.1:${server.address().port}`

const provider = new Provider(issuer, {
  cookies: { keys: [randomBytes(16).toString("hex")] },
  clients: [
    {
      client_id: "fixed",
      client_secret: "fixed-secret-0123456789",
      application_type: "native",
      redirect_uris: ["http://127.0.0.1/callback"],
      grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      token_endpoint_auth_method: "client_secret_basic",
    },
    {
      client_id: "resource",
      client_secret: "resource-secret-0123456789",
      redirect_uris: [],
      response_types: [],
      grant_types: [],
    },
  ],
  clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: settings.register },
    deviceFlow: {
      enabled: settings.device,
      userCodeInputSource: (ctx, form) => (ctx.body = form),
      userCodeConfirmSource: (ctx, form) => (ctx.body = form),
      successSource: (ctx) => (ctx.body = "done"),
    },
    revocation: { enabled: true, allowedPolicy: () => true },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: "mcp:use mcp:admin",
        accessTokenTTL: settings.ttl,
        accessTokenFormat: "opaque",
      }),
    },
  },
  scopes: ["openid", "offline_access", "mcp:use", "mcp:admin"],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: { Grant: 86400, Session: 86400, Interaction: 600, RefreshToken: 86400, DeviceCode: 600, AuthorizationCode: 60 },
  interactions: { url: (_ctx, interaction) => `/-/interaction/${interaction.uid}` },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
})

/** What a user would do: logs in and agrees to everything. */
async function agree(ctx) {
  const { prompt, params, grantId, session } = await provider.interactionDetails(ctx.req, ctx.res)
  if (prompt.name === "login") {
    return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: "user" } })
  }
  if (params.scope?.includes("mcp:denied")) {
    return provider.interactionFinished(ctx.req, ctx.res, { error: "access_denied", error_description: "not today" })
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
  const { missingOIDCScope, missingResourceScopes } = prompt.details
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "))
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(" "))
  }
  const id = await grant.save()
  grants.add(id)
  return provider.interactionFinished(ctx.req, ctx.res, { consent: { grantId: id } }, { mergeWithLastSubmission: true })
}

async function body(ctx) {
  let text = ""
  for await (const chunk of ctx.req) text += chunk
  return JSON.parse(text || "{}")
}

provider.use(async (ctx, next) => {
  const path = ctx.path
  if (path.startsWith("/-/interaction/")) return agree(ctx)
  if (path === "/-/counts") return void (ctx.body = counts)
  if (path === "/-/set") return void (ctx.body = Object.assign(settings, await body(ctx)))
  if (path === "/-/revoke") {
    for (const id of grants) {
      await Promise.all(["AccessToken", "RefreshToken"].map((kind) => provider[kind].adapter.revokeByGrantId?.(id)))
      await (await provider.Grant.find(id))?.destroy()
    }
    return void (ctx.body = {})
  }
  if (path === "/token") {
    if (settings.down) return void (ctx.status = 503)
    if (settings.slow) await new Promise((resolve) => setTimeout(resolve, settings.slow))
  }
  await next()
  if (path === "/token") count(`${ctx.oidc?.params?.grant_type ?? "?"} ${ctx.status}`)
  if (path === "/reg") count(`register ${ctx.status}`)
  if (path === "/token/revocation") count(`revoke ${ctx.status}`)
  if (path.startsWith("/.well-known/") && ctx.body?.issuer) {
    ctx.body = {
      ...ctx.body,
      code_challenge_methods_supported: settings.pkce,
      ...(settings.issuer && { issuer: settings.issuer }),
    }
  }
})

provider.on("server_error", (_ctx, error) => console.error(error))
server.on("request", provider.callback())
process.stdin.resume().on("end", () => process.exit(0)) // whoever started it is gone
console.log(JSON.stringify({ issuer }))
