package embedded

import (
	"context"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

func TestErrorsHaveKindAndPositionInTheSourceAsWritten(t *testing.T) {
	for _, c := range []struct {
		source       string
		kind         fault.Kind
		has          string
		line, column int
	}{
		{"const a = 1;\n\nfunction inner(x: number): never {\n  throw new TypeError('bad thing');\n}\ninterface Q { a: string }\ninner(a)", fault.ScriptError, "TypeError: bad thing", 4, 13},
		{"type A = {\n a: 1\n}\nconst o: any = null\nconst z = 1; o.foo()", fault.ScriptError, "TypeError", 5, 14},
		{"type A = {\n a: 1\n}\nconst o: any = null\no.foo.bar", fault.ScriptError, "TypeError", 5, 1},
		{"const a = ;", fault.ParseError, "unexpected \";\"", 1, 11},
		{"let x = 1\nlet y = {\n", fault.ParseError, "end of the program", 3, 1},
		{"let x = 1\n  import fs from 'fs'", fault.ParseError, "cannot be imported", 2, 3},
		{"import 'fs'", fault.ParseError, "cannot be imported", 1, 1},
		{"await import('fs')", fault.ScriptError, "fs", 0, 0},
		{"foo() }", fault.ParseError, "unexpected", 0, 0},
		{"let a = 1; let a = 2", fault.ParseError, "already been declared", 1, 16},
		{"throw { a: 1 }", fault.ScriptError, `{"a":1}`, 0, 0},
		{"throw null", fault.ScriptError, "null", 0, 0},
		{"throw undefined", fault.ScriptError, "undefined", 0, 0},
		{"await new Promise(() => {})", fault.ScriptError, "nothing can settle", 0, 0},
		{"await gh.get({}); await new Promise(() => {})", fault.ScriptError, "nothing can settle", 0, 0},
		{"function f(n: number): number {\n  return f(n + 1) + 1\n}\nf(0)", fault.ScriptError, "call stack", 2, 16},
		{"JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))", fault.ScriptError, "call stack", 1, 34},
		{"const o: any = {}; o.o = o; o", fault.ScriptError, ".o refers back", 0, 0},
		{"await gh.fail({ a: 1 })", fault.ToolFailure, "no such thing", 1, 10},
		{"const x = 1\n\nawait tools.fs.fail({})\n", fault.ToolFailure, "no such thing", 3, 16},
		{"export default async () => {\n  await gh.fail({})\n}", fault.ToolFailure, "no such thing", 2, 12},
		{"undefinedVariable", fault.ScriptError, "ReferenceError", 1, 1},
		{"setTimeout(() => { throw new Error('late') }, 1)\nawait sleep(1000)", fault.ScriptError, "Error: late", 1, 30},
		{"queueMicrotask(() => { throw new Error('micro') })\nawait sleep(1000)", fault.ScriptError, "Error: micro", 1, 34},
		{"const a = []; while (true) a.push(new Array(1000).fill(1))", fault.MemoryLimitExceeded, "64 MiB", 0, 0},
		{"const a = []; for (;;) { try { for (;;) a.push({ a: [1] }) } catch {} }", fault.MemoryLimitExceeded, "", 0, 0},
		{"new ArrayBuffer(2 ** 30)", fault.MemoryLimitExceeded, "", 0, 0},
		{"'x'.repeat(2 ** 30 - 100)", fault.MemoryLimitExceeded, "", 0, 0},
		{"const m = new Map(); let i = 0; while (true) m.set(i++, { i })", fault.MemoryLimitExceeded, "", 0, 0},
		{"let a: any = 1; for (let i = 0; i < 150; i++) a = [a]; a", fault.ScriptError, "deeper than 100 levels", 0, 0},
		{"let a: any = {}; for (let i = 0; i < 150; i++) a = { a }; await gh.get(a)", fault.InvalidToolInput, "deeper than 100 levels", 1, 72},
		{"await gh.get([1] as any)", fault.InvalidToolInput, "must be an object", 1, 10},
		{"const o: any = {}; o.o = o; await gh.get(o)", fault.InvalidToolInput, ".o refers back", 1, 42},
	} {
		out, _ := execute(t, c.source)
		if out.Err == nil || out.Err.Kind != c.kind || !strings.Contains(out.Err.Message, c.has) {
			t.Errorf("%.70q: got %+v (value %.40s), want %s %q", c.source, out.Err, out.Value, c.kind, c.has)
			continue
		}
		if c.line > 0 && (out.Err.Position == nil || out.Err.Position.Line != c.line || out.Err.Position.Column != c.column) {
			t.Errorf("%.70q: position %+v, want %d:%d\n%s", c.source, out.Err.Position, c.line, c.column, out.Stack)
		}
		if out.Value != nil {
			t.Errorf("%.70q: a value beside the error: %.40s", c.source, out.Value)
		}
	}
	if out, _ := execute(t, "1+1"); string(out.Value) != "2" {
		t.Fatal("the engine is not usable afterwards", out.Err)
	}
}

var hostile = []string{
	"while (true) {}",
	"const go = () => { while (true) {} }\ngo()",
	"while (true) { try { while (true) {} } catch {} }",
	"while (true) { try { while (true) {} } finally { continue } }",
	"while (true) await 0",
	"while (true) await gh.get({})",
	"while (true) await sleep(0)",
	"await gh.hang({})",
	"await sleep(1e9)",
	"setInterval(() => {}, 0); await new Promise(() => {})",
	"/^(a+)+$/.test('a'.repeat(40) + 'b')",
	"/^(?:(a+)\\1)+$/.test('a'.repeat(60) + 'b')",
	"Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
	"Array.prototype.reverse.call({ length: 2 ** 53 - 1 })",
	"new Array(2 ** 32 - 1).join('')",
	"(3n ** 10000000n).toString().length",
	"let s = 'x'.repeat(1e6); for (;;) s.split('').join('')",
	"for (;;) JSON.parse('[' .repeat(1000) + ']'.repeat(1000))",
	"[..." + "Array(1e5).keys()].sort(() => { for (let i = 0; i < 1e9; i++); return Math.random() - 0.5 })",
	"eval('1;'.repeat(5e6))",
	"const f = () => Promise.resolve().then(f); await f()",
	"function* g() { for (;;) yield 1 }\nfor (const x of g()) ;",
}

func TestEverythingCanBeStopped(t *testing.T) {
	for _, source := range hostile {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		start := time.Now()
		out, _ := executeCtx(t, ctx, source)
		took := time.Since(start)
		cancel()
		if out.Err == nil || out.Err.Kind != fault.TimeoutExceeded {
			t.Errorf("%.60q: %+v, want TimeoutExceeded", source, out.Err)
		}
		if took > 1500*time.Millisecond {
			t.Errorf("%.60q took %v", source, took)
		}
		t.Logf("%.60q: %v", source, took.Round(time.Millisecond))
	}
}

func TestCPULimit(t *testing.T) {
	for _, source := range []string{"\nfor (;;) {}", "await sleep(1); while (true) await 0"} {
		out, _ := execute(t, source, func(p *engine.Program) { p.Limits.CPU = 50 * time.Millisecond })
		if out.Err == nil || out.Err.Kind != fault.CPULimitExceeded {
			t.Errorf("%q: %+v", source, out.Err)
		}
	}
	out, _ := execute(t, "await sleep(120); 1", func(p *engine.Program) { p.Limits.CPU = 50 * time.Millisecond })
	if out.Err != nil {
		t.Errorf("waiting counted as computing: %+v", out.Err)
	}
}
