package suite

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// expect is what one program must come to, on every engine.
type expect struct {
	name   string
	source string
	args   []string
	input  string
	stdin  string

	value    string   // JSON; empty: none
	kind     string   // of the error
	message  string   // part of the error's
	line     int      // of the error, in the source as written
	warnings []string // kinds
	logs     []string // level message attrs
	emits    []string
	seen     []string // calls as the host saw them
}

var programs = []expect{
	{name: "last expression", source: "const a = 20;\na * 2 + 2", value: "42"},
	{name: "awaited last expression", source: "Promise.resolve([1, 2])", value: "[1,2]"},
	{name: "top-level await and return", source: "const a = await Promise.resolve(1);\nreturn { a };", value: `{"a":1}`},
	{name: "value of a trailing if", source: "if (1 < 2) { 'yes' } else { 'no' }", value: `"yes"`},
	{name: "value of a trailing try", source: "try { throw new Error('x') } catch (e) { e.message }", value: `"x"`},
	{name: "a loop has no value", source: "for (let i = 0; i < 3; i++) i", value: ""},
	{name: "nothing", source: "const a = 1;", value: ""},
	{name: "enum, namespace, parameter property", source: "enum Colour { Red = 3, Green }\nnamespace N { export const x = 7 }\nclass P { constructor(public a: number, private b = 2) {} sum(): number { return this.a + this.b } }\n[Colour.Green, Colour[3], N.x, new P(1).sum()]", value: `[4,"Red",7,3]`},
	{name: "decorators and using", source: "const order: string[] = [];\nfunction d(_: unknown, c: ClassMethodDecoratorContext) { order.push(String(c.name)) }\nclass A { @d m() { return 1 } }\n{ using r = { [Symbol.dispose]() { order.push('gone') } }; order.push('in'); }\norder", value: `["m","in","gone"]`},
	{name: "classes, generators, private fields", source: "class A { #x = 1; *g() { yield this.#x; yield 2 } static s: number; static { A.s = 3 } }\n[...new A().g(), A.s]", value: "[1,2,3]"},
	{name: "async iteration", source: "async function* g() { yield 1; yield 2 }\nlet n = 0;\nfor await (const x of g()) n += x;\nn", value: "3"},
	{name: "default export called with input and args", source: "export default (input: {n: number}, { args }: {args: string[]}) => [input.n + 1, ...args]", input: `{"n":1}`, args: []string{"a", "b"}, value: `[2,"a","b"]`},
	{name: "args and input", source: "[args, input, typeof session.id, Object.isFrozen(session)]", args: []string{"x"}, input: `[1]`, value: `[["x"],[1],"string",true]`},
	{name: "no input", source: "[typeof input, args]", value: `["undefined",[]]`},

	{name: "a call by namespace", source: "await gh.get({ a: 1 })", value: `{"a":1}`, seen: []string{`git-hub.get {"a":1}`}},
	{name: "a call by tools", source: "await tools.hidden.x()", value: `{}`, seen: []string{`hidden.x {}`}},
	{name: "original names", source: "[await tools.gh['list-items']({}), await tools.gh.list_items({}), await tools.gh.delete_({ id: 1 })]", value: `[{},{},{"id":1}]`,
		seen: []string{`git-hub.list-items {}`, `git-hub.list-items {}`, `git-hub.delete {"id":1}`}},
	{name: "call by names", source: "await call('git-hub', 'get', { b: 2 })", value: `{"b":2}`, seen: []string{`git-hub.get {"b":2}`}},
	{name: "names are listed", source: "[Object.keys(tools), Object.keys(tools.gh), 'gh' in tools, await tools.gh === undefined]", value: `[["gh","fs_","hidden"],["delete_","get","list_items","slow"],true,false]`},
	{name: "raw is not enumerable", source: "const r = await gh.whole();\n[Object.keys(r), r.raw.structuredContent, (await call('gh', 'whole', {}, { raw: true })).content]", value: `[["a"],{"a":1},[]]`},
	{name: "timeout of a call", source: "[await call('gh', 'timeout', {}, { timeout: '3s' }), await gh.timeout({}, { timeout: 1500 })]", value: `["3s","1.5s"]`},
	{name: "a wrong timeout", source: "try { await gh.get({}, { timeout: 'soon' }) } catch (e) { [e.kind, e.server, e instanceof ToolError] }", value: `["InvalidToolInput","git-hub",true]`},
	{name: "nothing returned", source: "String(await gh.void())", value: `"undefined"`},
	{name: "search and describe", source: "[await search('x', { limit: 2 }), await describe('a.b')]", value: `[{"items":[],"query":{"limit":2,"query":"x"}},{"path":"a.b"}]`},
	{name: "resources and prompts", source: "const p = [await resources.list({ server: 7, limit: 2, other: 1 }), await resources.templates('fs'), await resources.read('u://a', 'fs'), await prompts.list(), await prompts.get('p', { a: 'b' }, { raw: true })]; p.map(x => [x.method, x.params])",
		value: `[["resources.list",{"server":"7","limit":2}],["resources.templates",{"server":"fs"}],["resources.read",{"uri":"u://a","server":"fs","raw":false}],["prompts.list",{}],["prompts.get",{"name":"p","arguments":{"a":"b"},"raw":true}]]`},
	{name: "arguments of a prompt that are no JSON", source: "const a = {}; a.a = a; try { await prompts.get('p', a) } catch (e) { [e.kind, Object.isFrozen(resources)] }", value: `["InvalidToolInput",true]`},
	{name: "a failed describe", source: "try { await describe('nope') } catch (e) { e.kind }", value: `"NotFound"`},
	{name: "what was piped in", source: "const all = []; for await (const line of stdin.lines()) all.push(line);\n[await stdin.text(), await stdin.json(), await stdin.lines(), all]", stdin: "[1,\n12345678901234567890]\n", value: `["[1,\n12345678901234567890]\n",[1,12345678901234567890],["[1,","12345678901234567890]"],["[1,","12345678901234567890]"]]`},
	{name: "nothing was piped in", source: "[await stdin.text(), await stdin.json() === undefined, await stdin.lines()]", value: `["",true,[]]`},
	{name: "what was piped in is no JSON", source: "await stdin.json()", stdin: "{a", kind: "ScriptError", message: "SyntaxError: standard input is not JSON", line: 1},
	{name: "a saved script", source: "[await run('echo', { a: 1 }), typeof await run('echo'), await run('missing').catch(e => [e.kind, e instanceof ToolError])]", value: `[{"a":1},"undefined",["NotFound",true]]`},
	{name: "a saved script's input nested too deep", source: "let a = {}; for (let i = 0; i < 200; i++) a = { a };\ntry { await run('echo', a) } catch (e) { e.kind }", value: `"InvalidToolInput"`},
	{name: "all at once", source: "(await Promise.all([1, 2, 3].map(n => gh.get({ n })))).map(r => r.n)", value: "[1,2,3]"},
	{name: "partial failure", source: "(await Promise.allSettled([gh.get({}), gh.fail({})])).map(r => r.status)", value: `["fulfilled","rejected"]`},
	{name: "a tool's failure is caught", source: "try { await gh.fail({}) } catch (e) {\n  if (!(e instanceof ToolError) || !(e instanceof Error)) throw e;\n  [e.kind, e.server, e.tool, e.message, e.hint, e.content, e.name, Object.keys(e).includes('kind')]\n}",
		value: `["ToolFailure","git-hub","fail","no such thing","try another",[{"text":"no such thing","type":"text"}],"ToolError",true]`},
	{name: "arguments that are no object", source: "try { await gh.get([1]) } catch (e) { e.kind }", value: `"InvalidToolInput"`},
	{name: "arguments nested too deep", source: "let a = {}; for (let i = 0; i < 200; i++) a = { a };\ntry { await gh.get(a) } catch (e) { e.kind }", value: `"InvalidToolInput"`},
	{name: "a result nested too deep", source: "try { await gh.deep({}) } catch (e) { e.kind }", value: `"InvalidToolOutput"`},

	{name: "integers beyond a double", source: "const r = await gh.get({ n: 12345678901234567890n });\n[typeof r.n, r.n + 1n, input]", input: "9007199254740993", value: `["bigint",12345678901234567891,9007199254740993]`, seen: []string{`git-hub.get {"n":12345678901234567890}`}},
	{name: "values beyond JSON", source: "({ m: new Map([['a', 1]]), p: new Map([[1, 2]]), s: new Set([1]), b: new Uint8Array([1, 2]), e: new TypeError('t'), d: new Date(0), u: undefined, f() {} })",
		value: `{"m":{"a":1},"p":[[1,2]],"s":[1],"b":[1,2],"e":{"name":"TypeError","message":"t"},"d":"1970-01-01T00:00:00.000Z"}`},
	{name: "unicode", source: "['é\\u0000😀\\u2028'][0]", value: `"é\u0000😀\u2028"`},
	{name: "a lone surrogate", source: "'a\\ud800b'", value: `"a` + "\ufffd" + `b"`},
	{name: "nothing of a prototype survives in the bridge", source: "JSON.stringify = () => 'stolen';\nMap.prototype.get = () => 'stolen';\nawait gh.get({ a: 1 })", value: `{"a":1}`, seen: []string{`git-hub.get {"a":1}`}},

	{name: "emit and logs", source: "emit({ a: 1 });\nlog('hello', { n: 1 });\nlog.warn('careful');\nconsole.log('%d of %s', 1, 'two', [3]);\nconsole.error(new Error('bad'));\nemit('x')",
		emits: []string{`{"a":1}`, `"x"`}, logs: []string{`info hello {"n":1}`, "warn careful ", "info 1 of two [3] ", "error Error: bad "}},
	{name: "an emitted value nested too deep", source: "let a = []; for (let i = 0; i < 200; i++) a = [a];\nemit(a);\nawait sleep(10000)", kind: "ScriptError", message: "an emitted value is nested deeper"},
	{name: "a result too deep", source: "let a = []; for (let i = 0; i < 200; i++) a = [a];\na", kind: "ScriptError", message: "the result is nested deeper"},
	{name: "a cycle", source: "const a: any = {}; a.a = a;\na", kind: "ScriptError", message: "the result cannot be written as JSON"},

	{name: "a thrown error", source: "const a: number = 1;\n\nfunction f() {\n  throw new RangeError('out of ' + a);\n}\nf()", kind: "ScriptError", message: "RangeError: out of 1", line: 4},
	{name: "thrown after an await", source: "await gh.get({});\ntype T = { a: string };\nthrow new Error('late')", kind: "ScriptError", message: "Error: late", line: 3},
	{name: "a thrown text", source: "throw 'plain'", kind: "ScriptError", message: "the program threw plain"},
	{name: "a tool's failure is not caught", source: "const a = 1;\nconst b = await gh.fail({});\nb", kind: "ToolFailure", message: "no such thing", line: 2},
	{name: "rejected elsewhere", source: "await Promise.all([sleep(1), (async () => {\n  await sleep(1);\n  throw new Error('inner')\n})()])", kind: "ScriptError", message: "Error: inner", line: 3},
	{name: "an unknown name", source: "const x = 1;\nundefinedName(x)", kind: "ScriptError", message: "ReferenceError", line: 2},
	{name: "a parse error", source: "const a = 1;\nconst = 2", kind: "ParseError", line: 2},
	{name: "a static import", source: "import fs from 'fs';\nfs", kind: "ParseError", message: `the module "fs" cannot be imported`, line: 1},
	{name: "a recursion without end", source: "const f = (n: number): number => f(n + 1) + 1;\nf(0)", kind: "ScriptError", message: "RangeError", line: 1},
	{name: "thrown in a timer", source: "setTimeout(() => { throw new Error('in a timer') }, 1);\nawait sleep(5000)", kind: "ScriptError", message: "Error: in a timer", line: 1},
	{name: "a promise that nothing settles", source: "await new Promise(() => {})", kind: "ScriptError", message: "nothing can settle"},

	{name: "a rejection that nobody handles", source: "Promise.reject(new Error('lost'));\nawait sleep(20);\n1", value: "1", warnings: []string{"UnhandledRejection"}},
	{name: "a rejection handled later", source: "const p = Promise.reject(new Error('found'));\nawait sleep(20);\nawait p.catch(() => 0);\nawait sleep(20);\n1", value: "1"},
	{name: "calls not awaited are waited for", source: "gh.slow({ a: 1 });\n'done'", value: `"done"`, warnings: []string{"CallsNotAwaited"}, seen: []string{`git-hub.slow {"a":1}`}},
	{name: "a failure among them", source: "gh.failLate({});\n'done'", value: `"done"`, warnings: []string{"CallsNotAwaited", "UnhandledRejection"}},
	{name: "a late timer is not waited for", source: "setTimeout(() => emit('late'), 60_000);\n1", value: "1"},
	{name: "an early timer is", source: "setTimeout(() => emit('early'), 30);\n1", value: "1", emits: []string{`"early"`}},

	{name: "timers", source: "const seen: number[] = [];\nsetTimeout(n => seen.push(n), 20, 2);\nsetTimeout(() => seen.push(1), 1);\nconst gone = setTimeout(() => seen.push(9), 1); clearTimeout(gone);\nlet n = 0; await new Promise<void>(r => { const i = setInterval(() => { if (++n === 3) { clearInterval(i); r() } }, 5) });\nawait sleep(60);\n[seen, n]", value: "[[1,2],3]"},
	{name: "web globals", source: "[typeof structuredClone, typeof crypto.randomUUID(), new URL('/b', 'http://a').href, atob(btoa('x')), new TextDecoder().decode(new TextEncoder().encode('é')), typeof queueMicrotask, typeof AbortController, typeof performance.now(), typeof setImmediate]",
		value: `["function","string","http://a/b","x","é","function","function","number","function"]`},
	{name: "time and language are the same everywhere", source: "[new Date(0).getHours(), (1234.5).toLocaleString(), new Date(0).toLocaleDateString('en-US', { timeZone: 'America/New_York' })]", value: `[0,"1,234.5","12/31/1969"]`},
}

