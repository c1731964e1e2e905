package suite

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// What a failed call is in a program, and what a program keeps: the same on every
// engine.
var failures = []expect{
	{name: "fields of a ToolError", source: `try { await gh.fail({}) } catch (e) {
	[e instanceof ToolError, e instanceof Error, e.name, e.kind, e.server, e.tool, e.hint, e.content[0].text, String(e), typeof e.stack, Object.keys(e).sort()]
}`, value: `[true,true,"ToolError","ToolFailure","git-hub","fail","try another","no such thing","ToolError: no such thing","string",["content","hint","kind","server","tool"]]`},
	{name: "a ToolError as JSON", source: `try { await gh.fail({}) } catch (e) { [JSON.parse(JSON.stringify(e)), JSON.parse(JSON.stringify({ e })).e.message, e] }`,
		value: `[{"name":"ToolError","message":"no such thing","kind":"ToolFailure","server":"git-hub","tool":"fail","hint":"try another","content":[{"type":"text","text":"no such thing"}]},"no such thing",{"name":"ToolError","message":"no such thing","kind":"ToolFailure","server":"git-hub","tool":"fail","hint":"try another","content":[{"type":"text","text":"no such thing"}]}]`},
	{name: "a ToolError that is logged", source: `try { await gh.fail({}) } catch (e) { console.log('no:', e); log.warn('no', { e }); log.error(e) }`,
		logs: []string{"info no: ToolError (ToolFailure): no such thing ", `warn no {"e":{"name":"ToolError","message":"no such thing","kind":"ToolFailure","server":"git-hub","tool":"fail","hint":"try another","content":[{"type":"text","text":"no such thing"}]}}`, "error ToolError (ToolFailure): no such thing "}},
	{name: "a ToolError thrown on", source: "const load = async () => {\n  try { return await gh.fail({}) } catch (e) { throw e }\n}\nawait load()", kind: "ToolFailure", message: "no such thing", line: 2},
	{name: "a ToolError with more words", source: "try { await gh.fail({}) } catch (e) { e.message = 'while loading: ' + e.message; throw e }", kind: "ToolFailure", message: "while loading: no such thing", line: 1},
	{name: "a ToolError as a cause", source: "try { await gh.fail({}) } catch (e) { throw new Error('cannot load', { cause: e }) }", kind: "ScriptError", message: "cannot load", line: 1},
	{name: "a ToolError as a cause, as JSON", source: "try { try { await gh.fail({}) } catch (e) { throw new Error('cannot load', { cause: e }) } } catch (e) { const { cause, ...rest } = JSON.parse(JSON.stringify([e.cause, 0]))[0]; const o = { e }; emit(o); rest.kind }",
		value: `"ToolFailure"`, emits: []string{`{"e":{"name":"Error","message":"cannot load","cause":{"name":"ToolError","message":"no such thing","kind":"ToolFailure","server":"git-hub","tool":"fail","hint":"try another","content":[{"type":"text","text":"no such thing"}]}}}`}},
	{name: "one's own ToolError", source: "throw new ToolError('mine', { kind: 'PermissionDenied' })", kind: "ScriptError", message: "mine", line: 1},
	{name: "allSettled", source: `(await Promise.allSettled([gh.get({ a: 1 }), gh.fail({}), describe('nope')])).map(r => r.status === 'fulfilled' ? r.value : [r.reason.kind, r.reason instanceof ToolError])`,
		value: `[{"a":1},["ToolFailure",true],["NotFound",true]]`},
	{name: "allSettled as it is", source: `(await Promise.allSettled([gh.fail({})]))`,
		value: `[{"status":"rejected","reason":{"name":"ToolError","message":"no such thing","kind":"ToolFailure","server":"git-hub","tool":"fail","hint":"try another","content":[{"type":"text","text":"no such thing"}]}}]`},
	{name: "any, caught", source: "try { await Promise.any([gh.fail({}), describe('nope')]) } catch (e) { [e instanceof AggregateError, e.errors.map(x => x.kind), Object.assign(e, { message: '' })] }",
		value: `[true,["ToolFailure","NotFound"],{"name":"AggregateError","message":"","errors":[{"name":"ToolError","message":"no such thing","kind":"ToolFailure","server":"git-hub","tool":"fail","hint":"try another","content":[{"type":"text","text":"no such thing"}]},{"name":"ToolError","message":"no tool nope","kind":"NotFound","hint":""}]}]`},
	{name: "any, uncaught", source: "await Promise.any([gh.fail({}), describe('nope')])", kind: "ScriptError", message: "ToolError (ToolFailure): no such thing; ToolError (NotFound): "},
	{name: "race", source: "await Promise.race([gh.fail({}), gh.slow({})])", kind: "ToolFailure", message: "no such thing", line: 1, warnings: []string{"CallsCancelled"}},

	{name: "artifacts", source: `const bytes = new Uint8Array([0, 255, 65, 66]);
[await artifact('a.txt', 'grüß \u0000'), await artifact('b', bytes, { mimeType: 'image/png' }), await artifact('c', bytes.buffer), await artifact('d', { n: 9007199254740993n, list: new Set([1]) }),
  await artifact('e', bytes.subarray(1, 3)), await artifact('f', new DataView(bytes.buffer, 2), 'x/y'), await artifact('g', new Uint8Array(0)), await artifact('h', null)].map(a => [a.name, a.mimeType, a.hex])`,
		value: `[["a.txt","text/plain; charset=utf-8","6772c3bcc39f2000"],["b","image/png","00ff4142"],["c","","00ff4142"],["d","application/json","7b226e223a393030373139393235343734303939332c226c697374223a5b315d7d"],["e","","ff41"],["f","x/y","4142"],["g","",""],["h","application/json","6e756c6c"]]`},
	{name: "artifacts of every length", source: `const out = [];
for (let n = 0; n < 8; n++) out.push((await artifact('n', Uint8Array.from({ length: n }, (_, i) => 250 + i))).hex.length / 2);
const big = new Uint8Array(1 << 20).fill(7);
out.push((await artifact('big', big)).hex.length / 2);
out`, value: `[0,1,2,3,4,5,6,7,1048576]`},
	{name: "artifacts of shared bytes", source: `const G: any = globalThis;
if (G.SharedArrayBuffer === undefined) return ["010203", "02"];
const shared = new G.SharedArrayBuffer(3), view = new Uint8Array(shared);
view.set([1, 2, 3]);
return [(await artifact('s', shared)).hex, (await artifact('v', view.subarray(1, 2))).hex]`, value: `["010203","02"]`},
	{name: "artifacts of bytes that are gone", source: `const out: any[] = [], A: any = ArrayBuffer;
const attempt = async (data: any) => { try { out.push(await artifact('gone', data)) } catch (e: any) { out.push(e.kind + (/gone/.test(e.message) ? '' : e.message)) } };
const lost = (make: any) => { const b = new A(8, { maxByteLength: 8 }), v = make(b); if (!b.resizable) return undefined; b.resize(2); return v };
await attempt(lost((b: any) => new Uint8Array(b, 4, 4)));
await attempt(lost((b: any) => new Float32Array(b, 4, 1)));
await attempt(lost((b: any) => new DataView(b, 4, 4)));
if (A.prototype.transfer) { const b = new A(4), v = new Uint8Array(b); b.transfer(); await attempt(b); await attempt(v) } else { await attempt(undefined); await attempt(undefined) }
out`, value: `["InvalidToolInput","InvalidToolInput","InvalidToolInput","InvalidToolInput","InvalidToolInput"]`},
	{name: "an artifact that nobody awaits", source: "artifact('a', 'x'); 1", value: "1"},
	{name: "what is no artifact", source: `const out = [];
for (const data of [undefined, () => 1, Symbol('x')]) { try { await artifact('a', data) } catch (e) { out.push([e.kind, e instanceof ToolError]) } }
const loop: any = {}; loop.loop = loop;
try { await artifact('a', loop) } catch (e) { out.push(e.kind) }
try { await artifact('big', 'x'.repeat(17 << 20)) } catch (e) { out.push([e.kind, /16777216/.test(e.message)]) }
out`, value: `[["InvalidToolInput",true],["InvalidToolInput",true],["InvalidToolInput",true],"InvalidToolInput",["InvalidToolInput",true]]`},

	{name: "numbers both ways", source: `const r = await gh.get({ a: 9007199254740993n, b: [-9007199254740993n, 9007199254740991], c: 0.1, d: { e: 123456789012345678901234567890n }, f: 1e21 });
[typeof r.a, typeof r.b[0], typeof r.b[1], typeof r.d.e, r.f, r]`,
		value: `["bigint","bigint","number","bigint",1e+21,{"a":9007199254740993,"b":[-9007199254740993,9007199254740991],"c":0.1,"d":{"e":123456789012345678901234567890},"f":1e+21}]`,
		seen:  []string{`git-hub.get {"a":9007199254740993,"b":[-9007199254740993,9007199254740991],"c":0.1,"d":{"e":123456789012345678901234567890},"f":1e+21}`}},
	{name: "odd texts", source: `const r = await gh.get({ s: 'a\u0000b', t: '\u2028\u2029', u: '😀' }); [r.s.length, r.t.length, r.u.length, r]`,
		value: `[3,2,2,{"s":"a\u0000b","t":"\u2028\u2029","u":"😀"}]`},
}

