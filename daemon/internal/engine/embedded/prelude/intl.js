// Intl and toLocaleString for en-US. The engine itself has none and would ignore
// the options silently; another language is a RangeError that says so, since a
// wrong format is worse than none.
($ => {
  'use strict';
  const { host, hide, defineProperty, parse } = $;
  const ZONE = 35, LOCALE = 'en-US', Str = String;
  const put = (o, name, value) => defineProperty(o, name, { value, writable: true, configurable: true, enumerable: false });
  const locale = tags => {
    for (const tag of tags === undefined ? [] : Array.isArray(tags) ? tags : [tags]) {
      if (typeof tag !== 'string' || !/^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(tag)) throw new RangeError('incorrect locale: ' + Str(tag));
      if (!/^en(-|$)/i.test(tag)) throw new RangeError('the locale ' + tag + ' is not available in the embedded engine: en-US is');
    }
    return LOCALE;
  };
  const choose = (options, name, allowed, standard) => {
    const v = options[name];
    if (v === undefined) return standard;
    if (!allowed.includes(v)) throw new RangeError('the value ' + Str(v) + ' of ' + name + ' is not one of ' + allowed.join(', '));
    return v;
  };
  const digits = (options, name, low, high, standard) => {
    const v = options[name];
    if (v === undefined) return standard;
    const n = Number(v);
    if (!(n >= low && n <= high)) throw new RangeError(name + ' must be between ' + low + ' and ' + high);
    return Math.floor(n);
  };

  // --- numbers ---------------------------------------------------------------
  const symbols = { __proto__: null, USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥', KRW: '₩', BRL: 'R$', CAD: 'CA$', AUD: 'A$', MXN: 'MX$', NZD: 'NZ$', ILS: '₪', VND: '₫', TWD: 'NT$', HKD: 'HK$', PHP: '₱' };
  const whole = ['JPY', 'KRW', 'VND', 'CLP', 'ISK', 'XAF', 'XOF', 'PYG', 'UGX'];
  const units = { __proto__: null, kilobyte: 'kB', megabyte: 'MB', gigabyte: 'GB', terabyte: 'TB', byte: 'byte', bit: 'bit', percent: '%', celsius: '°C', fahrenheit: '°F', meter: 'm', kilometer: 'km', centimeter: 'cm', millimeter: 'mm', mile: 'mi', foot: 'ft', inch: 'in', gram: 'g', kilogram: 'kg', pound: 'lb', liter: 'L', second: 'sec', minute: 'min', hour: 'hr', day: 'day', week: 'wk', month: 'mth', year: 'yr', millisecond: 'ms' };
  const group = s => s.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  const trim = (s, least) => {
    if (!s.includes('.')) return s;
    let end = s.length;
    const stop = s.indexOf('.') + 1 + least;
    while (end > stop && s[end - 1] === '0') end--;
    return s[end - 1] === '.' ? s.slice(0, end - 1) : s.slice(0, end);
  };
  // plainDigits writes 1e21 and more, and 1e-7 and less, without an exponent.
  const plainDigits = s => {
    const m = /^(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(s);
    if (!m) return s;
    const all = m[1] + (m[2] ?? ''), at = 1 + Number(m[3]);
    return at <= 0 ? '0.' + '0'.repeat(-at) + all : at >= all.length ? all + '0'.repeat(at - all.length) : all.slice(0, at) + '.' + all.slice(at);
  };
  class NumberFormat {
    #o;
    constructor(tags, options = {}) {
      locale(tags);
      const style = choose(options, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal');
      const o = this.#o = { style, locale: LOCALE, numberingSystem: 'latn' };
      if (style === 'currency') {
        if (options.currency === undefined) throw new TypeError('the style currency needs a currency');
        o.currency = Str(options.currency).toUpperCase();
        o.currencyDisplay = choose(options, 'currencyDisplay', ['symbol', 'narrowSymbol', 'code', 'name'], 'symbol');
        o.currencySign = choose(options, 'currencySign', ['standard', 'accounting'], 'standard');
      }
      if (style === 'unit') {
        if (options.unit === undefined) throw new TypeError('the style unit needs a unit');
        o.unit = Str(options.unit);
        o.unitDisplay = choose(options, 'unitDisplay', ['short', 'long', 'narrow'], 'short');
        for (const u of o.unit.split('-per-')) if (units[u] === undefined) throw new RangeError('the unit ' + u + ' is not available');
      }
      o.notation = choose(options, 'notation', ['standard', 'compact', 'scientific', 'engineering'], 'standard');
      if (o.notation === 'engineering') throw new RangeError('the notation engineering is not available in the embedded engine');
      o.compactDisplay = choose(options, 'compactDisplay', ['short', 'long'], 'short');
      o.signDisplay = choose(options, 'signDisplay', ['auto', 'always', 'never', 'exceptZero', 'negative'], 'auto');
      o.useGrouping = options.useGrouping === undefined ? true : options.useGrouping !== false && options.useGrouping !== 'false';
      o.minimumIntegerDigits = digits(options, 'minimumIntegerDigits', 1, 21, 1);
      const money = style === 'currency' && o.notation === 'standard' ? whole.includes(o.currency) ? 0 : 2 : undefined;
      const least = digits(options, 'minimumFractionDigits', 0, 100), most = digits(options, 'maximumFractionDigits', 0, 100);
      const low = money ?? 0, high = money ?? (style === 'percent' || o.notation === 'compact' ? 0 : 3);
      o.minimumFractionDigits = least ?? Math.min(low, most ?? low);
      o.maximumFractionDigits = most ?? Math.max(high, o.minimumFractionDigits);
      if (o.minimumFractionDigits > o.maximumFractionDigits) throw new RangeError('maximumFractionDigits is less than minimumFractionDigits');
      if (options.minimumSignificantDigits !== undefined || options.maximumSignificantDigits !== undefined) {
        o.minimumSignificantDigits = digits(options, 'minimumSignificantDigits', 1, 21, 1);
        o.maximumSignificantDigits = digits(options, 'maximumSignificantDigits', o.minimumSignificantDigits, 21, 21);
      }
      o.rounded = least !== undefined || most !== undefined || o.maximumSignificantDigits !== undefined;
      this.format = v => this.#format(v);
    }
    static supportedLocalesOf(tags) { return (Array.isArray(tags) ? tags : [tags]).filter(t => /^en(-|$)/i.test(t)); }
    resolvedOptions() { const { rounded, ...o } = this.#o; return o; }
    formatToParts(v) { return [{ type: 'literal', value: this.#format(v) }]; }
    formatRange(a, b) { return this.#format(a) + '–' + this.#format(b); }
    #digits(n) {
      const o = this.#o;
      if (o.maximumSignificantDigits !== undefined) {
        const s = plainDigits(n.toPrecision(o.maximumSignificantDigits));
        const lead = n === 0 ? 1 : Math.floor(Math.log10(n)) + 1;
        return trim(s, Math.max(0, o.minimumSignificantDigits - lead));
      }
      const s = n < 1e21 ? n.toFixed(o.maximumFractionDigits) : plainDigits(Str(n));
      return trim(s, o.minimumFractionDigits);
    }
    #format(v) {
      const o = this.#o;
      let negative, body, suffix = '';
      if (typeof v === 'bigint') {
        negative = v < 0n;
        if (o.style === 'percent') v *= 100n;
        body = Str(negative ? -v : v);
        if (o.minimumFractionDigits > 0) body += '.' + '0'.repeat(o.minimumFractionDigits);
      } else {
        let n = Number(v);
        negative = n < 0 || Object.is(n, -0);
        n = Math.abs(n);
        if (o.style === 'percent') n *= 100;
        if (n === Infinity) body = '∞';
        else if (n !== n) body = 'NaN';
        else if (o.notation === 'scientific') {
          const e = n === 0 ? 0 : Math.floor(Math.log10(n));
          body = this.#digits(n / 10 ** e);
          suffix = 'E' + e;
        } else if (o.notation === 'compact') {
          const names = o.compactDisplay === 'short' ? ['', 'K', 'M', 'B', 'T'] : ['', ' thousand', ' million', ' billion', ' trillion'];
          const scaled = k => { const x = n / 1000 ** k; return o.rounded ? this.#digits(x) : x < 100 ? trim(x.toPrecision(2), 0) : x.toFixed(0); };
          let k = n < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(n) / 3));
          if (Number(plainDigits(scaled(k))) >= 1000 && k < 4) k++;
          body = plainDigits(scaled(k));
          suffix = names[k];
        } else body = this.#digits(n);
      }
      const zero = !/[1-9∞N]/.test(body);
      let [integer, fraction] = body.split('.');
      integer = integer.padStart(o.minimumIntegerDigits, '0');
      if (o.useGrouping && /^\d+$/.test(integer)) integer = group(integer);
      body = (fraction === undefined ? integer : integer + '.' + fraction) + suffix;
      if (o.style === 'percent') body += '%';
      if (o.style === 'unit') {
        const [a, b] = o.unit.split('-per-'), one = body === '1';
        const name = u => o.unitDisplay === 'long' || u === 'byte' || u === 'bit' || u === 'day' ? u + (one || o.unitDisplay === 'narrow' ? '' : 's') : units[u];
        const tight = a === 'percent' || a === 'celsius' || a === 'fahrenheit' || o.unitDisplay === 'narrow';
        body += (tight ? '' : ' ') + name(a) + (b ? '/' + (units[b] === 'sec' ? 's' : units[b] === 'hr' ? 'h' : units[b]) : '');
      }
      let lead = '';
      if (o.style === 'currency') {
        if (o.currencyDisplay === 'name') body += ' ' + o.currency;
        else if (o.currencyDisplay === 'code' || symbols[o.currency] === undefined) lead = o.currency + '\u00a0';
        else lead = o.currencyDisplay === 'narrowSymbol' ? symbols[o.currency].replace(/^[A-Z]+(?=\W)/, '') : symbols[o.currency];
      }
      let sign = negative ? '-' : '';
      switch (o.signDisplay) {
        case 'always': sign ||= '+'; break;
        case 'never': sign = ''; break;
        case 'exceptZero': sign = zero ? '' : sign || '+'; break;
        case 'negative': if (zero) sign = '';
      }
      return sign === '-' && o.currencySign === 'accounting' ? '(' + lead + body + ')' : sign + lead + body;
    }
  }

  // --- dates -----------------------------------------------------------------
  const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
  const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
  const zones = new Map();
  // zone returns the offset in minutes and the short name of a time zone.
  const zone = (name, ms) => {
    if (name === 'UTC') return { offset: 0, short: 'UTC' };
    const text = host(ZONE, name, ms);
    if (text === '') throw new RangeError('the time zone ' + name + ' is not known');
    return parse(text);
  };
  const dateParts = ['weekday', 'year', 'month', 'day', 'era'], timeParts = ['hour', 'minute', 'second', 'dayPeriod', 'fractionalSecondDigits'];
  const styles = {
    date: { full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }, long: { year: 'numeric', month: 'long', day: 'numeric' }, medium: { year: 'numeric', month: 'short', day: 'numeric' }, short: { year: '2-digit', month: 'numeric', day: 'numeric' } },
    time: { full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'long' }, long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' }, medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' }, short: { hour: 'numeric', minute: '2-digit' } },
  };
  // Only these have short names in en-US; every other zone is an offset.
  const american = (name, short) => /^(America|US)\/|^Pacific\/Honolulu$/.test(name) && /^(E|C|M|P|AK|H)[SD]T$/.test(short);
  const two = n => Str(n).padStart(2, '0');
  class DateTimeFormat {
    #o;
    constructor(tags, options = {}, standard = 'date') {
      locale(tags);
      const o = this.#o = { locale: LOCALE, calendar: 'gregory', numberingSystem: 'latn', timeZone: options.timeZone === undefined ? 'UTC' : Str(options.timeZone) };
      if (/^(utc|gmt|etc\/utc|etc\/gmt)$/i.test(o.timeZone)) o.timeZone = 'UTC';
      zone(o.timeZone, 0);
      const wanted = [...dateParts, ...timeParts, 'timeZoneName'];
      for (const name of wanted) if (options[name] !== undefined) o[name] = options[name];
      if (options.dateStyle !== undefined || options.timeStyle !== undefined) {
        if (wanted.some(name => options[name] !== undefined)) throw new TypeError('dateStyle and timeStyle cannot stand beside single parts');
        o.dateStyle = choose(options, 'dateStyle', ['full', 'long', 'medium', 'short']);
        o.timeStyle = choose(options, 'timeStyle', ['full', 'long', 'medium', 'short']);
        Object.assign(o, styles.date[o.dateStyle], styles.time[o.timeStyle]);
      } else if (!wanted.some(name => options[name] !== undefined && name !== 'timeZoneName' && name !== 'era') || standard === 'time' && !timeParts.some(name => options[name] !== undefined) || standard === 'day' && !dateParts.some(name => options[name] !== undefined)) {
        if (standard !== 'time') for (const name of ['year', 'month', 'day']) o[name] ??= 'numeric';
        if (standard === 'time' || standard === 'all') Object.assign(o, { hour: o.hour ?? 'numeric', minute: '2-digit', second: '2-digit' });
      }
      o.hour12 = options.hour12 !== undefined ? !!options.hour12 : options.hourCycle !== undefined ? Str(options.hourCycle).startsWith('h1') : true;
      this.format = d => this.#format(d);
    }
    static supportedLocalesOf(tags) { return NumberFormat.supportedLocalesOf(tags); }
    resolvedOptions() { return { ...this.#o }; }
    formatToParts(d) { return this.#parts(d); }
    formatRange(a, b) { return this.#format(a) + ' – ' + this.#format(b); }
    #format(d) { return this.#parts(d).map(p => p.value).join(''); }
    #parts(d) {
      const o = this.#o, ms = d === undefined ? Date.now() : Number(d);
      if (!Number.isFinite(ms)) throw new RangeError('invalid time value');
      const z = zone(o.timeZone, ms), t = new Date(ms + z.offset * 60000);
      const out = [], add = (type, value) => { out.push({ type, value: Str(value) }); }, sep = value => { if (out.length) add('literal', value); };
      const year = t.getUTCFullYear(), month = t.getUTCMonth(), day = t.getUTCDate();
      const number = (v, style) => style === '2-digit' ? two(v % 100) : Str(v);
      if (o.weekday) add('weekday', o.weekday === 'long' ? days[t.getUTCDay()] : days[t.getUTCDay()].slice(0, o.weekday === 'narrow' ? 1 : 3));
      const named = o.month && o.month !== 'numeric' && o.month !== '2-digit';
      if (named) {
        sep(o.weekday ? ', ' : '');
        add('month', o.month === 'long' ? months[month] : months[month].slice(0, o.month === 'narrow' ? 1 : 3));
        if (o.day) { sep(' '); add('day', number(day, o.day)); }
        if (o.year) { sep(o.day ? ', ' : ' '); add('year', number(year, o.year)); }
      } else {
        let first = true;
        for (const [type, v] of [['month', month + 1], ['day', day], ['year', year]]) {
          if (!o[type]) continue;
          sep(first ? o.weekday ? ', ' : '' : '/');
          first = false;
          add(type, number(v, o[type]));
        }
      }
      if (o.era) { sep(' '); add('era', year > 0 ? 'AD' : 'BC'); }
      if (o.hour || o.minute || o.second || o.fractionalSecondDigits) {
        if (out.length) sep(o.dateStyle === 'full' || o.dateStyle === 'long' ? ' at ' : ', ');
        const hour = t.getUTCHours(), half = o.hour && o.hour12;
        let first = true;
        if (o.hour) { add('hour', o.hour === '2-digit' || !o.hour12 ? two(half ? hour % 12 || 12 : hour) : half ? hour % 12 || 12 : hour); first = false; }
        if (o.minute) { if (!first) sep(':'); add('minute', first && o.minute === 'numeric' && !o.second ? t.getUTCMinutes() : two(t.getUTCMinutes())); first = false; }
        if (o.second) { if (!first) sep(':'); add('second', first ? number(t.getUTCSeconds(), o.second) : two(t.getUTCSeconds())); first = false; }
        if (o.fractionalSecondDigits) { if (!first) sep('.'); add('fractionalSecond', Str(t.getUTCMilliseconds()).padStart(3, '0').slice(0, o.fractionalSecondDigits)); }
        if (half) { sep(' '); add('dayPeriod', hour < 12 ? 'AM' : 'PM'); }
      }
      if (o.timeZoneName) {
        sep(out.some(p => timeParts.includes(p.type)) ? ' ' : ', ');
        const minutes = Math.abs(z.offset), gmt = 'GMT' + (z.offset ? (z.offset < 0 ? '-' : '+') + Math.floor(minutes / 60) + (minutes % 60 ? ':' + two(minutes % 60) : '') : '');
        add('timeZoneName', o.timeZone === 'UTC' ? o.timeZoneName === 'long' ? 'Coordinated Universal Time' : 'UTC' : /Offset$/.test(o.timeZoneName) || !american(o.timeZone, z.short) ? gmt : z.short);
      }
      return out;
    }
  }

  // --- words -----------------------------------------------------------------
  class PluralRules {
    #ordinal;
    constructor(tags, options = {}) { locale(tags); this.#ordinal = choose(options, 'type', ['cardinal', 'ordinal'], 'cardinal') === 'ordinal'; }
    select(n) {
      n = Number(n);
      if (!this.#ordinal) return n === 1 ? 'one' : 'other';
      const tens = n % 100;
      return tens > 10 && tens < 14 ? 'other' : ['other', 'one', 'two', 'few'][n % 10] ?? 'other';
    }
    resolvedOptions() { return { locale: LOCALE, type: this.#ordinal ? 'ordinal' : 'cardinal' }; }
  }
  class ListFormat {
    #word; #unit;
    constructor(tags, options = {}) {
      locale(tags);
      const type = choose(options, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction');
      this.#unit = type === 'unit';
      this.#word = type === 'disjunction' ? 'or' : 'and';
    }
    format(list) {
      const a = [...list].map(Str), last = a.pop();
      if (last === undefined) return '';
      if (a.length === 0) return last;
      return this.#unit ? [...a, last].join(', ') : a.length === 1 ? a[0] + ' ' + this.#word + ' ' + last : a.join(', ') + ', ' + this.#word + ' ' + last;
    }
  }
  class RelativeTimeFormat {
    #auto; #number = new NumberFormat();
    constructor(tags, options = {}) { locale(tags); this.#auto = choose(options, 'numeric', ['always', 'auto'], 'always') === 'auto'; }
    format(value, unit) {
      const n = Number(value), past = n < 0 || Object.is(n, -0), one = Str(unit).replace(/s$/, '');
      if (!['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'].includes(one)) throw new RangeError('incorrect unit: ' + Str(unit));
      if (this.#auto && n === 0) return one === 'day' ? 'today' : one === 'second' ? 'now' : 'this ' + one;
      if (this.#auto && one === 'day' && Math.abs(n) === 1) return past ? 'yesterday' : 'tomorrow';
      if (this.#auto && Math.abs(n) === 1 && ['week', 'month', 'quarter', 'year'].includes(one)) return (past ? 'last ' : 'next ') + one;
      const text = this.#number.format(Math.abs(n)) + ' ' + one + (Math.abs(n) === 1 ? '' : 's');
      return past ? text + ' ago' : 'in ' + text;
    }
  }
  // Letters without accents and case first, then accents, then lower before upper.
  const base = s => s.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  const order = (a, b) => a < b ? -1 : a > b ? 1 : 0;
  class Collator {
    #sensitivity; #numeric;
    constructor(tags, options = {}) {
      locale(tags);
      this.#sensitivity = choose(options, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant');
      this.#numeric = !!options.numeric;
      this.compare = (a, b) => this.#compare(Str(a), Str(b));
    }
    #compare(a, b) {
      const s = this.#sensitivity;
      const main = this.#numeric ? this.#runs(base(a), base(b)) : order(base(a), base(b));
      if (main !== 0 || s === 'base') return main;
      const accents = s === 'case' ? 0 : order(a.normalize('NFD').toLowerCase(), b.normalize('NFD').toLowerCase());
      if (accents !== 0 || s === 'accent') return accents;
      return -order(a.normalize('NFD'), b.normalize('NFD'));
    }
    #runs(a, b) {
      const x = a.match(/\d+|\D+/g) ?? [], y = b.match(/\d+|\D+/g) ?? [];
      for (let i = 0; i < Math.min(x.length, y.length); i++) {
        const both = /^\d/.test(x[i]) && /^\d/.test(y[i]);
        const c = both ? order(BigInt(x[i]), BigInt(y[i])) : order(x[i], y[i]);
        if (c !== 0) return c;
      }
      return order(x.length, y.length);
    }
    resolvedOptions() { return { locale: LOCALE, usage: 'sort', sensitivity: this.#sensitivity, numeric: this.#numeric }; }
  }

  const Intl = { getCanonicalLocales: tags => (tags === undefined ? [] : Array.isArray(tags) ? tags : [tags]).map(t => { locale(t); return t; }) };
  for (const c of [NumberFormat, DateTimeFormat, PluralRules, ListFormat, RelativeTimeFormat, Collator]) {
    defineProperty(c.prototype, Symbol.toStringTag, { value: 'Intl.' + c.name, configurable: true });
    // Callable without new, as the standard has it for the first two and Collator.
    put(Intl, c.name, new Proxy(c, { apply: (_, __, args) => new c(...args) }));
  }
  for (const name of ['Segmenter', 'DisplayNames', 'Locale', 'DurationFormat']) {
    defineProperty(Intl, name, { configurable: true, enumerable: false, get() { throw new TypeError('Intl.' + name + ' is not available in the embedded engine'); } });
  }
  defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  hide('Intl', Intl);

  put(Number.prototype, 'toLocaleString', function toLocaleString(tags, options) { return new NumberFormat(tags, options).format(Number.prototype.valueOf.call(this)); });
  put(BigInt.prototype, 'toLocaleString', function toLocaleString(tags, options) { return new NumberFormat(tags, options).format(BigInt.prototype.valueOf.call(this)); });
  for (const [name, standard] of [['toLocaleString', 'all'], ['toLocaleDateString', 'day'], ['toLocaleTimeString', 'time']]) {
    put(Date.prototype, name, { [name](tags, options) {
      if (Number.isNaN(this.getTime())) return 'Invalid Date';
      return new DateTimeFormat(tags, options, standard).format(this);
    } }[name]);
  }
  put(String.prototype, 'localeCompare', function localeCompare(other, tags, options) { return new Collator(tags, options).compare(Str(this), other); });
})