func TestProgramsGiveTheSameOnEveryEngine(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		t.Parallel() // most of it is waiting for runtimes to start
		for _, c := range programs {
			t.Run(c.name, func(t *testing.T) {
				r.t = t
				c.check(t, r)
			})
		}
	})
}

func (c expect) check(t *testing.T, r *rig) {
	out, h := r.run(t.Context(), c.source, func(p *engine.Program) {
		p.Args = c.args
		if c.stdin != "" {
			p.Stdin = &c.stdin
		}
		if c.input != "" {
			p.Input = json.RawMessage(c.input)
		}
	})
	defer func() {
		if t.Failed() {
			t.Logf("error %v\n%s\nstdout %q stderr %q", out.Err, out.Stack, out.Stdout, out.Stderr)
		}
	}()
	if c.kind == "" && out.Err != nil {
		t.Fatalf("failed with %s: %v", out.Err.Kind, out.Err)
	}
	if c.kind != "" {
		c.failure(t, out.Err)
		return
	}
	if !sameJSON(c.value, string(out.Value)) {
		t.Errorf("value %s, want %s", out.Value, c.value)
	}
	var kinds []string
	for _, w := range out.Warnings {
		kinds = append(kinds, w.Kind)
	}
	if !slices.Equal(kinds, c.warnings) {
		t.Errorf("warnings %v, want %v", out.Warnings, c.warnings)
	}
	if c.seen != nil && !slices.Equal(h.seen, c.seen) {
		t.Errorf("calls %q, want %q", h.seen, c.seen)
	}
	if c.emits != nil && !slices.Equal(h.emits, c.emits) {
		t.Errorf("emits %q, want %q", h.emits, c.emits)
	}
	if c.logs != nil {
		var got []string
		for _, l := range h.logs {
			got = append(got, fmt.Sprintf("%s %s %s", l.Level, l.Message, l.Attrs))
			if l.Position == nil {
				t.Errorf("the record %q has no place", l.Message)
			}
		}
		if !slices.Equal(got, c.logs) || len(out.Logs) != len(c.logs) {
			t.Errorf("logs %q, want %q", got, c.logs)
		}
	}
}

func (c expect) failure(t *testing.T, e *fault.Error) {
	if e == nil {
		t.Fatalf("succeeded, want %s", c.kind)
	}
	if string(e.Kind) != c.kind || !strings.Contains(e.Message, c.message) {
		t.Errorf("failed with %s: %s, want %s: …%s…", e.Kind, e.Message, c.kind, c.message)
	}
	if c.line > 0 && (e.Position == nil || e.Position.Line != c.line || e.Position.Column < 1) {
		t.Errorf("at %v, want line %d", e.Position, c.line)
	}
}

// sameJSON compares exactly, integers of any size too, but for the order of
// names.
func sameJSON(a, b string) bool {
	read := func(s string) (v any) {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		if s == "" || d.Decode(&v) != nil {
			return s
		}
		return v
	}
	return reflect.DeepEqual(read(a), read(b))
}
