/**
 * What servers offer besides tools: resources, their templates, and prompts.
 * Twin of material.go; both are held against schema/material.json by their tests.
 */

/** OfferArgument is an argument of a prompt. */
export interface OfferArgument {
  name: string
  title?: string
  description?: string
  required?: boolean
}

/** Resource is one resource of a server. */
export interface Resource {
  server: string
  /** of the server, as programs write it */
  namespace: string
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  /** bytes; absent: not told */
  size?: number
}

/** ResourceTemplate makes URIs of resources. */
export interface ResourceTemplate {
  server: string
  /** as in Resource */
  namespace: string
  /** RFC 6570 */
  uriTemplate: string
  name: string
  title?: string
  description?: string
  mimeType?: string
}

/** Prompt is one prompt of a server. */
export interface Prompt {
  server: string
  /** as in Resource */
  namespace: string
  name: string
  title?: string
  description?: string
  arguments: OfferArgument[]
}

/** OfferProblem is why a list lacks something of a server. */
export interface OfferProblem {
  server: string
  /** of the failure; absent: the list goes on, but not in here */
  kind?: string
  message: string
}

/** Resources is GET /v1/resources. */
export interface Resources {
  resources: Resource[]
  problems: OfferProblem[]
  /** absent: this is the last page */
  nextCursor?: string
}

/** ResourceTemplates is GET /v1/resources/templates. */
export interface ResourceTemplates {
  resourceTemplates: ResourceTemplate[]
  problems: OfferProblem[]
  /** as in Resources */
  nextCursor?: string
}

/** Prompts is GET /v1/prompts. */
export interface Prompts {
  prompts: Prompt[]
  problems: OfferProblem[]
  /** as in Resources */
  nextCursor?: string
}

/** OfferQuery is what a list of resources, templates or prompts is asked with. */
export interface OfferQuery {
  /** its name or namespace; absent: all servers */
  server?: string
  /** NextCursor of the page before */
  cursor?: string
  /** entries on a page; 0: 1,000, which is the most */
  limit?: number
}

/** ResourceRead is POST /v1/resources/read. */
export interface ResourceRead {
  uri: string
  /** absent: the one that has it */
  server?: string
  /** also the server's answer as it came */
  raw?: boolean
  cwd?: string
  callTimeoutMs?: number
}

/** PromptGet is POST /v1/prompts/get. */
export interface PromptGet {
  name: string
  /** an object of texts */
  arguments?: unknown
  /** absent: the one that has it */
  server?: string
  /** as in ResourceRead */
  raw?: boolean
  cwd?: string
  callTimeoutMs?: number
}
