// console, log and emit: what a program says beside its result.
($ => {
  'use strict';
  const { host, hide, show, json, apply, LOG, EMIT, stringify } = $;
  const Err = Error, capture = Error.captureStackTrace, Str = String, M = Map, now = performance.now.bind(performance), includes = String.prototype.includes;

  // The stack of whoever called f, for the position of the record.
  // JavaScriptCore has proper tail calls: f may be gone, and all above it with it.
  const here = f => {
    const o = {};
    capture(o, f);
    if (!apply(includes, o.stack, ['program'])) capture(o);
    return o.stack;
  };
  const record = (level, message, attrs, f) => { host(LOG, level, message, attrs, here(f)); };

  const attributes = v => {
    if (v === undefined) return undefined;
    try {
      const text = json(v instanceof Err ? { error: show(v) } : v);
      return text === undefined ? undefined : text[0] === '{' ? text : '{"value":' + text + '}';
    } catch {
      return stringify({ value: show(v) });
    }
  };
  const log = (message, attrs) => record('info', show(message), attributes(attrs), log);
  for (const level of ['debug', 'info', 'warn', 'error']) {
    const f = (message, attrs) => record(level, show(message), attributes(attrs), f);
    log[level] = f;
  }
  hide('log', log);

  // The arguments of console.log as one line; %s, %d, %i, %f, %j, %o, %O and %c
  // are replaced as in every other runtime.
  const line = args => {
    let out = '', i = 0;
    if (typeof args[0] === 'string' && args.length > 1) {
      i = 1;
      const text = args[0];
      for (let k = 0; k < text.length; k++) {
        const c = text[k + 1];
        if (text[k] !== '%' || c === undefined || i >= args.length && c !== '%') { out += text[k]; continue; }
        k++;
        switch (c) {
          case 's': out += show(args[i++]); break;
          case 'd': case 'i': { const n = args[i++]; out += typeof n === 'bigint' ? show(n) : c === 'i' ? parseInt(n) : Number(n); break; }
          case 'f': out += parseFloat(args[i++]); break;
          case 'j': case 'o': case 'O': out += show(args[i++]); break;
          case 'c': i++; break;
          case '%': out += '%'; break;
          default: out += '%' + c;
        }
      }
    } else if (args.length > 0) {
      out = show(args[0]);
      i = 1;
    }
    for (; i < args.length; i++) out += ' ' + show(args[i]);
    return out;
  };
  let indent = '';
  const printer = level => { const f = (...args) => record(level, indent + line(args), undefined, f); return f; };
  const counts = new M(), timers = new M();
  const console = {
    log: printer('info'), info: printer('info'), debug: printer('debug'), warn: printer('warn'), error: printer('error'),
    trace: printer('debug'), dir(v) { record('info', indent + show(v), undefined, console.dir); },
    assert(ok, ...args) { if (!ok) record('error', indent + 'assertion failed' + (args.length ? ': ' + line(args) : ''), undefined, console.assert); },
    count(label = 'default') { const n = (counts.get(label) ?? 0) + 1; counts.set(label, n); record('info', indent + Str(label) + ': ' + n, undefined, console.count); },
    countReset(label = 'default') { counts.delete(label); },
    time(label = 'default') { timers.set(label, now()); },
    timeLog(label = 'default', ...args) { record('info', indent + Str(label) + ': ' + elapsed(label) + (args.length ? ' ' + line(args) : ''), undefined, console.timeLog); },
    timeEnd(label = 'default') { record('info', indent + Str(label) + ': ' + elapsed(label), undefined, console.timeEnd); timers.delete(label); },
    group(...args) { if (args.length) record('info', indent + line(args), undefined, console.group); indent += '  '; },
    groupEnd() { indent = indent.slice(2); },
    table(rows) { record('info', indent + show(rows), undefined, console.table); },
    clear() {},
  };
  console.groupCollapsed = console.group;
  const elapsed = label => (timers.has(label) ? (now() - timers.get(label)).toFixed(3) : '0.000') + 'ms';
  hide('console', console);

  hide('emit', v => {
    const text = json(v);
    host(EMIT, text === undefined ? 'null' : text);
  });
})
