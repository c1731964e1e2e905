package embedded

import (
	"context"
	"strings"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// values runs each source and compares its value.
func values(t *testing.T, cases [][2]string, change ...func(*engine.Program)) {
	t.Helper()
	for _, c := range cases {
		out, _ := execute(t, c[0], change...)
		if out.Err != nil || string(out.Value) != c[1] {
			t.Errorf("%s\n got %s %v\nwant %s", c[0], out.Value, out.Err, c[1])
		}
	}
}

func TestToolsByEveryNameTheyHave(t *testing.T) {
	for _, c := range [][2]string{
		{"await tools.gh.get({ a: 1 })", `git-hub.get {"a":1}`},
		{"await gh.get()", `git-hub.get {}`},
		{"await gh.get(null)", `git-hub.get {}`},
		{"await tools.gh.delete_({})", `git-hub.delete {}`},
		{"await tools.gh.list_items({})", `git-hub.list-items {}`},
		{`await tools.gh["list-items"]({})`, `git-hub.list-items {}`},
		{`await tools["git-hub"].get({})`, `git-hub.get {}`},
		{`await call("git-hub", "list-items", { x: [1] })`, `git-hub.list-items {"x":[1]}`},
		{`await call("gh", "list_items")`, `git-hub.list-items {}`},
		{`await tools.gh.unheard_of({})`, `git-hub.unheard_of {}`},
		{`await tools.fs["any.name"]({})`, `fs.any.name {}`},
		{`await tools.hidden.x({})`, `hidden.x {}`},
		{`await tools.nowhere.x({})`, `nowhere.x {}`},
		{`const { get } = gh; await get({ d: 1 })`, `git-hub.get {"d":1}`},
	} {
		out, h := execute(t, c[0])
		if out.Err != nil || len(h.seen) != 1 || h.seen[0] != c[1] {
			t.Errorf("%s: calls %q, error %v, want %q", c[0], h.seen, out.Err, c[1])
		}
	}
}

func TestNamespacesCanBeLookedAt(t *testing.T) {
	values(t, [][2]string{
		{"Object.keys(tools)", `["gh","fs","hidden"]`},
		{"Object.keys(tools.gh)", `["delete_","fail","get","hang","list_items","slow","void"]`},
		{"['gh' in tools, 'nope' in tools, 'get' in gh, 'nope' in gh]", `[true,false,true,false]`},
		{"[typeof gh.get, gh.get === gh.get, gh.get.name, typeof hidden]", `["function",true,"gh.get","undefined"]`},
		{"const out = []; for (const k in gh) out.push(k); out.length", `7`},
		{"`${JSON.stringify(tools.gh)}`", `"{}"`},
		{"try { (gh as any).x = 1 } catch (e: any) { e.name }", `"TypeError"`},
		{"try { delete (tools as any).gh } catch (e: any) { e.name }", `"TypeError"`},
	})
}

func TestCallOptions(t *testing.T) {
	var got engine.CallOptions
	for source, want := range map[string]string{
		`await call("fs", "x", {}, { raw: true, timeout: 1500 })`: "true 1.5s",
		`await call("fs", "x", {}, { timeout: "2m" })`:            "false 2m0s",
		`await tools.fs.x({}, { raw: true })`:                     "true 0s",
	} {
		h := &host{}
		h.call = record(&got)
		out := shared().Run(t.Context(), engine.Program{Source: source, Namespaces: fakes}, h)
		have := "false "
		if got.Raw {
			have = "true "
		}
		if have += got.Timeout.String(); out.Err != nil || have != want {
			t.Errorf("%s: %s %v, want %s", source, have, out.Err, want)
		}
	}
	out, h := execute(t, `await call("fs", "x", {}, { timeout: "soon" })`)
	if out.Err == nil || out.Err.Kind != fault.InvalidToolInput || len(h.seen) != 0 {
		t.Errorf("a timeout that is none: %v, calls %v", out.Err, h.seen)
	}
}

func TestToolErrorHasTheFieldsOfItsFault(t *testing.T) {
	values(t, [][2]string{
		{"let r; try { await gh.fail({}) } catch (e: any) { r = [e instanceof ToolError, e instanceof Error, e.name, e.message, e.kind, e.server, e.tool, e.hint, e.content[0].text, e.data.id, e.pointer] }\nr",
			`[true,true,"ToolError","no such thing","ToolFailure","git-hub","fail","try another","no such thing",7,null]`},
		{"await gh.fail({}).catch(e => e.kind)", `"ToolFailure"`},
		{"await describe('nope').catch(e => [e instanceof ToolError, e.kind])", `[true,"NotFound"]`},
		{"const e = new ToolError('mine', { kind: 'Odd', cause: 1 }); [e.kind, e.message, e.cause, String(e)]", `["Odd","mine",1,"ToolError: mine"]`},
		{"(await Promise.allSettled([gh.get({}), gh.fail({})])).map(r => r.status)", `["fulfilled","rejected"]`},
	})
	out, _ := execute(t, "await gh.fail({})")
	e := out.Err
	if e == nil || e.Kind != fault.ToolFailure || e.Server != "git-hub" || e.Tool != "fail" || e.Hint != "try another" || len(e.Content) == 0 {
		t.Errorf("uncaught: %+v", e)
	}
	out, _ = execute(t, "throw new ToolError('forged', { kind: 'PermissionDenied' })")
	if out.Err == nil || out.Err.Kind != fault.ScriptError {
		t.Errorf("a program's own ToolError has kind %+v, want ScriptError", out.Err)
	}
	out, _ = execute(t, "try { await gh.fail({}) } catch (e) { throw new Error('wrapped', { cause: e }) }")
	if out.Err == nil || out.Err.Kind != fault.ScriptError || !strings.Contains(out.Stack, "caused by ToolError (ToolFailure): no such thing") {
		t.Errorf("wrapped: %+v\n%s", out.Err, out.Stack)
	}
}

func TestSearchAndDescribe(t *testing.T) {
	values(t, [][2]string{
		{"(await search('find me', { limit: 3 })).query", `{"limit":3,"query":"find me"}`},
		{"await describe('gh.get')", `{"path":"gh.get"}`},
	})
}

func TestArgsInputAndSession(t *testing.T) {
	values(t, [][2]string{
		{"args", `["a","b c"]`},
		{"input.n + 1", `3`},
		{"input.id", `9007199254740993`},
		{"typeof input.id", `"bigint"`},
		{"session", `{"id":"s1","cwd":"/here","runId":"r1"}`},
		{"try { (session as any).id = 'x' } catch (e: any) { e.name }", `"TypeError"`},
		{"export default (input: any, { args }: any) => [input.n, args[0]]", `[2,"a"]`},
		{"export default async function main(i: { n: number }) { return (await gh.get({ n: i.n })).n }", `2`},
		{"export default 7", `7`},
	}, func(p *engine.Program) {
		p.Args = []string{"a", "b c"}
		p.Input = []byte(`{"n":2,"id":9007199254740993}`)
	})
	values(t, [][2]string{{"[typeof input, args.length]", `["undefined",0]`}})
}

func TestTimers(t *testing.T) {
	values(t, [][2]string{
		{"const o: number[] = []; setTimeout(() => o.push(2), 2); setTimeout(() => o.push(1), 1); setTimeout(() => o.push(3), 2); await sleep(20); o", `[1,2,3]`},
		{"const o: number[] = []; for (let i = 0; i < 20; i++) setTimeout(() => o.push(i)); await sleep(10); o.every((x, i) => x === i)", `true`},
		{"let n = 0; const i = setInterval(() => { if (++n === 3) clearInterval(i) }, 1); await sleep(40); n", `3`},
		{"const t = setTimeout(() => { throw 1 }, 1); clearTimeout(t); clearTimeout(t); clearTimeout(undefined as any); await sleep(5); 1", `1`},
		{"await new Promise(r => setTimeout(r, 1, 'x'))", `"x"`},
		{"const o: number[] = []; queueMicrotask(() => o.push(1)); setImmediate(() => o.push(3)); await 0; o.push(2); await sleep(5); o", `[1,2,3]`},
		{"try { (setTimeout as any)('code', 1) } catch (e: any) { e.name }", `"TypeError"`},
		{"const a = performance.now(); await sleep(20); const d = performance.now() - a; d > 15 && d < 5000 && a < 1000", `true`},
	})
}

func TestTextGlobals(t *testing.T) {
	values(t, [][2]string{
		{"[...new TextEncoder().encode('aé€😀')]", `[97,195,169,226,130,172,240,159,152,128]`},
		{"new TextDecoder().decode(new Uint8Array([97,195,169,226,130,172,240,159,152,128]))", `"aé€😀"`},
		{"new TextDecoder().decode(new Uint8Array([0xef,0xbb,0xbf,65,0xff,66]))", `"A�B"`},
		{"new TextDecoder().decode(new Uint8Array([0,65,66,67]).subarray(2))", `"BC"`},
		{"new TextDecoder('utf-16le').decode(new Uint8Array([65,0,66,0]))", `"AB"`},
		{"new TextDecoder('latin1').decode(new Uint8Array([233]))", `"é"`},
		{"try { new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255])) } catch (e: any) { e.name }", `"TypeError"`},
		{"new TextDecoder('utf-8', { fatal: true }).decode(new TextEncoder().encode('\\ufffd')).length", `1`},
		{"const d = new TextDecoder(); d.decode(new Uint8Array([226,130]), { stream: true }) + d.decode(new Uint8Array([172]))", `"€"`},
		{"const into = new Uint8Array(4); const r = new TextEncoder().encodeInto('aé€', into); [r.read, r.written]", `[2,3]`},
		{"[btoa('hello'), atob('aGVsbG8=')]", `["aGVsbG8=","hello"]`},
		{"try { btoa('€') } catch (e: any) { e.name }", `"InvalidCharacterError"`},
		{"new TextDecoder().decode(new Uint8Array(0)) + new TextDecoder().decode()", `""`},
		{"const big = 'é'.repeat(200000); new TextDecoder().decode(new TextEncoder().encode(big)) === big", `true`},
	})
}

func TestStructuredClone(t *testing.T) {
	values(t, [][2]string{
		{"const a: any = { d: new Date(5), m: new Map([[1, { x: 1 }]]), s: new Set([1]), r: /a/gi, b: 1n, u: undefined, n: [1, , 3] }; a.self = a; const c = structuredClone(a); [c !== a, c.self === c, c.d.getTime(), c.m.get(1).x, c.s.has(1), String(c.r), c.b === 1n, 'u' in c, 1 in c.n, c.n.length]",
			`[true,true,5,1,true,"/a/gi",true,true,false,3]`},
		{"const b = new Uint8Array([1, 2]); const c = structuredClone(b); c[0] = 9; [b[0], c[0], c.length]", `[1,9,2]`},
		{"const e = structuredClone(new TypeError('x', { cause: 1 })); [e instanceof TypeError, e.message, e.cause]", `[true,"x",1]`},
		{"try { structuredClone(() => 1) } catch (e: any) { e.name }", `"DataCloneError"`},
		{"try { structuredClone(tools.gh) } catch (e: any) { e.name }", `"DataCloneError"`},
	})
}

func TestAbort(t *testing.T) {
	values(t, [][2]string{
		{"const c = new AbortController(); const o: any[] = []; c.signal.addEventListener('abort', () => o.push(1)); c.signal.onabort = () => o.push(0); c.abort(); c.abort(); [o, c.signal.aborted, c.signal.reason.name]", `[[0,1],true,"AbortError"]`},
		{"const s = AbortSignal.timeout(1); await new Promise(r => s.addEventListener('abort', r)); s.reason.name", `"TimeoutError"`},
		{"const c = new AbortController(); const s = AbortSignal.any([c.signal]); c.abort('why'); [s.aborted, s.reason]", `[true,"why"]`},
		{"try { AbortSignal.abort('x').throwIfAborted() } catch (e) { e }", `"x"`},
		{"AbortSignal.timeout(60000); 1", `1`},
	})
}

func TestRandomIsNotTheSnapshots(t *testing.T) {
	a, _ := execute(t, "[Math.random(), crypto.randomUUID()]")
	b, _ := execute(t, "[Math.random(), crypto.randomUUID()]")
	if a.Err != nil || string(a.Value) == string(b.Value) {
		t.Errorf("%s, %s, %v", a.Value, b.Value, a.Err)
	}
	values(t, [][2]string{
		{"/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())", `true`},
		{"const a = crypto.getRandomValues(new Uint32Array(100)); new Set(a).size > 90", `true`},
		{"let lo = 0, n = 10000; for (let i = 0; i < n; i++) { const r = Math.random(); if (r < 0 || r >= 1) throw r; if (r < 0.5) lo++ } Math.abs(lo - n / 2) < 400", `true`},
		{"try { crypto.getRandomValues(new Uint8Array(70000)) } catch (e: any) { e.name }", `"QuotaExceededError"`},
	})
}

func TestNothingOfTheMachineIsReachable(t *testing.T) {
	values(t, [][2]string{
		{"[typeof process, typeof require, typeof Deno, typeof Bun, typeof fetch, typeof std, typeof os, typeof host, typeof WebSocket, typeof XMLHttpRequest].join()", `"undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined"`},
		{"[].constructor.constructor('return typeof __host')()", `"undefined"`},
		{"try { await import('fs') } catch (e: any) { e.name }", `"ReferenceError"`},
		{"new Date(0).getTimezoneOffset()", `0`},
		{"this === undefined", `true`},
	})
	for name, has := range map[string]string{"fetch('x')": "network", "require('fs')": "the engines deno, bun and node", "await import('fs')": "the engines deno, bun and node", "process.env": "confined"} {
		out, _ := execute(t, name)
		if out.Err == nil || !strings.Contains(out.Err.Hint, has) {
			t.Errorf("%s: %+v", name, out.Err)
		}
	}
}

// record notes the options of a call and answers it with null.
func record(o *engine.CallOptions) func(context.Context, string, string, []byte, engine.CallOptions) (engine.CallValue, error) {
	return func(_ context.Context, _, _ string, _ []byte, got engine.CallOptions) (engine.CallValue, error) {
		*o = got
		return engine.CallValue{Value: []byte("null")}, nil
	}
}
