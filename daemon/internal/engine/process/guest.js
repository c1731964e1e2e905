// The inside of a process: it speaks with the host over two inherited pipes, a
// JSON array a line each way, and gives the program its globals. What stands
// before it in the file are core, asks and consoles, the parts that every engine has.
//
// A read is only pending while an answer is awaited, so that the event loop
// empties when the program has nothing left to do.
const IN = 3, OUT = 4; // descriptors; process.go has the same numbers
const READY = 32, DRAINED = 33, REJECTED = 34, HANDLED = 35, UNFIT = 36; // beside the operations of core; messages.go has the same list

const G = globalThis, deno = G.Deno, { stringify, parse } = JSON;
const P = Promise, Str = String, Num = Number, now = Date.now, exit = process.exit.bind(process), on = process.on.bind(process);
// Deno opens no descriptor by number, only by name.
const fdIn = deno ? fs.openSync('/dev/fd/' + IN, 'r') : IN, fdOut = deno ? fs.openSync('/dev/fd/' + OUT, 'w') : OUT;
const { read: readFile, writeSync, readSync } = fs;
const encoder = new TextEncoder(), decoder = new TextDecoder();
const encode = encoder.encode.bind(encoder), decode = decoder.decode.bind(decoder);

const send = (...parts) => {
  let line = '[';
  for (let i = 0; i < parts.length; i++) line += (i ? ',' : '') + (parts[i] === undefined ? 'null' : stringify(parts[i]));
  const bytes = encode(line + ']\n');
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fdOut, bytes, at, bytes.length - at);
    } catch (e) {
      if (e && e.code !== 'EAGAIN') exit(1); // nobody listens any more
    }
  }
};

// --- what comes in -----------------------------------------------------------
const buffer = new Uint8Array(64 << 10);
let rest = '', reading = false;
const take = n => {
  // Only what came now is looked through: a line of megabytes comes in many pieces.
  const lines = decode(buffer.subarray(0, n), { stream: true }).split('\n');
  lines[0] = rest + lines[0];
  rest = lines.pop();
  return lines;
};
// The first line is read at once: nothing else can be done before it.
const first = () => {
  for (;;) {
    const n = readSync(fdIn, buffer, 0, buffer.length, null);
    if (n === 0) exit(1);
    const lines = take(n);
    if (lines.length) return parse(lines[0]);
  }
};
const listen = () => {
  if (reading || open.size === 0) return;
  reading = true;
  readFile(fdIn, buffer, 0, buffer.length, null, (e, n) => {
    reading = false;
    if (e || n === 0) exit(1);
    for (const line of take(n)) {
      const [id, state, text, raw] = parse(line);
      open.delete(id);
      $.settle(id, state, text ?? undefined, raw ?? undefined);
    }
    listen();
  });
};

// --- what goes out -----------------------------------------------------------
const setup = first();
const open = new Map(); // calls without an answer, by their names
const host = (operation, ...parts) => {
  switch (operation) {
    case 0: case 7: case 8: case 10: case 11: case 14: // CALL, SEARCH, DESCRIBE, RESOURCE, RUN, ARTIFACT: each is answered
      open.set(parts[0], operation === 0 ? [parts[1], parts[2]] : ['', operation === 7 ? 'search' : operation === 8 ? 'describe' : operation === 10 ? parts[1] : operation === 11 ? 'run(' + parts[1] + ')' : 'artifact']);
      send(operation, ...parts);
      listen();
      return;
    case 9: // NAMES
      return stringify(setup.tools[parts[0]] ?? []);
    case 13: // STDIN
      return setup.stdin ?? undefined;
    case 5: // DONE
      send(operation, parts[0], stringify([...open.values()])); // those that nobody awaited
      letGo();
      return;
    case 6: // FAIL
      send(operation, ...parts);
      exit(0);
    default:
      send(operation, ...parts);
  }
};

// --- timers ------------------------------------------------------------------
// The runtime's own, of which those are known that come too late to be waited
// for once the program has ended.
const later = new Map(), longest = 2147483647;
const { setTimeout: timeout, clearTimeout: clear, setInterval: interval, clearInterval: clearEvery } = G;
const hide = (name, value) => Object.defineProperty(G, name, { value, writable: true, configurable: true, enumerable: false });
const delay = ms => Math.min(Num(ms) || 0, longest);
hide('setTimeout', (f, ms, ...rest) => {
  if (typeof f !== 'function') throw new TypeError('the callback of a timer must be a function');
  const t = timeout((...a) => { later.delete(t); f(...a); }, delay(ms), ...rest);
  later.set(t, now() + delay(ms));
  return t;
});
hide('setInterval', (f, ms, ...rest) => {
  if (typeof f !== 'function') throw new TypeError('the callback of a timer must be a function');
  return interval(f, delay(ms), ...rest);
});
hide('clearTimeout', t => { later.delete(t); clear(t); });
hide('clearInterval', t => { later.delete(t); clearEvery(t); });
const wait = G.setTimeout;
hide('sleep', ms => new P(resolve => { wait(resolve, ms); }));
const letGo = () => {
  const end = now() + setup.float;
  for (const [t, due] of later) {
    if (due < end) continue;
    if (typeof t.unref === 'function') t.unref();
    else if (deno) deno.unrefTimer(t);
  }
};

if (typeof JSON.rawJSON !== 'function') { send(UNFIT, 'JSON.rawJSON'); exit(0); }

// --- what is written ---------------------------------------------------------
// Node and Bun write to a pipe when its reader has read, and so lose the rest of a
// long output when the program ends the process in the same breath.
const settled = (stream, fd) => {
  if (!G.Bun) {
    stream._handle?.setBlocking?.(true);
    return;
  }
  const later = stream.write.bind(stream);
  stream.write = (chunk, encoding, done) => {
    let bytes, at = 0;
    try {
      bytes = typeof chunk === 'string' ? Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8') : chunk;
      while (at < bytes.length) {
        try {
          at += writeSync(fd, bytes, at, bytes.length - at);
        } catch (e) {
          if (!e || e.code !== 'EAGAIN') throw e;
          G.Bun.sleepSync(1);
        }
      }
    } catch {
      return later(at > 0 ? bytes.subarray(at) : chunk, encoding, done); // its own words for what is wrong
    }
    const f = typeof encoding === 'function' ? encoding : done;
    if (f) queueMicrotask(f);
    return true;
  };
};
settled(process.stdout, 1);
settled(process.stderr, 2);

// --- the run -----------------------------------------------------------------
const $ = core(host);
asks($);
consoles($);
const promises = new WeakMap();
let last = 0;
on('unhandledRejection', (reason, promise) => {
  promises.set(promise, ++last);
  send(REJECTED, last, $.show(reason));
});
const handled = promise => send(HANDLED, promises.get(promise) ?? 0);
if (deno) G.addEventListener('rejectionhandled', e => handled(e.promise));
else on('rejectionHandled', handled);
on('uncaughtException', e => host(6, $.failure(e)));
on('beforeExit', () => { send(DRAINED); exit(0); });
if (setup.cwd) process.chdir(setup.cwd);
hide('require', createRequire((setup.cwd || process.cwd()) + '/'));
$.start(stringify(setup.setup), setup.input ?? undefined, setup.big);
let main;
try {
  main = (0, eval)(setup.code + '\n//# sourceURL=program');
} catch (e) {
  send(READY, true);
  host(6, $.failure(e));
}
send(READY, false);
$.run(main);
