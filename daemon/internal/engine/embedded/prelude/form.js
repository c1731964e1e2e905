// Blob, File and FormData, after the File API and XMLHttpRequest standards, as far
// as bodies of requests need them. Only programs that have fetch get them.
($ => {
  'use strict';
  const { hide, defineProperty } = $;
  const Str = String, Bytes = Uint8Array, Buffer = ArrayBuffer, isView = Buffer.isView;
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  const tag = (c, name) => defineProperty(c.prototype, Symbol.toStringTag, { value: name, configurable: true });

  // A copy of binary data, undefined of anything else.
  const binary = v => {
    if (v instanceof Buffer) return new Bytes(v.slice(0));
    if (isView(v)) return new Bytes(v.buffer, v.byteOffset, v.byteLength).slice();
    return undefined;
  };
  const join = parts => {
    let size = 0;
    for (const p of parts) size += p.length;
    const out = new Bytes(size);
    size = 0;
    for (const p of parts) { out.set(p, size); size += p.length; }
    return out;
  };

  let inside; // the bytes of a Blob
  class Blob {
    #bytes; #type;
    constructor(parts = [], options = {}) {
      const list = [];
      for (const p of parts) list.push(p instanceof Blob ? inside(p) : binary(p) ?? encoder.encode(Str(p)));
      this.#bytes = join(list);
      const type = Str(options.type ?? '');
      this.#type = /^[\x20-\x7e]*$/.test(type) ? type.toLowerCase() : '';
    }
    static { inside = b => b.#bytes; }
    get size() { return this.#bytes.length; }
    get type() { return this.#type; }
    async bytes() { return this.#bytes.slice(); }
    async arrayBuffer() { return this.#bytes.slice().buffer; }
    async text() { return decoder.decode(this.#bytes); }
    slice(start, end, type = '') { return new Blob([this.#bytes.slice(start, end)], { type }); }
  }
  class File extends Blob {
    #name; #modified;
    constructor(parts, name, options = {}) {
      super(parts, options);
      this.#name = Str(name);
      this.#modified = options.lastModified ?? Date.now();
    }
    get name() { return this.#name; }
    get lastModified() { return this.#modified; }
  }

  class FormData {
    #list = []; // [name, string or File]
    #value(value, filename) {
      if (!(value instanceof Blob)) return Str(value);
      if (value instanceof File && filename === undefined) return value;
      return new File([value], filename ?? 'blob', { type: value.type });
    }
    append(name, value, filename) { this.#list.push([Str(name), this.#value(value, filename)]); }
    set(name, value, filename) {
      const entry = [Str(name), this.#value(value, filename)], at = this.#list.findIndex(e => e[0] === entry[0]);
      if (at < 0) { this.#list.push(entry); return; }
      this.#list = this.#list.filter((e, i) => i === at || e[0] !== entry[0]);
      this.#list[at] = entry;
    }
    delete(name) { this.#list = this.#list.filter(e => e[0] !== Str(name)); }
    get(name) { return this.#list.find(e => e[0] === Str(name))?.[1] ?? null; }
    getAll(name) { return this.#list.filter(e => e[0] === Str(name)).map(e => e[1]); }
    has(name) { return this.#list.some(e => e[0] === Str(name)); }
    forEach(run, self) { for (const [k, v] of this) run.call(self, v, k, this); }
    *entries() { for (const [k, v] of this.#list) yield [k, v]; }
    *keys() { for (const [k] of this.#list) yield k; }
    *values() { for (const [, v] of this.#list) yield v; }
    [Symbol.iterator]() { return this.entries(); }
  }
  for (const c of [Blob, File, FormData]) tag(c, c.name);

  // multipart/form-data, RFC 7578 as the HTML standard writes it.
  const lines = text => text.replace(/\r\n|\r|\n/g, '\r\n');
  const quote = text => text.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22');
  const multipart = form => {
    const boundary = '----tenon' + crypto.randomUUID().replaceAll('-', ''), parts = [];
    const text = s => parts.push(encoder.encode(s));
    for (const [name, value] of form) {
      let head = '--' + boundary + '\r\nContent-Disposition: form-data; name="' + quote(lines(name)) + '"';
      if (value instanceof Blob) {
        text(head + '; filename="' + quote(value.name) + '"\r\nContent-Type: ' + (value.type || 'application/octet-stream') + '\r\n\r\n');
        parts.push(inside(value));
        text('\r\n');
      } else text(head + '\r\n\r\n' + lines(value) + '\r\n');
    }
    text('--' + boundary + '--\r\n');
    return { bytes: join(parts), type: 'multipart/form-data; boundary=' + boundary };
  };

  // The bytes and the type of what can be a body; undefined of anything else.
  $.bodyOf = v => {
    if (typeof v === 'string') return { bytes: encoder.encode(v), type: 'text/plain;charset=UTF-8' };
    if (v instanceof URLSearchParams) return { bytes: encoder.encode(Str(v)), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
    if (v instanceof Blob) return { bytes: inside(v).slice(), type: v.type };
    if (v instanceof FormData) return multipart(v);
    const bytes = binary(v);
    return bytes && { bytes, type: '' };
  };
  $.Blob = Blob;
  $.onStart.push(s => { if (s.fetch) for (const c of [Blob, File, FormData]) hide(c.name, c); });
})
