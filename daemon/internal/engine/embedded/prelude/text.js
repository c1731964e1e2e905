// TextEncoder, TextDecoder, structuredClone and the abort classes.
($ => {
  'use strict';
  const { host, hide, apply, defineProperty, create } = $;
  const ENCODE = 33, DECODE = 34;
  const Bytes = Uint8Array, Str = String, isView = ArrayBuffer.isView;
  const tag = (c, name) => defineProperty(c.prototype, Symbol.toStringTag, { value: name, configurable: true });

  // --- text ------------------------------------------------------------------
  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return host(ENCODE, Str(text)); }
    encodeInto(text, into) {
      let read = 0, written = 0;
      for (const c of Str(text)) {
        const bytes = host(ENCODE, c);
        if (written + bytes.length > into.length) break;
        into.set(bytes, written);
        written += bytes.length;
        read += c.length;
      }
      return { read, written };
    }
  }
  const labels = { __proto__: null, 'utf-8': 'utf-8', utf8: 'utf-8', 'utf-16le': 'utf-16le', 'utf-16': 'utf-16le', latin1: 'latin1', 'iso-8859-1': 'latin1', ascii: 'latin1', 'us-ascii': 'latin1' };
  class TextDecoder {
    #encoding; #fatal; #keepBOM; #rest = new Bytes(0);
    constructor(label = 'utf-8', options = {}) {
      this.#encoding = labels[Str(label).trim().toLowerCase()];
      if (this.#encoding === undefined) throw new RangeError('the encoding ' + label + ' is not supported: utf-8, utf-16le and latin1 are');
      this.#fatal = !!options.fatal;
      this.#keepBOM = !!options.ignoreBOM;
    }
    get encoding() { return this.#encoding === 'latin1' ? 'windows-1252' : this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#keepBOM; }
    decode(input, options) {
      let bytes = input === undefined ? new Bytes(0) : isView(input) ? new Bytes(input.buffer, input.byteOffset, input.byteLength) : new Bytes(input);
      if (this.#rest.length) {
        const all = new Bytes(this.#rest.length + bytes.length);
        all.set(this.#rest);
        all.set(bytes, this.#rest.length);
        bytes = all;
        this.#rest = new Bytes(0);
      }
      if (options && options.stream) {
        const whole = this.#whole(bytes);
        this.#rest = bytes.slice(whole);
        bytes = bytes.subarray(0, whole);
      }
      const text = host(DECODE, bytes, this.#encoding);
      if (this.#fatal && text.includes('\ufffd') && this.#invalid(text, bytes)) throw new TypeError('the data is not valid ' + this.#encoding);
      return !this.#keepBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
    // How many bytes at the start are whole characters.
    #whole(bytes) {
      const n = bytes.length;
      if (this.#encoding === 'utf-16le') return n - n % 2;
      if (this.#encoding === 'latin1') return n;
      for (let back = 1; back <= Math.min(3, n); back++) {
        const b = bytes[n - back];
        if ((b & 0xc0) === 0x80) continue;
        const need = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : b >= 0xc0 ? 2 : 1;
        return need > back ? n - back : n;
      }
      return n;
    }
    // A replacement character may have been in the text itself.
    #invalid(text, bytes) {
      const again = host(ENCODE, text);
      if (this.#encoding !== 'utf-8' || again.length !== bytes.length) return true;
      for (let i = 0; i < again.length; i++) if (again[i] !== bytes[i]) return true;
      return false;
    }
  }
  tag(TextEncoder, 'TextEncoder');
  tag(TextDecoder, 'TextDecoder');
  hide('TextEncoder', TextEncoder);
  hide('TextDecoder', TextDecoder);

  // --- structuredClone -------------------------------------------------------
  const errors = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const refuse = what => { throw new DOMException(what + ' could not be cloned', 'DataCloneError'); };
  const clone = (v, seen) => {
    if (typeof v === 'function') refuse('a function');
    if (typeof v === 'symbol') refuse('a symbol');
    if (v === null || typeof v !== 'object') return v;
    if (seen.has(v)) return seen.get(v);
    const keep = copy => { seen.set(v, copy); return copy; };
    if ($.spaces.has(v)) refuse('a namespace of tools');
    if (Array.isArray(v)) {
      const copy = keep(new Array(v.length));
      for (const k of Object.keys(v)) copy[k] = clone(v[k], seen);
      return copy;
    }
    if (v instanceof Date) return keep(new Date(v.getTime()));
    if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
    if (v instanceof Map) {
      const copy = keep(new Map());
      for (const [k, x] of v) copy.set(clone(k, seen), clone(x, seen));
      return copy;
    }
    if (v instanceof Set) {
      const copy = keep(new Set());
      for (const x of v) copy.add(clone(x, seen));
      return copy;
    }
    if (v instanceof ArrayBuffer) return keep(v.slice(0));
    if (isView(v)) {
      const buffer = clone(v.buffer, seen);
      return keep(v instanceof DataView ? new DataView(buffer, v.byteOffset, v.byteLength) : new v.constructor(buffer, v.byteOffset, v.length));
    }
    if (v instanceof Error) {
      const copy = keep(create((errors[v.name] ?? Error).prototype));
      for (const k of ['message', 'stack', 'cause']) if (Object.hasOwn(v, k)) defineProperty(copy, k, { value: clone(v[k], seen), writable: true, configurable: true });
      return copy;
    }
    for (const c of [Number, String, Boolean, BigInt]) if (v instanceof c) return keep(Object(v.valueOf()));
    if (v instanceof Promise) refuse('a promise');
    if (v instanceof WeakMap || v instanceof WeakSet || v instanceof WeakRef) refuse('a weak collection');
    const copy = keep({});
    for (const k of Object.keys(v)) copy[k] = clone(v[k], seen);
    return copy;
  };
  hide('structuredClone', (v, options) => clone(v, new Map()));

  // --- events and aborting ---------------------------------------------------
  class Event {
    #type; #stopped = false; #prevented = false; #cancelable;
    target = null;
    constructor(type, options = {}) { this.#type = Str(type); this.#cancelable = !!options.cancelable; }
    get type() { return this.#type; }
    get cancelable() { return this.#cancelable; }
    get defaultPrevented() { return this.#prevented; }
    preventDefault() { if (this.#cancelable) this.#prevented = true; }
    stopPropagation() {}
    stopImmediatePropagation() { this.#stopped = true; }
    static stopped(e) { return e.#stopped; }
  }
  const isStopped = Event.stopped;
  delete Event.stopped;
  class EventTarget {
    #listeners = [];
    addEventListener(type, f, options) {
      if (f === null || f === undefined || this.#listeners.some(l => l.type === type && l.f === f)) return;
      this.#listeners.push({ type, f, once: !!(options && options.once) });
    }
    removeEventListener(type, f) { this.#listeners = this.#listeners.filter(l => l.type !== type || l.f !== f); }
    dispatchEvent(e) {
      e.target = this;
      const on = this['on' + e.type];
      if (typeof on === 'function') apply(on, this, [e]);
      for (const l of [...this.#listeners]) {
        if (l.type !== e.type) continue;
        if (l.once) this.removeEventListener(l.type, l.f);
        if (typeof l.f === 'function') apply(l.f, this, [e]); else l.f.handleEvent(e);
        if (isStopped(e)) break;
      }
      return !e.defaultPrevented;
    }
  }
  let inside = false, abort;
  class AbortSignal extends EventTarget {
    #aborted = false; #reason;
    onabort = null;
    constructor() { super(); if (!inside) throw new TypeError('AbortSignal is made by an AbortController'); }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    static {
      abort = (signal, reason = new DOMException('the operation was aborted', 'AbortError')) => {
        if (signal.#aborted) return;
        signal.#aborted = true;
        signal.#reason = reason;
        signal.dispatchEvent(new Event('abort'));
      };
    }
    static abort(reason) { const s = signal(); abort(s, reason); return s; }
    static timeout(ms) { const s = signal(); $.later(() => abort(s, new DOMException('the operation timed out', 'TimeoutError')), ms); return s; }
    static any(signals) {
      const s = signal();
      for (const other of signals) {
        if (other.aborted) { abort(s, other.reason); break; }
        other.addEventListener('abort', () => abort(s, other.reason), { once: true });
      }
      return s;
    }
  }
  const signal = () => { inside = true; try { return new AbortSignal(); } finally { inside = false; } };
  class AbortController {
    #signal = signal();
    get signal() { return this.#signal; }
    abort(reason) { abort(this.#signal, reason); }
  }
  for (const c of [Event, EventTarget, AbortSignal, AbortController]) { tag(c, c.name); hide(c.name, c); }
})
