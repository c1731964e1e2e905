/**
 * Logins to remote servers.
 * Twin of auth.go; both are held against schema/auth.json by their tests.
 */

/** Login is how the login to a remote server stands. */
export interface Login {
  server: string
  /** as written: placeholders unexpanded */
  url: string
  state: "off" | "none" | "needed" | "valid" | "limited" | "unconfigured"
  issuer?: string
  client?: "configured" | "document" | "registered"
  scopes?: string[]
  /** RFC 3339, of the access token */
  expires?: string
  /** it is replaced then without the user */
  refreshes: boolean
  detail?: string
}

/** LoginStart is POST /v1/servers/{name}/auth: logs in to a server. */
export interface LoginStart {
  flow: "browser" | "device" | "any"
}

/** LoginPrompt is the data of a frame of type login: what the user has to do. */
export interface LoginPrompt {
  flow: "browser" | "device"
  url: string
  /** to be typed there */
  code?: string
  /** an address that holds the code */
  complete?: string
  /** RFC 3339 */
  expires: string
}

/** LoginEnded answers DELETE /v1/servers/{name}/auth. */
export interface LoginEnded {
  /** there was one */
  ended: boolean
  login: Login
}
