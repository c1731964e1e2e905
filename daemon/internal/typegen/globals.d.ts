/** What a call can be given besides its arguments. */
interface CallOptions {
  /** Give the whole result as the server sent it. */
  raw?: boolean;
  /** How long it may be without progress: milliseconds, or "30s". */
  timeout?: number | string;
}

/** A result as a server sends it. */
interface CallToolResult {
  content: any[];
  structuredContent?: any;
  isError?: boolean;
  [name: string]: any;
}

/** What a call gives: the whole result where that was asked for; else its value, an object with the whole result at raw. */
type Returned<Value, Options> = 0 extends 1 & Value
  ? any
  : Options extends { raw: true }
    ? CallToolResult
    : "raw" extends keyof Value
      ? Value
      : Value extends object
        ? Value & { readonly raw: CallToolResult }
        : Value;

/** Calls a tool by the names of its server and its own. */
declare function call(server: string, tool: string, args?: object, options?: CallOptions): Promise<any>;

/** One tool that a search found. */
interface FoundTool {
  path: string;
  server: string;
  tool: string;
  signature: string;
  description?: string;
}

/** Finds tools by words; no words list all, an exact path is a lookup. */
declare function search(
  words?: string,
  options?: { namespace?: string; limit?: number; offset?: number },
): Promise<{ items: FoundTool[]; total: number; remaining: number; next: { offset: number } | null }>;

/** Explains the tool at a path such as "ns.tool". */
declare function describe(path: string): Promise<FoundTool & { inputSchema?: any; outputSchema?: any; returns?: string }>;

/** Saved scripts by their names, with what each takes. */
interface SavedScripts {}
type ScriptInput<Name> = Name extends keyof SavedScripts
  ? SavedScripts[Name] extends any[]
    ? SavedScripts[Name]
    : never
  : [input?: any];

/** Runs a saved script as a part of this run, and gives its value. */
declare function run<Name extends string>(name: Name, ...input: ScriptInput<Name>): Promise<any>;

/** What was piped in. */
declare const stdin: {
  text(): Promise<string>;
  /** As JSON; undefined for nothing. */
  json(): Promise<any>;
  /** All lines, or one by one in a for await. */
  lines(): Promise<string[]> & AsyncIterable<string>;
};

/** Something that a server offers to be read. */
interface Resource {
  server: string;
  namespace: string;
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

/** Makes URIs of resources (RFC 6570). */
interface ResourceTemplate {
  server: string;
  namespace: string;
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

/** A text that a server fills in. */
interface Prompt {
  server: string;
  namespace: string;
  name: string;
  title?: string;
  description?: string;
  arguments: { name: string; title?: string; description?: string; required?: boolean }[];
}

/** One server by its name or namespace; without one all are listed. */
type ListOptions = string | { server?: string; cursor?: string; limit?: number };

/** What a list has besides its entries: what is missing in it, and where the next page starts. */
interface Listed {
  problems: { server: string; kind?: string; message: string }[];
  nextCursor?: string;
}

/** What servers offer to be read. */
declare const resources: {
  list(options?: ListOptions): Promise<Listed & { resources: Resource[] }>;
  templates(options?: ListOptions): Promise<Listed & { resourceTemplates: ResourceTemplate[] }>;
  /** Text as a string, JSON parsed, bytes as the handle of an artifact; several contents as a list. */
  read(uri: string, options?: string | { server?: string; raw?: boolean }): Promise<any>;
};

/** The prompts of servers. */
declare const prompts: {
  list(options?: ListOptions): Promise<Listed & { prompts: Prompt[] }>;
  get(
    name: string,
    args?: { [name: string]: string },
    options?: string | { server?: string; raw?: boolean },
  ): Promise<{ description?: string; messages: { role: "user" | "assistant"; content: any }[] }>;
};

/** Hands a value on at once; it is in the result as well. */
declare function emit(value: unknown): void;

/** Keeps a text, bytes or a value beside the result, and gives the handle that may stand in it. */
declare function artifact(
  name: string,
  data: any,
  options?: { mimeType?: string },
): Promise<{ type: string; name: string; mimeType: string; bytes: number; artifact: string }>;

/** Writes a record of the log. */
declare const log: {
  (message: any, attributes?: object): void;
  debug(message: any, attributes?: object): void;
  info(message: any, attributes?: object): void;
  warn(message: any, attributes?: object): void;
  error(message: any, attributes?: object): void;
};

/** Resolves after so many milliseconds. */
declare function sleep(ms: number): Promise<void>;

/** The words that the program was given. */
declare const args: string[];

/** The value that the program was given. */
declare const input: any;

/** Where the program runs. */
declare const session: { readonly id: string; readonly cwd: string; readonly runId: string };

/** What a failed call throws. */
declare class ToolError extends Error {
  constructor(message?: string, options?: object);
  readonly kind: string;
  readonly server?: string;
  readonly tool?: string;
  readonly hint?: string;
  readonly pointer?: string;
  readonly feedback?: string;
  readonly content?: any[];
  readonly data?: any;
}

