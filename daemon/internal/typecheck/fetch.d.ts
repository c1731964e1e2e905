
// What a program finds besides where its user allows hosts: see docs/network.md.

type BodyInit = string | URLSearchParams | ArrayBufferView | ArrayBufferLike | Blob | FormData;
type HeadersInit = Headers | Record<string, string> | Iterable<readonly [string, string]>;
interface RequestInit {
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null;
  redirect?: "follow" | "error" | "manual";
  signal?: AbortSignal | null;
  [ignored: string]: unknown;
}
interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}
interface BodyReader {
  read(): Promise<{ done: false; value: Uint8Array } | { done: true; value: undefined }>;
  cancel(): Promise<void>;
  releaseLock(): void;
}
interface BodyStream extends AsyncIterable<Uint8Array> {
  readonly locked: boolean;
  getReader(): BodyReader;
  cancel(): Promise<void>;
}
declare class Headers {
  constructor(init?: HeadersInit);
  append(name: string, value: string): void;
  set(name: string, value: string): void;
  get(name: string): string | null;
  has(name: string): boolean;
  delete(name: string): void;
  getSetCookie(): string[];
  forEach(run: (value: string, name: string, all: Headers) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
interface Body {
  readonly body: BodyStream | null;
  readonly bodyUsed: boolean;
  text(): Promise<string>;
  json(): Promise<any>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
}
interface Request extends Body {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  readonly redirect: string;
  clone(): Request;
}
declare const Request: { new (input: string | URL | Request, init?: RequestInit): Request };
interface Response extends Body {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly redirected: boolean;
  readonly type: string;
  readonly headers: Headers;
  clone(): Response;
}
declare const Response: {
  new (body?: BodyInit | null, init?: ResponseInit): Response;
  json(data: unknown, init?: ResponseInit): Response;
};
declare class Blob {
  constructor(parts?: Iterable<string | ArrayBufferView | ArrayBufferLike | Blob>, options?: { type?: string });
  readonly size: number;
  readonly type: string;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  slice(start?: number, end?: number, type?: string): Blob;
}
declare class File extends Blob {
  constructor(parts: Iterable<string | ArrayBufferView | ArrayBufferLike | Blob>, name: string, options?: { type?: string; lastModified?: number });
  readonly name: string;
  readonly lastModified: number;
}
declare class FormData {
  append(name: string, value: string | Blob, filename?: string): void;
  set(name: string, value: string | Blob, filename?: string): void;
  get(name: string): string | File | null;
  getAll(name: string): (string | File)[];
  has(name: string): boolean;
  delete(name: string): void;
  forEach(run: (value: string | File, name: string, all: FormData) => void): void;
  entries(): IterableIterator<[string, string | File]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string | File>;
  [Symbol.iterator](): IterableIterator<[string, string | File]>;
}
/** Makes an HTTP request to a host that the user allows. */
declare function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
