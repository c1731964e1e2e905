// The bridge between a program and its host. It runs once, into the snapshot,
// and gets the one function that leads out: host(operation, …). Nothing here may
// rely on what a program can change later, so everything is taken first.
// It returns $, which the other files of the prelude extend; the host keeps some
// of its functions and forgets the rest.
(host => {
  'use strict';
  const G = globalThis, P = Promise, M = Map, S = Set, W = WeakMap, Err = Error, Gathered = AggregateError, Str = String, Num = Number, Big = BigInt;
  const { parse, stringify, rawJSON } = JSON;
  const { apply, ownKeys } = Reflect;
  const { defineProperty, create, freeze, fromEntries, assign, getPrototypeOf } = Object;
  const { isArray, from: arrayFrom } = Array;
  const { isSafeInteger } = Number;
  const { isView } = ArrayBuffer;
  const Plain = Object, hasOwn = Plain.prototype.hasOwnProperty;
  const { isExtensible } = Plain, isFrozen = o => !isExtensible(o);
  const Buffer = ArrayBuffer, Bytes = Uint8Array;
  const then = P.prototype.then, reject = P.reject;
  const weakGet = W.prototype.get, weakSet = W.prototype.set;
  const toolPath = /^(?:tools\.)?([^./]+)[./](.+)$/;
  const integer = /^-?\d+$/, test = RegExp.prototype.test, exec = RegExp.prototype.exec;
  const everyString = Array.prototype.every, some = Array.prototype.some, push = Array.prototype.push, sliceArray = Array.prototype.slice;

  // The operations; guest.go has the same list, and asks.js those that are not here.
  const CALL = 0, LOG = 1, EMIT = 2, TIMER = 3, UNTIMER = 4, DONE = 5, FAIL = 6, NAMES = 9, WARN = 12;

  // A stack of the program's own making would name the functions of this file,
  // host among them.
  delete Err.prepareStackTrace;

  const hide = (name, value) => defineProperty(G, name, { value, writable: true, configurable: true, enumerable: false });

  // --- values that leave -----------------------------------------------------
  // JSON, and beyond it: BigInt is an integer, a Map with string keys an object,
  // any other Map an array of pairs, a Set an array, an Error its name, message,
  // cause, own fields and those it gathers, binary data an array of numbers.
  const errorFields = e => {
    const out = { name: e.name, message: e.message, ...e };
    if (e instanceof Gathered && isArray(e.errors)) out.errors = e.errors;
    if (e.cause !== undefined && apply(hasOwn, e, ['cause'])) out.cause = e.cause;
    return out;
  };
  let promised; // the name of the first promise in what was written last
  const plain = (key, v) => {
    switch (typeof v) {
      case 'bigint': return rawJSON(Str(v));
      case 'object': break;
      default: return v;
    }
    if (v === null || isArray(v)) return v;
    if (v instanceof Err) return errorFields(v);
    if (v instanceof M) {
      const pairs = [...v];
      return apply(everyString, pairs, [p => typeof p[0] === 'string']) ? fromEntries(pairs) : pairs;
    }
    if (v instanceof S) return [...v];
    if (v instanceof P) { promised ??= Str(key); return {}; }
    if (isView(v)) return arrayFrom(v instanceof DataView ? new Bytes(v.buffer, v.byteOffset, v.byteLength) : v);
    if (v instanceof Buffer) return arrayFrom(new Bytes(v));
    return v;
  };
  // A replacer is called for every value, which makes a large result ten times
  // slower. So the types above are lent a toJSON for the time of our own
  // stringify, unless they have one; where that fails (a frozen prototype), the
  // replacer does it.
  const lent = [M, S, P, Err, Big, Buffer, DataView, Object.getPrototypeOf(Bytes)].map(c => c.prototype);
  const toJSON = { value(key) { return plain(key, this); }, configurable: true, writable: true, enumerable: false };
  const lend = v => {
    let n = 0;
    const mine = [];
    try {
      for (; n < lent.length; n++) {
        mine[n] = !apply(hasOwn, lent[n], ['toJSON']);
        if (mine[n]) defineProperty(lent[n], 'toJSON', toJSON);
      }
      return stringify(v);
    } finally {
      for (let i = 0; i < n; i++) if (mine[i]) delete lent[i].toJSON;
    }
  };
  // One level of plain members needs nothing of this.
  const flat = v => {
    for (const k in v) {
      const t = typeof v[k];
      if (t === 'object' ? v[k] !== null : t === 'bigint') return false;
    }
    return true;
  };
  const json = v => {
    const t = typeof v;
    promised = undefined;
    if (t === 'string' || t === 'number' || t === 'boolean' || v === null) return stringify(v);
    if (t === 'object' && !isArray(v) && v.constructor === Plain && flat(v)) return stringify(v);
    return apply(some, lent, [isFrozen]) ? stringify(v, plain) : lend(v);
  };

  // Why a value could not be written: where it refers back to what holds it, as a
  // path, else what the engine says.
  const unwritten = (v, e) => {
    let left = 10000;
    const open = [];
    const visit = (x, path) => {
      if (x === null || typeof x !== 'object' || open.length > 200 || left-- <= 0) return undefined;
      for (let i = 0; i < open.length; i++) if (open[i] === x) return path;
      apply(push, open, [x]);
      const keys = ownKeys(x), list = isArray(x);
      for (let i = 0; i < keys.length; i++) {
        if (typeof keys[i] === 'symbol') continue;
        const found = visit(x[keys[i]], path + (list ? '[' + keys[i] + ']' : '.' + keys[i]));
        if (found !== undefined) return found;
      }
      open.length--;
      return undefined;
    };
    try {
      const path = visit(v, '');
      if (path !== undefined) return path + ' refers back to what holds it';
    } catch {}
    return Str(e?.message);
  };

  // --- values that come in ---------------------------------------------------
  const revive = (key, v, context) => typeof v === 'number' && !isSafeInteger(v) && apply(test, integer, [context.source]) ? Big(context.source) : v;
  const value = (text, big) => text === undefined ? undefined : big ? parse(text, revive) : parse(text);

  // --- text for people -------------------------------------------------------
  const spaces = new W();
  const named = f => typeof f.name === 'string' && f.name ? f.name : 'anonymous';
  const errorText = e => {
    let text = Str(e.name) + (e instanceof ToolError && typeof e.kind === 'string' ? ' (' + e.kind + ')' : '') + ': ' + Str(e.message);
    if (e instanceof Gathered && isArray(e.errors)) text += ' [' + gathered(e) + ']';
    return e.cause === undefined ? text : text + ' (caused by ' + show(e.cause) + ')';
  };
  // What Promise.any gathers, the first few.
  const most = 10;
  const gathered = e => {
    let text = '';
    for (let i = 0; i < e.errors.length && i < most; i++) text += (i ? '; ' : '') + show(e.errors[i]);
    return e.errors.length > most ? text + '; and ' + (e.errors.length - most) + ' more' : text;
  };
  const display = () => {
    const open = []; // the holders above the value at hand
    return function (key, v) {
      while (open.length && open[open.length - 1] !== this) open.length--;
      switch (typeof v) {
        case 'bigint': return Str(v) + 'n';
        case 'function': return '[Function ' + named(v) + ']';
        case 'symbol': return Str(v);
        case 'object': break;
        default: return v;
      }
      if (v === null) return v;
      for (let i = 0; i < open.length; i++) if (open[i] === v) return '[Circular]';
      const space = apply(weakGet, spaces, [v]);
      if (space !== undefined) return space;
      if (v instanceof P) return '[Promise, not awaited]';
      const out = v instanceof Err ? errorText(v) : plain(key, v);
      if (typeof out === 'object' && out !== null) push.call(open, out);
      return out;
    };
  };
  const show = v => {
    try {
      switch (typeof v) {
        case 'string': return v;
        case 'function': return '[Function ' + named(v) + ']';
        case 'bigint': return Str(v) + 'n';
        case 'object': break;
        default: return Str(v);
      }
      if (v === null) return 'null';
      const space = apply(weakGet, spaces, [v]);
      if (space !== undefined) return space;
      if (v instanceof Err) return errorText(v);
      if (v instanceof P) return '[Promise, not awaited]';
      return stringify(v, display()) ?? Str(v);
    } catch {
      return '[object that cannot be shown]';
    }
  };

  // --- errors ----------------------------------------------------------------
  const fields = ['kind', 'server', 'tool', 'hint', 'pointer', 'feedback', 'content', 'data'];
  const genuine = new W(); // a ToolError of the host's making → its fault, as text
  class ToolError extends Err {
    constructor(message, options) {
      super(message, options);
      if (options) for (let i = 0; i < fields.length; i++) if (options[fields[i]] !== undefined) this[fields[i]] = options[fields[i]];
    }
  }
  defineProperty(ToolError.prototype, 'name', { value: 'ToolError', writable: true, configurable: true });
  // JSON.stringify(error) tells what the error does: message is no enumerable field.
  defineProperty(ToolError.prototype, 'toJSON', { value() { return errorFields(this); }, writable: true, configurable: true });
  hide('ToolError', ToolError);

  // The classes of an error below Error: its stack may begin in their constructors.
  const makers = e => {
    let names = '';
    try {
      for (let p = getPrototypeOf(e), n = 0; p !== null && p !== Err.prototype && n < 5; p = getPrototypeOf(p), n++) names += Str(p.constructor.name) + ' ';
    } catch {}
    return names;
  };
  const failure = e => {
    const out = create(null);
    try {
      out.fault = e !== null && typeof e === 'object' ? apply(weakGet, genuine, [e]) : undefined;
      if (e instanceof Err) {
        out.name = Str(e.name);
        out.message = Str(e.message);
        if (e instanceof Gathered && isArray(e.errors)) out.message = (out.message || 'All promises were rejected') + ': ' + gathered(e);
        out.stack = Str(e.stack);
        out.made = makers(e);
        if (e.cause !== undefined) out.cause = show(e.cause);
      } else {
        out.thrown = show(e);
        out.nothing = e === null;
      }
    } catch {
      out.thrown ??= '[a value that cannot be shown]';
    }
    return stringify(out);
  };

  // --- calls -----------------------------------------------------------------
  const waiting = create(null);
  let last = 0;
  const ask = (operation, a, b, text, raw, timeout) => {
    // It keeps the caller's stack, which costs by the frame: here it is a short one.
    const error = new ToolError('');
    return new P((resolve, refuse) => {
      const id = ++last;
      waiting[id] = { resolve, refuse, error };
      host(operation, id, a, b, text, raw, timeout);
    });
  };
  // Written without a prototype: a program may have given all objects a toJSON.
  const faultText = (kind, message, server, tool, hint) => stringify({ __proto__: null, kind, message, server, tool, hint });
  const refused = (kind, message, server, tool, hint) => {
    const error = new ToolError(message);
    error.kind = kind;
    if (server !== undefined) error.server = server;
    if (tool !== undefined) error.tool = tool;
    if (hint !== undefined) error.hint = hint;
    apply(weakSet, genuine, [error, faultText(kind, message, server, tool, hint)]);
    return apply(reject, P, [error]);
  };
  // What to do about arguments that are no object.
  const instead = args => {
    if (args instanceof P) return 'they are a promise: did you forget await?';
    if (typeof args === 'string') {
      try {
        const inside = parse(args);
        if (inside !== null && typeof inside === 'object') return 'give the object itself, without JSON.stringify';
      } catch {}
    }
    return 'give one object with named arguments, ({ name: value }); describe(path) shows the names';
  };
  const functionIn = args => {
    if (typeof args.toJSON === 'function') return undefined;
    for (const key in args) if (typeof args[key] === 'function' && apply(hasOwn, args, [key])) return key;
    return undefined;
  };
  // Whether what should be a name or words is an object without a text of its own.
  const nameless = v => v !== null && typeof v === 'object' && Str(v) === '[object Object]';
  const call = (server, tool, args, options) => {
    let text = '{}';
    if (args !== undefined && args !== null) {
      try {
        text = json(args);
      } catch (e) {
        if (e === null) throw e; // there was no memory for an error
        return refused('InvalidToolInput', 'the arguments cannot be written as JSON: ' + unwritten(args, e), server, tool);
      }
      if (text === undefined || text[0] !== '{' || args instanceof P) return refused('InvalidToolInput', 'the arguments of ' + server + '.' + tool + ' must be an object', server, tool, instead(args));
      if (promised !== undefined) return refused('InvalidToolInput', 'the argument ' + promised + ' of ' + server + '.' + tool + ' is a promise', server, tool, 'did you forget await?');
      const code = functionIn(args); // JSON leaves it out, and the tool would miss it
      if (code !== undefined) return refused('InvalidToolInput', 'the argument ' + code + ' of ' + server + '.' + tool + ' is a function', server, tool, 'a tool gets data: give the function as a text, such as "() => document.title"');
    }
    if (!options) return ask(CALL, server, tool, text);
    const limit = options.timeout; // a number or a text: the host converts nothing that could run code
    return ask(CALL, server, tool, text, options.raw === true, typeof limit === 'string' || limit === undefined ? limit : Num(limit));
  };
  hide('call', (server, tool, args, options) => {
    if (typeof server !== 'string' || typeof tool !== 'string') {
      const path = typeof server === 'string' ? apply(exec, toolPath, [server]) : null;
      return refused('InvalidToolInput', 'call takes a server, a tool and arguments', undefined, undefined,
        path === null ? 'write call("server", "tool", { … })' : 'write call(' + stringify(path[1]) + ', ' + stringify(path[2]) + ', { … })');
    }
    return call(server, tool, args, options);
  });

  const settle = (id, state, text, raw) => {
    const w = waiting[id];
    if (w === undefined) return;
    delete waiting[id];
    if (state === 0) {
      const fault = parse(text), error = w.error;
      error.message = fault.message;
      for (let i = 0; i < fields.length; i++) if (fault[fields[i]] !== undefined) error[fields[i]] = fault[fields[i]];
      apply(weakSet, genuine, [error, text]);
      w.refuse(error);
      return;
    }
    let v;
    try {
      v = value(text, state === 2);
    } catch (e) {
      if (e === null) throw e;
      const error = w.error, message = 'the answer is not JSON: ' + e?.message;
      error.kind = 'InvalidToolOutput';
      error.message = message;
      apply(weakSet, genuine, [error, faultText('InvalidToolOutput', message)]);
      w.refuse(error);
      return;
    }
    if (typeof raw === 'object') return w.resolve([v, raw]); // of fetch: the bytes of a body
    if (raw !== undefined && v !== null && typeof v === 'object' && !apply(hasOwn, v, ['raw'])) {
      // Parsed when it is asked for, which is seldom.
      defineProperty(v, 'raw', {
        configurable: true, enumerable: false,
        get() { const whole = value(raw, true); defineProperty(v, 'raw', { value: whole, writable: true, configurable: true, enumerable: false }); return whole; },
        set(x) { defineProperty(v, 'raw', { value: x, writable: true, configurable: true, enumerable: true }); },
      });
    }
    w.resolve(v);
  };

  // --- namespaces ------------------------------------------------------------
  // Names that the language itself asks every object for. Were they tools,
  // `await tools.github` would call one.
  const never = { __proto__: null, then: true, toJSON: true, toString: true, valueOf: true };
  const proxy = (names, make, text) => {
    const made = create(null), no = () => false;
    const has = (_, k) => { const all = names(); for (let i = 0; i < all.length; i++) if (all[i] === k) return true; return false; };
    const get = (_, k) => typeof k === 'symbol' || never[k] ? undefined : made[k] ??= make(k);
    const p = new Proxy(create(null), {
      get, has, ownKeys: () => names(), set: no, defineProperty: no, deleteProperty: no, preventExtensions: no, setPrototypeOf: no,
      getOwnPropertyDescriptor: (_, k) => has(_, k) ? { value: get(_, k), enumerable: true, configurable: true, writable: false } : undefined,
    });
    apply(weakSet, spaces, [p, text]);
    return p;
  };
  const namesOf = space => parse(host(NAMES, space));
  const toolsOf = space => proxy(() => namesOf(space), tool => {
    const f = (args, options) => call(space, tool, args, options);
    defineProperty(f, 'name', { value: space + '.' + tool, configurable: true });
    return f;
  }, '[tools of ' + space + ']');
  let namespaces = [];
  const tools = proxy(() => apply(sliceArray, namespaces, []), toolsOf, '[tools]');
  hide('tools', tools);

  // --- the run ---------------------------------------------------------------
  const adopt = (error, from) => { const text = apply(weakGet, genuine, [from]); if (text !== undefined) apply(weakSet, genuine, [error, text]); };
  const $ = { ask, refused, nameless, asked: () => last, adopt, host, hide, show, json, value, apply, defineProperty, create, freeze, assign, stringify, parse, ownKeys, weakGet, weakSet, spaces, exec, onStart: [], LOG, EMIT, TIMER, UNTIMER };
  const start = (setup, input, big) => {
    const s = parse(setup);
    namespaces = s.namespaces ?? [];
    for (const name of s.globals ?? []) hide(name, tools[name]);
    hide('args', s.args ?? []);
    hide('input', value(input, big));
    hide('session', freeze(s.session));
    for (let i = 0; i < $.onStart.length; i++) $.onStart[i](s);
  };
  const finish = v => {
    let text;
    try {
      promised = undefined;
      text = typeof v === 'function' || typeof v === 'symbol' ? undefined : json(v);
    } catch (e) {
      if (e === null) return host(FAIL, failure(e));
      const error = new TypeError('the result cannot be written as JSON: ' + unwritten(v, e));
      error.stack = '';
      return host(FAIL, failure(error));
    }
    if (typeof v === 'function') host(WARN, 'FunctionResult', 'the result is a function, which has no value outside of the program: call it');
    if (promised !== undefined) host(WARN, 'PromiseInResult', 'the result holds a promise (' + promised + '), which is {} there: did you forget await, or await Promise.all(…)?');
    host(DONE, text);
  };
  const run = main => {
    let p;
    try { p = main(); } catch (e) { host(FAIL, failure(e)); return; }
    apply(then, p, [finish, e => { host(FAIL, failure(e)); }]);
  };
  assign($, { start, settle, run, failure });
  return $;
})
