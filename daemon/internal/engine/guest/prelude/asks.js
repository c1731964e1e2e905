// What a program asks for besides calls: search, types, what servers offer other
// than tools, standard input, saved scripts and artifacts.
($ => {
  'use strict';
  const { ask, refused, nameless, host, hide, json, value, apply, stringify, freeze, defineProperty } = $;
  const Str = String, Bytes = Uint8Array, Buffer = ArrayBuffer, isView = Buffer.isView, then = Promise.prototype.then;

  // Operations, as in core.js.
  const SEARCH = 7, DESCRIBE = 8, RESOURCE = 10, RUN = 11, STDIN = 13, ARTIFACT = 14;

  hide('search', (query, options) => nameless(query) ? refused('InvalidToolInput', 'search takes words and options', undefined, undefined, 'write search("words", { namespace, limit, offset })') : ask(SEARCH, json({ ...options, query: query === undefined ? '' : Str(query) })));
  hide('describe', path => nameless(path) ? refused('InvalidToolInput', 'describe takes a path', undefined, undefined, 'write describe("namespace.tool")') : ask(DESCRIBE, Str(path)));
  // What servers offer besides tools. The parameters are named here, so that
  // nothing else of an options object goes out.
  const material = (method, params) => {
    let text;
    try {
      text = json(params);
    } catch (e) {
      if (e === null) throw e;
      return refused('InvalidToolInput', 'the arguments of ' + method + ' cannot be written as JSON: ' + e?.message);
    }
    return ask(RESOURCE, method, text);
  };
  const word = v => v === undefined || v === null ? undefined : Str(v);
  const pick = o => o === undefined || o === null ? {} : typeof o === 'string' ? { server: o } : o;
  const listing = method => options => {
    const o = pick(options);
    return material(method, { server: word(o.server), cursor: word(o.cursor), limit: o.limit });
  };
  hide('resources', freeze({
    list: listing('resources.list'),
    templates: listing('resources.templates'),
    read: (uri, options) => nameless(uri) ? refused('InvalidToolInput', 'resources.read takes a URI and options', undefined, undefined, 'write resources.read("' + (word(uri.uri) ?? 'scheme://…') + '", { server })') : material('resources.read', { uri: Str(uri), server: word(pick(options).server), raw: pick(options).raw === true }),
  }));
  hide('prompts', freeze({
    list: listing('prompts.list'),
    get: (name, args, options) => nameless(name) ? refused('InvalidToolInput', 'prompts.get takes a name, arguments and options', undefined, undefined, 'write prompts.get("' + (word(name.name) ?? 'name') + '", { … }, { server })') : material('prompts.get', { name: Str(name), arguments: args ?? {}, server: word(pick(options).server), raw: pick(options).raw === true }),
  }));

  // What was piped in, which is there as a whole: it is fetched when it is asked
  // for. Lines come as an array, or one by one in a for await.
  let piped;
  const pipedText = () => piped ??= host(STDIN) ?? '';
  const { asyncIterator } = Symbol, asyncFrom = async function* (list) { yield* await list; };
  const split = Str.prototype.split, pop = Array.prototype.pop;
  hide('stdin', freeze({
    text: async () => pipedText(),
    json: async () => {
      const text = pipedText();
      try {
        return text === '' ? undefined : value(text, true);
      } catch (e) {
        throw new SyntaxError('standard input is not JSON: ' + e.message);
      }
    },
    lines: () => {
      const list = (async () => {
        const lines = apply(split, pipedText(), [/\r?\n/]);
        if (lines[lines.length - 1] === '') apply(pop, lines, []);
        return lines;
      })();
      return defineProperty(list, asyncIterator, { value: () => asyncFrom(list), configurable: true, writable: true, enumerable: false });
    },
  }));

  // A saved script, by its name.
  hide('run', (name, input) => {
    let text;
    if (nameless(name)) return refused('InvalidToolInput', 'run takes a name and an input', undefined, undefined, 'write run("' + (word(name.name) ?? 'name') + '", { … })');
    try {
      text = input === undefined ? undefined : json(input);
    } catch (e) {
      return refused('InvalidToolInput', 'the input of ' + Str(name) + ' cannot be written as JSON: ' + e.message);
    }
    return ask(RUN, Str(name), text);
  });

  // --- artifacts -------------------------------------------------------------
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const { at } = Bytes.prototype, View = DataView, Shared = globalThis.SharedArrayBuffer; // some runtimes have none
  const pairs = [];
  for (let i = 0; i < 4096; i++) pairs[i] = letters[i >> 6] + letters[i & 63];
  const native = Bytes.prototype.toBase64; // older runtimes have none; 30 times as fast
  const base64 = b => {
    if (native !== undefined) return apply(native, b, []);
    let out = '';
    const n = b.length, whole = n - n % 3;
    for (let i = 0; i < whole; i += 3) out += pairs[b[i] << 4 | b[i + 1] >> 4] + pairs[(b[i + 1] & 15) << 8 | b[i + 2]];
    if (n - whole === 1) out += pairs[b[whole] << 4] + '==';
    if (n - whole === 2) out += pairs[b[whole] << 4 | b[whole + 1] >> 4] + letters[(b[whole + 1] & 15) << 2] + '=';
    return out;
  };
  // Text is kept as it is, bytes as they are, all else as JSON.
  const artifact = (name, data, options) => {
    let type = typeof options === 'string' ? options : options?.mimeType, text, bytes = false;
    name = Str(name);
    if (typeof data === 'string') {
      text = data;
      type ??= 'text/plain; charset=utf-8';
    } else if (isView(data) || data instanceof Buffer || Shared !== undefined && data instanceof Shared) {
      bytes = true;
      try {
        // A view that its buffer has no room for any more says that it is empty; reading of it throws.
        if (isView(data) && !(data instanceof View)) apply(at, data, [0]);
        text = base64(!isView(data) ? new Bytes(data) : new Bytes(data.buffer, data.byteOffset, data.byteLength));
      } catch (e) {
        return refused('InvalidToolInput', 'the bytes of the artifact ' + name + ' cannot be read: ' + e.message);
      }
    } else if (data !== null && typeof data === 'object' && typeof data.arrayBuffer === 'function') { // Blob, Response
      return apply(then, data.arrayBuffer(), [b => artifact(name, b, type ?? (data.type || undefined))]);
    } else {
      try {
        text = json(data);
      } catch (e) {
        return refused('InvalidToolInput', 'the artifact ' + name + ' cannot be written as JSON: ' + e.message);
      }
      if (text === undefined) return refused('InvalidToolInput', 'the artifact ' + name + ' has no data: give a text, bytes or a value');
      type ??= 'application/json';
    }
    return ask(ARTIFACT, name, type === undefined ? '' : Str(type), text, bytes);
  };
  hide('artifact', artifact);
})
