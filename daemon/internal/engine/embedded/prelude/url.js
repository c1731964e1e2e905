// URL and URLSearchParams after the WHATWG URL standard, without the mapping
// tables of IDNA: a host is lower-cased and written in Punycode.
($ => {
  'use strict';
  const { hide, defineProperty } = $;
  const Str = String;
  const ports = { __proto__: null, 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
  const special = scheme => ports[scheme] !== undefined;
  const encoder = new TextEncoder(), decoder = new TextDecoder();

  // Percent-encoding sets, each as the ASCII characters it adds to the controls.
  const QUERY = ' "#<>', SPECIAL_QUERY = QUERY + "'", FRAGMENT = ' "<>`', PATH = QUERY + '?^`{}', USERINFO = PATH + '/:;=@[\\]|';
  const encode = (text, set) => {
    let out = '';
    for (const c of text) {
      const code = c.codePointAt(0);
      if (code > 0x1f && code < 0x7f && !set.includes(c)) { out += c; continue; }
      for (const b of encoder.encode(c)) out += '%' + (b < 16 ? '0' : '') + b.toString(16).toUpperCase();
    }
    return out;
  };
  const decodePercent = text => {
    if (!text.includes('%')) return text;
    const bytes = encoder.encode(text), out = new Uint8Array(bytes.length);
    let n = 0;
    for (let i = 0; i < bytes.length; i++) {
      const hex = bytes[i] === 37 ? String.fromCharCode(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0) : '';
      if (/^[0-9a-f]{2}$/i.test(hex)) { out[n++] = parseInt(hex, 16); i += 2; } else out[n++] = bytes[i];
    }
    return decoder.decode(out.subarray(0, n));
  };

  // --- hosts -----------------------------------------------------------------
  const punycode = label => {
    const points = [...label].map(c => c.codePointAt(0)), basic = points.filter(p => p < 128);
    let out = String.fromCharCode(...basic), handled = basic.length;
    if (handled) out += '-';
    const digit = d => String.fromCharCode(d + (d < 26 ? 97 : 22));
    let n = 128, delta = 0, bias = 72;
    while (handled < points.length) {
      const m = Math.min(...points.filter(p => p >= n));
      delta += (m - n) * (handled + 1);
      n = m;
      for (const p of points) {
        if (p < n) delta++;
        if (p !== n) continue;
        let q = delta;
        for (let k = 36; ; k += 36) {
          const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
          if (q < t) break;
          out += digit(t + (q - t) % (36 - t));
          q = Math.floor((q - t) / (36 - t));
        }
        out += digit(q);
        let d = handled === basic.length ? Math.floor(delta / 700) : delta >> 1, k = 0;
        d += Math.floor(d / (handled + 1));
        for (; d > 455; k += 36) d = Math.floor(d / 35);
        bias = k + Math.floor(36 * d / (d + 38));
        delta = 0;
        handled++;
      }
      delta++;
      n++;
    }
    return 'xn--' + out;
  };
  const ipv4 = host => {
    const parts = host.split('.');
    if (parts.at(-1) === '' && parts.length > 1) parts.pop();
    if (!/^(\d+|0x[0-9a-f]*)$/i.test(parts.at(-1))) return undefined;
    if (parts.length > 4) return null;
    const numbers = parts.map(p => /^0x[0-9a-f]*$/i.test(p) ? parseInt(p.slice(2) || '0', 16) : /^0[0-7]+$/.test(p) ? parseInt(p, 8) : /^\d+$/.test(p) ? Number(p) : NaN);
    if (numbers.some(Number.isNaN) || numbers.slice(0, -1).some(n => n > 255) || numbers.at(-1) >= 256 ** (5 - numbers.length)) return null;
    let address = numbers.at(-1);
    for (let i = 0; i < numbers.length - 1; i++) address += numbers[i] * 256 ** (3 - i);
    return [24, 16, 8, 0].map(s => Math.floor(address / 2 ** s) % 256).join('.');
  };
  const ipv6 = text => {
    const v4 = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
    if (v4) {
      const b = v4[2].split('.').map(Number);
      if (b.some(n => n > 255)) return null;
      text = v4[1] + (b[0] * 256 + b[1]).toString(16) + ':' + (b[2] * 256 + b[3]).toString(16);
    }
    const halves = text.split('::');
    if (halves.length > 2) return null;
    const read = h => h === '' ? [] : h.split(':').map(p => /^[0-9a-f]{1,4}$/i.test(p) ? parseInt(p, 16) : NaN);
    const head = read(halves[0]), tail = halves.length === 2 ? read(halves[1]) : [];
    const missing = 8 - head.length - tail.length;
    if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
    const all = [...head, ...Array(halves.length === 2 ? missing : 0).fill(0), ...tail];
    if (all.some(Number.isNaN)) return null;
    let best = -1, length = 1;
    for (let i = 0; i < 8; i++) {
      let n = 0;
      while (i + n < 8 && all[i + n] === 0) n++;
      if (n > length) { best = i; length = n; }
    }
    const hex = a => a.map(n => n.toString(16)).join(':');
    return best < 0 ? hex(all) : hex(all.slice(0, best)) + '::' + hex(all.slice(best + length));
  };
  const parseHost = (text, isSpecial) => {
    if (text[0] === '[') {
      const address = text.at(-1) === ']' ? ipv6(text.slice(1, -1)) : null;
      return address === null ? null : '[' + address + ']';
    }
    if (!isSpecial) return /[\0\t\n\r #/<>?@[\\\]^|]/.test(text) ? null : encode(text, '');
    const host = decodePercent(text).normalize('NFC').toLowerCase().replace(/[\u3002\uff0e\uff61]/g, '.').split('.').map(l => /^[\0-\x7f]*$/.test(l) ? l : punycode(l)).join('.');
    if (host === '' || /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(host)) return null;
    const address = ipv4(host);
    return address === undefined ? host : address;
  };

  // --- parsing ---------------------------------------------------------------
  const driveLetter = /^[a-z][:|]$/i;
  const dots = s => /^(\.|%2e)$/i.test(s) ? 1 : /^(\.|%2e){2}$/i.test(s) ? 2 : 0;
  const resolvePath = (u, text, start) => {
    const path = [...start], parts = text.split(special(u.protocol) ? /[/\\]/ : '/');
    parts.forEach((part, i) => {
      const last = i === parts.length - 1;
      switch (dots(part)) {
        case 2:
          if (!(u.protocol === 'file:' && path.length === 1 && driveLetter.test(path[0]))) path.pop();
          if (last) path.push('');
          return;
        case 1:
          if (last) path.push('');
          return;
      }
      if (u.protocol === 'file:' && path.length === 0 && driveLetter.test(part)) part = part[0] + ':';
      path.push(encode(part, PATH));
    });
    return path;
  };
  const blank = () => ({ protocol: '', username: '', password: '', host: null, port: '', path: [], opaque: null, query: null, fragment: null });
  // setAuthority reads user:password@host:port; false when it is not valid.
  const setAuthority = (u, text) => {
    const at = text.lastIndexOf('@');
    if (at >= 0) {
      const user = text.slice(0, at), colon = user.indexOf(':');
      u.username = encode(colon < 0 ? user : user.slice(0, colon), USERINFO);
      u.password = colon < 0 ? '' : encode(user.slice(colon + 1), USERINFO);
      text = text.slice(at + 1);
    }
    const m = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(text);
    if (!m) return false;
    if (m[1] === '' && (special(u.protocol) || at >= 0 || m[2] !== undefined)) return false;
    u.host = m[1] === '' ? '' : parseHost(m[1], special(u.protocol));
    if (m[2]) {
      if (Number(m[2]) > 65535) return false;
      u.port = Str(Number(m[2])) === ports[u.protocol] ? '' : Str(Number(m[2]));
    }
    return u.host !== null;
  };
  const parse = (input, base) => {
    let text = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
    const u = blank();
    const hash = text.indexOf('#');
    if (hash >= 0) { u.fragment = encode(text.slice(hash + 1), FRAGMENT); text = text.slice(0, hash); }
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text);
    let rest = text;
    if (scheme) {
      u.protocol = scheme[1].toLowerCase() + ':';
      rest = text.slice(scheme[0].length);
    }
    const cutQuery = set => {
      const q = rest.indexOf('?');
      if (q >= 0) { u.query = encode(rest.slice(q + 1), set); rest = rest.slice(0, q); }
    };
    const slashes = special(u.protocol) ? /^[/\\]{2}/ : /^\/\//;
    const relative = !scheme || base && special(u.protocol) && base.protocol === u.protocol && !slashes.test(rest);
    if (!relative) {
      cutQuery(special(u.protocol) ? SPECIAL_QUERY : QUERY);
      if (u.protocol === 'file:') return parseFile(u, rest);
      if (special(u.protocol)) rest = '//' + rest.replace(/^[/\\]*/, '');
      if (!rest.startsWith('//')) {
        if (rest[0] === '/') u.path = resolvePath(u, rest.slice(1), []);
        else u.opaque = encode(rest, '');
        return u;
      }
      const end = rest.slice(2).search(special(u.protocol) ? /[/\\]/ : /\//);
      const authority = end < 0 ? rest.slice(2) : rest.slice(2, 2 + end);
      if (!setAuthority(u, authority)) return null;
      if (end >= 0) u.path = resolvePath(u, rest.slice(2 + end + 1), []);
      else if (special(u.protocol)) u.path = [''];
      return u;
    }
    if (!base) return null;
    if (base.opaque !== null) return !scheme && rest === '' && hash >= 0 ? { ...base, fragment: u.fragment } : null;
    u.protocol = base.protocol;
    cutQuery(special(u.protocol) ? SPECIAL_QUERY : QUERY);
    if (special(u.protocol) ? /^[/\\]{2}/.test(rest) : rest.startsWith('//')) {
      const whole = parse(u.protocol + rest, undefined);
      return whole && { ...whole, query: u.query, fragment: u.fragment };
    }
    Object.assign(u, { username: base.username, password: base.password, host: base.host, port: base.port });
    if (rest === '') {
      u.path = [...base.path];
      if (u.query === null) u.query = base.query;
    } else if (rest[0] === '/' || special(u.protocol) && rest[0] === '\\') {
      u.path = resolvePath(u, rest.slice(1), []);
    } else {
      u.path = resolvePath(u, rest, base.path.slice(0, -1));
    }
    return u;
  };
  const parseFile = (u, rest) => {
    u.host = '';
    if (/^[/\\]{2}/.test(rest)) {
      rest = rest.slice(2);
      const end = rest.search(/[/\\]/), name = end < 0 ? rest : rest.slice(0, end);
      if (!driveLetter.test(name)) {
        const host = name === '' ? '' : parseHost(name, true);
        if (host === null) return null;
        u.host = host === 'localhost' ? '' : host;
        rest = end < 0 ? '' : rest.slice(end);
      }
    }
    u.path = resolvePath(u, rest.replace(/^[/\\]/, ''), []);
    return u;
  };
  const pathText = u => u.opaque !== null ? u.opaque : u.path.map(p => '/' + p).join('');
  const text = u => {
    let out = u.protocol;
    if (u.host !== null) {
      out += '//';
      if (u.username || u.password) out += u.username + (u.password ? ':' + u.password : '') + '@';
      out += u.host + (u.port ? ':' + u.port : '');
    } else if (u.opaque === null && u.path.length > 1 && u.path[0] === '') {
      out += '/.';
    }
    return out + pathText(u) + (u.query !== null ? '?' + u.query : '') + (u.fragment !== null ? '#' + u.fragment : '');
  };

  // --- URLSearchParams -------------------------------------------------------
  const formDecode = s => decodePercent(s.replaceAll('+', ' '));
  const formEncode = s => encode(Str(s), ' !"#$%&\'()+,/:;<=>?@[\\]^`{|}~').replaceAll('%20', '+');
  const pairs = query => query.split('&').filter(Boolean).map(p => {
    const eq = p.indexOf('=');
    return eq < 0 ? [formDecode(p), ''] : [formDecode(p.slice(0, eq)), formDecode(p.slice(eq + 1))];
  });
  let attach, reload;
  class URLSearchParams {
    #list = []; #changed;
    constructor(init = '') {
      if (typeof init === 'object' && init !== null) {
        const source = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init);
        for (const pair of source) {
          const [k, v, ...more] = pair;
          if (v === undefined || more.length) throw new TypeError('a pair must have two items');
          this.#list.push([Str(k), Str(v)]);
        }
      } else {
        this.#list = pairs(Str(init).replace(/^\?/, ''));
      }
    }
    static {
      attach = (p, f) => { p.#changed = f; };
      reload = (p, query) => { p.#list = pairs(query ?? ''); };
    }
    #tell() { if (this.#changed) this.#changed(this.toString()); }
    get size() { return this.#list.length; }
    append(k, v) { this.#list.push([Str(k), Str(v)]); this.#tell(); }
    delete(k, v) { this.#list = this.#list.filter(p => p[0] !== Str(k) || v !== undefined && p[1] !== Str(v)); this.#tell(); }
    get(k) { return this.#list.find(p => p[0] === Str(k))?.[1] ?? null; }
    getAll(k) { return this.#list.filter(p => p[0] === Str(k)).map(p => p[1]); }
    has(k, v) { return this.#list.some(p => p[0] === Str(k) && (v === undefined || p[1] === Str(v))); }
    set(k, v) {
      const at = this.#list.findIndex(p => p[0] === Str(k));
      if (at < 0) this.#list.push([Str(k), Str(v)]);
      else this.#list = this.#list.filter((p, i) => i <= at || p[0] !== Str(k)).map((p, i) => i === at ? [p[0], Str(v)] : p);
      this.#tell();
    }
    sort() { this.#list.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0); this.#tell(); }
    forEach(f, self) { for (const [k, v] of this.#list) f.call(self, v, k, this); }
    *entries() { for (const p of this.#list) yield [...p]; }
    *keys() { for (const p of this.#list) yield p[0]; }
    *values() { for (const p of this.#list) yield p[1]; }
    toString() { return this.#list.map(p => formEncode(p[0]) + '=' + formEncode(p[1])).join('&'); }
  }
  defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });

  // --- URL -------------------------------------------------------------------
  const read = (input, base) => {
    const b = base === undefined ? undefined : parse(Str(base));
    return b === null ? null : parse(Str(input), b);
  };
  class URL {
    #u; #params;
    constructor(input, base) {
      this.#u = read(input, base);
      if (this.#u === null) throw new TypeError('invalid URL: ' + Str(input));
    }
    static canParse(input, base) { return read(input, base) !== null; }
    static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }
    get href() { return text(this.#u); }
    set href(v) { const u = parse(Str(v)); if (u === null) throw new TypeError('invalid URL: ' + Str(v)); this.#u = u; this.#sync(); }
    get origin() { const u = this.#u; return special(u.protocol) && u.protocol !== 'file:' ? u.protocol + '//' + u.host + (u.port ? ':' + u.port : '') : 'null'; }
    get protocol() { return this.#u.protocol; }
    set protocol(v) { const p = Str(v).replace(/:.*$/s, '').toLowerCase() + ':'; if (/^[a-z][a-z0-9+.-]*:$/.test(p) && special(p) === special(this.#u.protocol)) { this.#u.protocol = p; if (this.#u.port === ports[p]) this.#u.port = ''; } }
    get username() { return this.#u.username; }
    set username(v) { if (this.#u.host) this.#u.username = encode(Str(v), USERINFO); }
    get password() { return this.#u.password; }
    set password(v) { if (this.#u.host) this.#u.password = encode(Str(v), USERINFO); }
    get host() { return (this.#u.host ?? '') + (this.#u.port ? ':' + this.#u.port : ''); }
    set host(v) { if (this.#u.opaque === null) { const u = { ...this.#u, port: '' }, { username, password } = u; if (setAuthority(u, Str(v).replace(/[/?#].*$/s, '').replace(/.*@/s, ''))) this.#u = { ...u, username, password }; } }
    get hostname() { return this.#u.host ?? ''; }
    set hostname(v) { const h = parseHost(Str(v).replace(/[/?#:].*$/s, ''), special(this.#u.protocol)); if (h !== null && this.#u.opaque === null) this.#u.host = h; }
    get port() { return this.#u.port; }
    set port(v) { const m = /^\d*/.exec(Str(v))[0]; if (this.#u.host && (Str(v) === '' || m !== '') && Number(m) < 65536) this.#u.port = m === '' || Str(Number(m)) === ports[this.#u.protocol] ? '' : Str(Number(m)); }
    get pathname() { return pathText(this.#u); }
    set pathname(v) { if (this.#u.opaque === null) this.#u.path = resolvePath(this.#u, Str(v).replace(special(this.#u.protocol) ? /^[/\\]/ : /^\//, '').replace(/[?#]/g, c => c === '?' ? '%3F' : '%23'), []); }
    get search() { return this.#u.query ? '?' + this.#u.query : ''; }
    set search(v) { const q = Str(v).replace(/^\?/, ''); this.#u.query = Str(v) === '' ? null : encode(q, special(this.#u.protocol) ? SPECIAL_QUERY : QUERY); this.#sync(); }
    get searchParams() {
      if (this.#params === undefined) {
        this.#params = new URLSearchParams(this.#u.query ?? '');
        attach(this.#params, query => { this.#u.query = query === '' ? null : query; });
      }
      return this.#params;
    }
    get hash() { return this.#u.fragment ? '#' + this.#u.fragment : ''; }
    set hash(v) { this.#u.fragment = Str(v) === '' ? null : encode(Str(v).replace(/^#/, ''), FRAGMENT); }
    toString() { return this.href; }
    toJSON() { return this.href; }
    #sync() { if (this.#params) reload(this.#params, this.#u.query); }
  }
  for (const c of [URL, URLSearchParams]) {
    defineProperty(c.prototype, Symbol.toStringTag, { value: c.name, configurable: true });
    hide(c.name, c);
  }
})