func TestFailuresAndArtifacts(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, c := range failures {
			t.Run(c.name, func(t *testing.T) {
				out, h := r.run(t.Context(), c.source)
				kind, message, line := "", "", 0
				if out.Err != nil {
					kind, message = string(out.Err.Kind), out.Err.Message
					if out.Err.Position != nil {
						line = out.Err.Position.Line
					}
				}
				if kind != c.kind || !strings.Contains(message, c.message) || c.line != 0 && line != c.line {
					t.Fatalf("%s %q at line %d, want %s %q at %d\n%s", kind, message, line, c.kind, c.message, c.line, out.Stack)
				}
				if !sameText(string(out.Value), c.value) {
					t.Errorf("value %s, want %s", out.Value, c.value)
				}
				if c.seen != nil && !slices.Equal(h.seen, c.seen) {
					t.Errorf("calls %q, want %q", h.seen, c.seen)
				}
				if c.emits != nil && !slices.Equal(h.emits, c.emits) {
					t.Errorf("emits %q, want %q", h.emits, c.emits)
				}
				var logs []string
				for _, l := range out.Logs {
					logs = append(logs, l.Level+" "+l.Message+" "+string(l.Attrs))
				}
				if c.logs != nil && !reflect.DeepEqual(logs, c.logs) {
					t.Errorf("logs %q, want %q", logs, c.logs)
				}
				var warnings []string
				for _, w := range out.Warnings {
					warnings = append(warnings, w.Kind)
				}
				if !slices.Equal(warnings, c.warnings) {
					t.Errorf("warnings %+v", out.Warnings)
				}
			})
		}
	})
}

// TestNoKindIsBeyondAProgram: whatever the host refuses with, a program reads it.
func TestNoKindIsBeyondAProgram(t *testing.T) {
	kinds, err := json.Marshal(fault.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, r *rig) {
		got := r.value(`const missed = [];
for (const kind of input) {
	try { await call('git-hub', 'refuse', { kind }); missed.push(kind) } catch (e) {
		const told = JSON.stringify([e instanceof ToolError, e.kind, e.message, e.pointer, e.feedback, e.data]);
		if (told !== JSON.stringify([true, kind, 'refused', '/a', 'not now', { n: 1 }])) missed.push(told)
	}
}
missed`, func(p *engine.Program) { p.Input = kinds })
		if got != "[]" {
			t.Errorf("missed %s", got)
		}
	})
}

// sameText compares texts byte for byte, but for how engines escape.
func sameText(a, b string) bool {
	if a == b {
		return true
	}
	return unescape(a) == unescape(b)
}

func unescape(s string) string {
	for _, c := range []string{"\u2028", "\u2029", "\x00"} {
		quoted, _ := json.Marshal(c)
		s = strings.ReplaceAll(s, strings.Trim(string(quoted), `"`), c)
	}
	return s
}
