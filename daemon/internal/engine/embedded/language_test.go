package embedded

import "testing"

// Every feature of ES2023 that programs use, each as one expression that is true.
func TestLanguage(t *testing.T) {
	for name, source := range map[string]string{
		"private fields":        "class A { #x = 1; static #n = 2; #m() { return this.#x } get v() { return this.#m() + A.#n } has(o: any) { return #x in o } }\nnew A().v === 3 && new A().has(new A())",
		"static block":          "class A { static x: number; static { A.x = 7 } }\nA.x === 7",
		"inheritance":           "class A { f() { return 1 } }\nclass B extends A { f() { return super.f() + 1 } }\nnew B().f() === 2 && new B() instanceof A",
		"accessors":             "const o = { _x: 1, get x() { return this._x }, set x(v) { this._x = v * 2 } }; o.x = 4; o.x === 8",
		"generators":            "function* g(): any { const a = yield 1; yield a * 2; return 9 }\nconst i = g(); i.next(); i.next(21).value === 42 && i.next().done === true",
		"yield*":                "function* a() { yield* [1, 2]; yield 3 }\n[...a()].join() === '1,2,3'",
		"async generators":      "async function* g() { yield 1; yield 2 }\nlet n = 0; for await (const x of g()) n += x\nn === 3",
		"async iteration":       "let n = 0; for await (const x of [Promise.resolve(1), 2]) n += x\nn === 3",
		"tagged templates":      "const t = (s: TemplateStringsArray, ...v: any[]) => s.raw.join('|') + v.join(); t`a${1}\\n${2}` === 'a|\\\\n|1,2'",
		"new Promise":           "(await new Promise<number>((ok, no) => setTimeout(ok, 1, 5))) === 5",
		"then chains":           "(await Promise.resolve(1).then(x => x + 1).catch(() => 0).finally(() => {})) === 2",
		"promise combinators":   "const [a, b, c, d] = await Promise.all([Promise.race([1, sleep(50)]), Promise.any([Promise.reject(0), 2]), Promise.allSettled([Promise.reject(1)]), Promise.all([3])]); a === 1 && b === 2 && c[0].status === 'rejected' && d[0] === 3",
		"labelled loops":        "let n = 0; outer: for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) { if (j === 1) continue outer; if (i === 2) break outer; n++ }\nn === 2",
		"named groups":          "const m = /(?<y>\\d{4})-(?<m>\\d\\d)/.exec('on 2024-05')!; m.groups!.y === '2024' && 'x1'.replace(/(?<d>\\d)/, '[$<d>]') === 'x[1]'",
		"regexp features":       "/(?<=\\$)\\d+/.exec('a$42')![0] === '42' && /\\p{Lu}/u.test('É') && [...'a1b2'.matchAll(/\\d/g)].length === 2 && /a.b/s.test('a\\nb') && /[\\p{L}--[a-z]]/v.test('A')",
		"BigInt":                "2n ** 64n === 18446744073709551616n && BigInt.asUintN(8, 257n) === 1n && 7n / 2n === 3n && typeof 1n === 'bigint' && 1n < 2",
		"Proxy and Reflect":     "const p: any = new Proxy({}, { get: (_, k) => k, has: () => true }); p.abc === 'abc' && 'x' in p && Reflect.ownKeys({ a: 1 }).length === 1",
		"destructuring":         "const { a, b: { c = 3, ...r }, ...rest }: any = { a: 1, b: { d: 4 }, e: 5 }; const [x, , y = 7, ...z] = [1, 2, undefined, 4, 5]; a + c + r.d + rest.e + x + y! + z.length === 23",
		"optional chaining":     "const o: any = { a: null }; o?.a?.b === undefined && o.f?.() === undefined && o.a?.[0] === undefined && (o.a ?? 5) === 5",
		"logical assignment":    "let a: any = null; a ??= 1; a ||= 2; a &&= 3; a === 3",
		"spread":                "Math.max(...[1, 5, 3]) === 5 && { ...{ a: 1 }, b: 2 }.a === 1",
		"iterators":             "const o = { *[Symbol.iterator]() { yield 1; yield 2 } }; [...o].length === 2 && Array.from(o)[1] === 2",
		"collections":           "const m = new Map([[{}, 1]]), s = new Set([1, 1, 2]), w = new WeakMap(), k = {}; w.set(k, 2); m.size === 1 && s.size === 2 && w.get(k) === 2 && new WeakRef(k).deref() === k",
		"typed arrays":          "const f = new Float64Array([1.5, 2]); const v = new DataView(f.buffer); v.getFloat64(0, true) === 1.5 && new Uint8ClampedArray([300])[0] === 255",
		"array methods 2023":    "const a = [3, 1, 2]; a.toSorted().join() === '1,2,3' && a.toReversed()[0] === 2 && a.with(0, 9)[0] === 9 && a.findLast(x => x > 1) === 2 && a.toSpliced(0, 1).length === 2 && a.at(-1) === 2 && [[1, [2]]].flat(2).length === 2",
		"object methods":        "Object.fromEntries(Object.entries({ a: 1 })).a === 1 && Object.hasOwn({ a: 1 }, 'a') && Object.groupBy([1, 2, 3], x => x % 2 ? 'o' : 'e').o!.length === 2",
		"string methods":        "'a-b-c'.replaceAll('-', '+') === 'a+b+c' && 'x'.padStart(3, '-') === '--x' && ' a '.trim() === 'a' && 'abc'.at(-1) === 'c' && 'é'.normalize('NFD').length === 2",
		"set methods":           "new Set([1, 2]).union(new Set([3])).size === 3 && new Set([1]).isSubsetOf(new Set([1, 2]))",
		"iterator helpers":      "[1, 2, 3].values().map(x => x * 2).filter(x => x > 2).toArray().join() === '4,6'",
		"error cause":           "const e = new Error('a', { cause: new TypeError('b') }); (e.cause as Error).message === 'b' && new AggregateError([e]).errors.length === 1",
		"symbols":               "const s = Symbol('d'); s.description === 'd' && Symbol.for('x') === Symbol.for('x') && ({ [s]: 1 })[s] === 1 && ({ [Symbol.toPrimitive]: () => 4 } as any) * 2 === 8",
		"closures in loops":     "const f: any[] = []; for (let i = 0; i < 3; i++) f.push(() => i); f.map(x => x()).join() === '0,1,2'",
		"temporal dead zone":    "let ok = false; try { x; } catch (e: any) { ok = e.name === 'ReferenceError' }\nlet x = 1; ok",
		"default parameters":    "const f = (a: number, b = a * 2, ...c: number[]) => a + b + c.length; f(1) === 3 && f(1, 1, 5, 6) === 4",
		"getter on class":       "class A { static get x() { return 1 } accessor = 2 }\nA.x === 1 && new A().accessor === 2",
		"using":                 "let d = 0; { using r = { [Symbol.dispose]() { d = 1 } } }\nd === 1",
		"await using":           "let d = 0; { await using r = { async [Symbol.asyncDispose]() { await 0; d = 1 } } }\nd === 1",
		"exponent and numbers":  "2 ** 10 === 1024 && 1_000_000 === 1e6 && 0b11 === 3 && 0o17 === 15 && Number.EPSILON > 0 && Math.trunc(-1.5) === -1",
		"Date":                  "new Date(Date.UTC(2024, 1, 29)).toISOString() === '2024-02-29T00:00:00.000Z' && Date.parse('2024-01-01') === 1704067200000",
		"JSON":                  "JSON.stringify({ a: [1, { b: null }] }, null, 1).includes('\\n') && JSON.parse('{\"a\":1}', (k, v) => typeof v === 'number' ? v + 1 : v).a === 2",
		"eval and Function":     "(0, eval)('1 + 1') === 2 && new Function('a', 'return a * 2')(4) === 8",
		"sort is stable":        "const a = Array.from({ length: 100 }, (_, i) => ({ k: i % 3, i })).sort((x, y) => x.k - y.k); a.every((x, i) => i === 0 || a[i - 1].k < x.k || a[i - 1].i < x.i)",
		"strict mode":           "let ok = false; try { (undeclared as any) = 1 } catch { ok = true }\nok",
		"typescript enums":      "enum E { A = 1, B, C = 'c' as any }\nconst enum F { X = 4 }\nE.B === 2 && E[1] === 'A' && F.X === 4",
		"typescript namespaces": "namespace N { export const x = 1; export namespace M { export const y = 2 } }\nN.x + N.M.y === 3",
		"parameter properties":  "class P { constructor(private a: number, readonly b = 2) {} sum() { return this.a + this.b } }\nnew P(1).sum() === 3",
		"decorators":            "const log: string[] = []; const d = (v: any, c: any) => { log.push(c.kind + ' ' + String(c.name)) }; class A { @d m() {} }\nnew A(); log[0] === 'method m'",
		"generics and casts":    "function id<T extends object>(x: T): T { return x }\nconst r = id<{ a: number }>({ a: 1 } as const satisfies { a: number }); r!.a === 1",
		"overloads, abstract":   "function f(a: string): string; function f(a: number): number; function f(a: any) { return a }\nabstract class A { abstract x(): number; y() { return this.x() } }\nclass B extends A { x() { return f(3) } }\nnew B().y() === 3",
	} {
		t.Run(name, func(t *testing.T) {
			if out, _ := execute(t, source); string(out.Value) != "true" {
				t.Errorf("%s\n%s %+v", source, out.Value, out.Err)
			}
		})
	}
}

