package embedded

import (
	"context"
	"strings"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// answer is a host that gives the same answer to every call.
func answer(value, raw string) *host {
	return &host{call: func(context.Context, string, string, []byte, engine.CallOptions) (engine.CallValue, error) {
		return engine.CallValue{Value: []byte(value), Raw: []byte(raw)}, nil
	}}
}

func with(t *testing.T, h *host, source string) *engine.Outcome {
	t.Helper()
	return shared().Run(t.Context(), engine.Program{Source: source, Namespaces: fakes}, h)
}

func TestIntegersBeyondADoubleSurvive(t *testing.T) {
	const doc = `{"id":9007199254740993,"neg":-9223372036854775809,"max":18446744073709551616,"safe":9007199254740991,"small":1,` +
		`"float":12345678901234567.5,"exp":12345678901234567e3,"text":"9007199254740993","deep":[{"id":123456789012345678901234567890}],"f":0.12345678901234567}`
	out := with(t, answer(doc, ""), "const r = await fs.x(); [typeof r.id, typeof r.neg, typeof r.max, typeof r.safe, typeof r.small, typeof r.float, typeof r.exp, typeof r.text, typeof r.deep[0].id, typeof r.f].join()")
	if want := `"bigint,bigint,bigint,number,number,number,number,string,bigint,number"`; string(out.Value) != want {
		t.Errorf("types %s %v\nwant %s", out.Value, out.Err, want)
	}
	h := answer(doc, "")
	out = with(t, h, "const r = await fs.x(); await fs.y({ id: r.id, more: [r.neg] }); ({ id: r.id + 1n, deep: r.deep, map: new Map([['a', r.max]]) })")
	if want := `{"id":9007199254740994,"deep":[{"id":123456789012345678901234567890}],"map":{"a":18446744073709551616}}`; string(out.Value) != want {
		t.Errorf("result %s %v\nwant %s", out.Value, out.Err, want)
	}
	if want := `fs.y {"id":9007199254740993,"more":[-9223372036854775809]}`; len(h.seen) != 2 || h.seen[1] != want {
		t.Errorf("arguments %q, want %s", h.seen, want)
	}
	out = with(t, h, "emit(2n ** 64n); console.log({ n: 5n }); log.info('x', { n: 2n ** 60n })")
	if len(out.Emits) != 1 || string(out.Emits[0]) != "18446744073709551616" || string(out.Logs[1].Attrs) != `{"n":1152921504606846976}` {
		t.Errorf("emits %s, logs %+v", out.Emits, out.Logs)
	}
}

func TestRawIsThereAndNotEnumerable(t *testing.T) {
	const raw = `{"content":[{"type":"text","text":"{}"}],"big":9007199254740993}`
	for source, want := range map[string]string{
		"const r = await fs.x(); [Object.keys(r), 'raw' in r, r.raw.content[0].type, r.raw === r.raw, typeof r.raw.big]": `[["a"],true,"text",true,"bigint"]`,
		"await fs.x()":                                     `{"a":1}`,
		"({ ...(await fs.x()) })":                          `{"a":1}`,
		"const r = await fs.x(); r.raw = 5; r":             `{"a":1,"raw":5}`,
		"const r = await fs.x(); delete r.raw; 'raw' in r": `false`,
	} {
		out := with(t, answer(`{"a":1}`, raw), source)
		if out.Err != nil || string(out.Value) != want {
			t.Errorf("%s: %s %v, want %s", source, out.Value, out.Err, want)
		}
	}
	if out := with(t, answer(`{"raw":"own"}`, raw), "(await fs.x()).raw"); string(out.Value) != `"own"` {
		t.Errorf("a result's own raw: %s %v", out.Value, out.Err)
	}
	if out := with(t, answer(`[1]`, raw), "const r = await fs.x(); [r.length, r.raw.content.length]"); string(out.Value) != `[1,1]` {
		t.Errorf("raw of an array: %s %v", out.Value, out.Err)
	}
	if out := with(t, answer(`"text"`, raw), "await fs.x()"); string(out.Value) != `"text"` {
		t.Errorf("a text result: %s %v", out.Value, out.Err)
	}
}

func TestWhatLeavesAndWhatIsDropped(t *testing.T) {
	values(t, [][2]string{
		{"({ a: undefined, b: null, c: [undefined, null], d() {}, e: Symbol('x') })", `{"b":null,"c":[null,null]}`},
		{"({ d: new Date(0), e: Object.assign(new RangeError('m'), { code: 7 }), s: new Set([1, 'a']), r: /x/ })", `{"d":"1970-01-01T00:00:00.000Z","e":{"name":"RangeError","message":"m","code":7},"s":[1,"a"],"r":{}}`},
		{"new Map<any, any>([[1, 'a'], [{ k: 1 }, 2]])", `[[1,"a"],[{"k":1},2]]`},
		{"({ u: new Uint8Array([1, 2]), b: new Uint16Array([258]).buffer })", `{"u":[1,2],"b":[2,1]}`},
		{"[NaN, Infinity, -0, 1e21, 0.1]", `[null,null,0,1e+21,0.1]`},
		{"class A { x = 1; #y = 2; get z() { return 3 } }\nnew A()", `{"x":1}`},
		{"({ toJSON() { return [1] } })", `[1]`},
		{"'\\ud800 a\\u0000b'", `"\ud800 a\u0000b"`},
		{"const f = () => 1; f", ``},
		{"Symbol('x')", ``},
		{"Promise.resolve(Promise.resolve(4))", `4`},
		{"[typeof JSON.stringify({ m: new Map([[1, 2]]) }), JSON.stringify({ m: new Map([[1, 2]]), e: new Error('x') })]", `["string","{\"m\":{},\"e\":{}}"]`},
		{"try { JSON.stringify(1n) } catch (e: any) { e.name }", `"TypeError"`},
		{"Object.freeze(Map.prototype); [new Map([['a', 1n]])]", `[{"a":1}]`},
		{"(Map.prototype as any).toJSON = () => 'mine'; [[new Map()]]", `[["mine"]]`},
	})
	_, h := execute(t, "await fs.x({ a: undefined, b: null, c: { d: undefined } })")
	if len(h.seen) != 1 || h.seen[0] != `fs.x {"b":null,"c":{}}` {
		t.Errorf("arguments %q", h.seen)
	}
}

func TestAnAnswerThatIsNotJSONOrTooDeepIsAToolError(t *testing.T) {
	for value, kind := range map[string]fault.Kind{
		`{"a":`: fault.InvalidToolOutput,
		strings.Repeat("[", 101) + strings.Repeat("]", 101): fault.InvalidToolOutput,
	} {
		if out := with(t, answer(value, ""), "await fs.x().catch(e => e.kind)"); string(out.Value) != `"`+string(kind)+`"` {
			t.Errorf("%.20s: %s %v", value, out.Value, out.Err)
		}
	}
	if out := with(t, answer(strings.Repeat("[", 100)+strings.Repeat("]", 100), ""), "(await fs.x()).length"); string(out.Value) != "1" {
		t.Errorf("100 levels: %s %v", out.Value, out.Err)
	}
	if out := with(t, answer("", ""), "await fs.x()"); out.Err != nil || out.Value != nil {
		t.Errorf("no value: %s %v", out.Value, out.Err)
	}
}

func TestUndefinedOrPlainThrows(t *testing.T) {
	out, _ := execute(t, "throw { get message() { throw 1 }, toJSON() { throw 2 } }")
	if out.Err == nil || out.Err.Kind != fault.ScriptError {
		t.Errorf("%+v", out.Err)
	}
	out, _ = execute(t, "throw Object.assign(new Error('x'), { get stack() { throw 1 } })")
	if out.Err == nil || out.Err.Kind != fault.ScriptError {
		t.Errorf("%+v", out.Err)
	}
}
