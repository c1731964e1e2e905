// Timers, sleep, Math.random, crypto and performance. The snapshot would give
// every run the same random numbers and the snapshot's own start of time: both
// are set anew for each run.
($ => {
  'use strict';
  const { host, hide, defineProperty, create, TIMER, UNTIMER } = $;
  const P = Promise, Str = String, Num = Number, Int = ArrayBuffer.isView;
  const timers = create(null);
  let last = 0;

  const arm = (f, ms, args, repeat, floating) => {
    if (typeof f !== 'function') throw new TypeError('the callback of a timer must be a function');
    const id = ++last;
    timers[id] = { f, args, repeat };
    host(TIMER, id, Num(ms) || 0, repeat, floating);
    return id;
  };
  const disarm = id => { if (timers[id] !== undefined) { delete timers[id]; host(UNTIMER, id); } };
  hide('setTimeout', (f, ms, ...args) => arm(f, ms, args, false, false));
  hide('setInterval', (f, ms, ...args) => arm(f, ms, args, true, false));
  hide('setImmediate', (f, ...args) => arm(f, 0, args, false, false));
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) hide(name, disarm);
  hide('sleep', ms => new P(resolve => { arm(resolve, ms, [], false, false); }));
  $.tick = id => {
    const t = timers[id];
    if (t === undefined) return;
    if (!t.repeat) delete timers[id];
    t.f(...t.args);
  };
  // A timer that does not keep the run alive.
  $.later = (f, ms) => arm(f, ms, [], false, true);

  // sfc32, seeded by the host.
  let a = 1, b = 2, c = 3, d = 1;
  const next = () => {
    const t = (a + b | 0) + d | 0;
    d = d + 1 | 0; a = b ^ b >>> 9; b = c + (c << 3) | 0; c = (c << 21 | c >>> 11) + t | 0;
    return t >>> 0;
  };
  defineProperty(Math, 'random', { writable: true, configurable: true, value: () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992 });
  const Bytes = Uint8Array;
  const RANDOM = 32;
  const crypto = {
    getRandomValues(into) {
      if (!Int(into) || into instanceof Float32Array || into instanceof Float64Array || into instanceof DataView) throw new TypeError('getRandomValues needs an array of integers');
      if (into.byteLength > 65536) throw new DOMException('getRandomValues gives at most 65536 bytes at a time', 'QuotaExceededError');
      const bytes = new Bytes(into.buffer, into.byteOffset, into.byteLength), text = host(RANDOM, into.byteLength);
      for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(text.slice(2 * i, 2 * i + 2), 16);
      return into;
    },
    randomUUID() {
      const hex = host(RANDOM, 16);
      return hex.slice(0, 8) + '-' + hex.slice(8, 12) + '-4' + hex.slice(13, 16) + '-' + '89ab'[parseInt(hex[16], 16) & 3] + hex.slice(17, 20) + '-' + hex.slice(20);
    },
  };
  defineProperty(crypto, Symbol.toStringTag, { value: 'Crypto', configurable: true });
  hide('crypto', crypto);

  const clock = performance.now.bind(performance), epoch = Date.now;
  let origin = 0;
  const watch = { now: () => clock() - origin, timeOrigin: 0, toJSON() { return { timeOrigin: this.timeOrigin }; } };
  hide('performance', watch);
  $.onStart.push(s => {
    [a, b, c, d] = s.seed;
    for (let i = 0; i < 12; i++) next();
    origin = clock();
    watch.timeOrigin = epoch();
  });
})