func TestLocale(t *testing.T) {
	values(t, [][2]string{
		{"(1234567.891).toLocaleString()", `"1,234,567.891"`},
		{"(1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' })", `"$1,234.50"`},
		{"new Intl.NumberFormat('en-US', { style: 'currency', currency: 'JPY' }).format(1234.5)", `"¥1,235"`},
		{"new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 }).format(0.1234)", `"12.3%"`},
		{"Intl.NumberFormat('en', { notation: 'compact' }).format(1234567)", `"1.2M"`},
		{"(12).toLocaleString(undefined, { minimumFractionDigits: 2 })", `"12.00"`},
		{"(0.000001234).toLocaleString('en-US', { maximumSignificantDigits: 2 })", `"0.0000012"`},
		{"(-5).toLocaleString() + (123456789012345678901234567890n).toLocaleString()", `"-5123,456,789,012,345,678,901,234,567,890"`},
		{"new Intl.NumberFormat('en-US', { style: 'unit', unit: 'megabyte' }).format(5)", `"5 MB"`},
		{"new Date(Date.UTC(2024, 0, 5, 15, 4, 9)).toLocaleString('en-US')", `"1/5/2024, 3:04:09 PM"`},
		{"new Date(Date.UTC(2024, 0, 5)).toLocaleDateString()", `"1/5/2024"`},
		{"new Date(Date.UTC(2024, 0, 5)).toLocaleDateString('en-US', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' })", `"Friday, January 5, 2024"`},
		{"new Date(Date.UTC(2024, 6, 5, 15, 4)).toLocaleTimeString('en-US', { timeZone: 'America/New_York', hour: '2-digit', minute: '2-digit' })", `"11:04 AM"`},
		{"new Date(Date.UTC(2024, 6, 5, 15, 4)).toLocaleString('en-US', { timeZone: 'Asia/Tokyo', timeZoneName: 'short' })", `"7/6/2024, 12:04:00 AM GMT+9"`},
		{"new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(0))", `"Jan 1, 1970, 12:00 AM"`},
		{"new Intl.PluralRules('en', { type: 'ordinal' }).select(22)", `"two"`},
		{"new Intl.ListFormat('en').format(['a', 'b', 'c'])", `"a, b, and c"`},
		{"new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-1, 'day')", `"yesterday"`},
		{"['b', 'a', 'C', 'ä'].sort((x, y) => x.localeCompare(y))", `["a","ä","b","C"]`},
		{"['a10', 'a9'].sort(new Intl.Collator('en', { numeric: true }).compare)", `["a9","a10"]`},
		{"try { (1).toLocaleString('de-DE') } catch (e: any) { [e.name, e.message.includes('en-US')] }", `["RangeError",true]`},
		{"try { new Date().toLocaleString('en-US', { timeZone: 'Nowhere/City' }) } catch (e: any) { e.name }", `"RangeError"`},
		{"try { Intl.Segmenter } catch (e: any) { e.message.includes('not available') }", `true`},
	})
}
