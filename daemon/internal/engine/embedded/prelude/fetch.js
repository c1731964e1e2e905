// fetch, Headers, Request and Response after the Fetch standard, for programs that
// their host lets out. A body is here as a whole before fetch gives the response,
// so there are no streams: body is read in one piece. What may be reached, and what
// may be sent, the host decides.
($ => {
  'use strict';
  const { host, hide, ask, asked, adopt, bodyOf, Blob, stringify, parse, defineProperty } = $;
  const FETCH = 36, ABORT = 37;
  const P = Promise, Str = String, Num = Number;
  const decoder = new TextDecoder();
  const tag = (c, name) => defineProperty(c.prototype, Symbol.toStringTag, { value: name, configurable: true });
  const inner = {}; // says to a constructor that the host's answer is coming

  // --- headers ---------------------------------------------------------------
  const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
  const named = name => {
    name = Str(name);
    if (!token.test(name)) throw new TypeError(stringify(name) + ' is no name of a header');
    return name.toLowerCase();
  };
  const valued = value => {
    value = Str(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
    if (/[\0\r\n]|[^\0-\xff]/.test(value)) throw new TypeError('a header has a line break or a character beyond U+00FF in it');
    return value;
  };
  class Headers {
    #list = new Map(); // lower-case name → its values
    constructor(init) {
      if (init === undefined || init === null) return;
      if (typeof init !== 'object') throw new TypeError('headers are an object or a list of pairs');
      if (typeof init[Symbol.iterator] === 'function') {
        for (const pair of init) {
          const both = [...pair];
          if (both.length !== 2) throw new TypeError('a header is a pair of name and value');
          this.append(both[0], both[1]);
        }
      } else for (const name of Object.keys(init)) this.append(name, init[name]);
    }
    append(name, value) {
      const key = named(name), have = this.#list.get(key);
      if (have) have.push(valued(value)); else this.#list.set(key, [valued(value)]);
    }
    set(name, value) { this.#list.set(named(name), [valued(value)]); }
    get(name) { return this.#list.get(named(name))?.join(', ') ?? null; }
    has(name) { return this.#list.has(named(name)); }
    delete(name) { this.#list.delete(named(name)); }
    getSetCookie() { return [...this.#list.get('set-cookie') ?? []]; }
    forEach(run, self) { for (const [k, v] of this) run.call(self, v, k, this); }
    *entries() {
      for (const name of [...this.#list.keys()].sort()) {
        const values = this.#list.get(name);
        if (name === 'set-cookie') for (const v of values) yield [name, v]; else yield [name, values.join(', ')];
      }
    }
    *keys() { for (const [k] of this.entries()) yield k; }
    *values() { for (const [, v] of this.entries()) yield v; }
    [Symbol.iterator]() { return this.entries(); }
    toJSON() { return Object.fromEntries(this.entries()); }
  }

  // --- bodies ----------------------------------------------------------------
  const given = body => {
    const found = bodyOf(body);
    if (found) return found;
    const what = body instanceof P ? 'a promise: did you forget await?' : typeof body === 'object' ? 'an object: give JSON.stringify(body)' : 'no text and no bytes';
    throw new TypeError('the body is ' + what);
  };
  let bytesOf; // of a Request or Response, without using them up
  class Body {
    #bytes; #used = false; #stream;
    constructor(bytes) { this.#bytes = bytes; }
    static { bytesOf = b => b.#bytes; }
    #take() {
      if (this.#used) throw new TypeError('the body has been read before: keep what it gave, or use clone()');
      this.#used = this.#bytes !== null;
      return this.#bytes ?? new Uint8Array(0);
    }
    get bodyUsed() { return this.#used; }
    get body() {
      if (this.#bytes === null) return null;
      const self = this;
      return this.#stream ??= {
        locked: false,
        getReader: () => ({
          read: async () => this.#used ? { done: true, value: undefined } : { done: false, value: this.#take() },
          cancel: async () => { this.#used = true; },
          releaseLock() {},
        }),
        cancel: async () => { this.#used = true; },
        async *[Symbol.asyncIterator]() { if (!self.#used) yield self.#take(); },
      };
    }
    async text() { return decoder.decode(this.#take()); }
    async bytes() { return this.#take().slice(); }
    async arrayBuffer() { return this.#take().slice().buffer; }
    async blob() { return new Blob([this.#take()], { type: this.headers.get('content-type') ?? '' }); }
    async json() {
      const text = decoder.decode(this.#take());
      try {
        return parse(text);
      } catch (e) {
        const type = this.headers.get('content-type');
        throw new SyntaxError('the body is not JSON' + (type ? ' but ' + type : '') + ': ' + e.message);
      }
    }
    copied() {
      if (this.#used) throw new TypeError('the body has been read before: clone() comes first');
      return this.#bytes;
    }
  }
  const copied = Body.prototype.copied;
  delete Body.prototype.copied;

  // --- requests --------------------------------------------------------------
  const usual = { __proto__: null, DELETE: 1, GET: 1, HEAD: 1, OPTIONS: 1, POST: 1, PUT: 1, PATCH: 1 };
  const address = input => {
    try {
      return new URL(input);
    } catch {
      throw new TypeError('fetch needs an absolute URL, not ' + stringify(Str(input)));
    }
  };
  class Request extends Body {
    #method; #url; #headers; #signal; #redirect;
    constructor(input, init = {}) {
      const from = input instanceof Request ? input : undefined;
      init ??= {};
      const url = from ? from.url : address(input).href;
      const upper = Str(init.method ?? from?.method ?? 'GET'), method = usual[upper.toUpperCase()] ? upper.toUpperCase() : upper;
      const headers = new Headers(init.headers ?? from?.headers);
      let bytes = null;
      if (init.body !== undefined && init.body !== null) {
        if (method === 'GET' || method === 'HEAD') throw new TypeError('a ' + method + ' has no body: say method: "POST"');
        const found = given(init.body);
        bytes = found.bytes;
        if (found.type && !headers.has('content-type')) headers.set('content-type', found.type);
      } else if (from) bytes = copied.call(from);
      super(bytes);
      this.#method = method;
      this.#url = url;
      this.#headers = headers;
      this.#signal = init.signal ?? from?.signal;
      if (this.#signal !== undefined && !(this.#signal instanceof AbortSignal)) throw new TypeError('signal is an AbortSignal');
      this.#redirect = Str(init.redirect ?? from?.redirect ?? 'follow');
    }
    get method() { return this.#method; }
    get url() { return this.#url; }
    get headers() { return this.#headers; }
    get signal() { return this.#signal; }
    get redirect() { return this.#redirect; }
    clone() { return new Request(this); }
  }

  // --- responses -------------------------------------------------------------
  const empty = status => status === 101 || status === 103 || status === 204 || status === 205 || status === 304;
  class Response extends Body {
    #status; #text; #headers; #url = ''; #redirected = false; #type = 'default';
    constructor(body, init = {}, secret) {
      if (secret === inner) {
        super(body);
        this.#url = init.url;
        this.#redirected = init.redirected;
        this.#type = 'basic';
      } else {
        const found = body === undefined || body === null ? undefined : given(body);
        super(found?.bytes ?? null);
        init = { __proto__: null, status: Num(init.status ?? 200), statusText: Str(init.statusText ?? ''), headers: init.headers, kind: found?.type };
        if (!(init.status >= 200 && init.status <= 599)) throw new RangeError('a status is from 200 to 599');
      }
      this.#status = init.status;
      this.#text = init.statusText;
      this.#headers = new Headers(init.headers);
      if (init.kind && !this.#headers.has('content-type')) this.#headers.set('content-type', init.kind);
    }
    static json(data, init = {}) {
      const headers = new Headers(init.headers);
      if (!headers.has('content-type')) headers.set('content-type', 'application/json');
      return new Response(stringify(data), { ...init, headers });
    }
    get status() { return this.#status; }
    get statusText() { return this.#text; }
    get ok() { return this.#status >= 200 && this.#status <= 299; }
    get headers() { return this.#headers; }
    get url() { return this.#url; }
    get redirected() { return this.#redirected; }
    get type() { return this.#type; }
    clone() {
      return new Response(copied.call(this), { url: this.#url, redirected: this.#redirected, status: this.#status, statusText: this.#text, headers: this.#headers }, inner);
    }
    toJSON() { return { url: this.#url, status: this.#status, statusText: this.#text, ok: this.ok, headers: this.#headers }; }
  }
  for (const c of [Headers, Request, Response]) tag(c, c.name);

  const fetch = (input, init) => {
    const failed = new TypeError(''); // it keeps the caller's stack
    let r;
    try {
      r = new Request(input, init);
    } catch (e) {
      return P.reject(e);
    }
    const signal = r.signal;
    if (signal?.aborted) return P.reject(signal.reason);
    const head = stringify({ __proto__: null, method: r.method, url: r.url, header: [...r.headers], redirect: r.redirect });
    return new P((resolve, refuse) => {
      const answer = ask(FETCH, head, bytesOf(r) ?? undefined), id = asked();
      const stop = () => { host(ABORT, id); refuse(signal.reason); };
      signal?.addEventListener('abort', stop, { once: true });
      answer.then(([told, bytes]) => {
        signal?.removeEventListener('abort', stop);
        resolve(new Response(r.method === 'HEAD' || empty(told.status) ? null : bytes, told, inner));
      }, e => {
        signal?.removeEventListener('abort', stop);
        // As on the web, a request that the network failed is a TypeError. What the
        // user forbids is the ToolError that a call would throw.
        if (e.kind !== 'ToolFailure' && e.kind !== 'InvalidToolInput') { refuse(e); return; }
        failed.message = e.message;
        failed.kind = e.kind;
        if (e.hint !== undefined) failed.hint = e.hint;
        adopt(failed, e);
        refuse(failed);
      });
    });
  };
  $.onStart.push(s => {
    if (!s.fetch) return;
    for (const c of [Headers, Request, Response]) hide(c.name, c);
    hide('fetch', fetch);
  });
})
