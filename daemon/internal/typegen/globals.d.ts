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
declare function describe(path: string): Promise<FoundTool & { inputSchema?: any; outputSchema?: any }>;

/** Hands a value on at once; it is in the result as well. */
declare function emit(value: unknown): void;

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

