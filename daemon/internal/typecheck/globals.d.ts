// What tenon gives every program beside its tools: see docs/programs.md.

interface CallOptions { raw?: boolean; timeout?: number | string }
interface FoundTool { path: string; server: string; tool: string; signature: string; description?: string }
interface FoundTools { items: FoundTool[]; total: number; remaining: number; next: { offset: number } | null }

declare function call(server: string, tool: string, args?: object, options?: CallOptions): Promise<any>;
declare function search(words?: string, options?: { namespace?: string; limit?: number; offset?: number }): Promise<FoundTools>;
declare function describe(path: string): Promise<any>;
declare function emit(value: unknown): void;
declare function sleep(ms: number): Promise<void>;

interface Log {
  (message: unknown, attrs?: object): void;
  debug(message: unknown, attrs?: object): void;
  info(message: unknown, attrs?: object): void;
  warn(message: unknown, attrs?: object): void;
  error(message: unknown, attrs?: object): void;
}
declare const log: Log;
declare const args: string[];
declare const input: any;
declare const session: { readonly id: string; readonly cwd: string; readonly runId: string };

declare class ToolError extends Error {
  readonly kind: string;
  readonly server?: string;
  readonly tool?: string;
  readonly hint?: string;
  readonly content?: any[];
  readonly pointer?: string;
  readonly feedback?: string;
}
