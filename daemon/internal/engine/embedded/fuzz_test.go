package embedded

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// FuzzProgram: no program takes the daemon with it. It ends within its limits, with a
// value that is JSON or a failure of a kind that a program can have; what it said is
// within its limits too, and the realm after it is as new.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{
		"1 + 1", "await call('fake', 'echo', { a: 1 })", "emit({ a: [1n] })", "while (true) {}", "const f = () => f(); f()", "throw { toString() { throw 1 } }",
		"Object.prototype.then = 1; globalThis.JSON = null; [1]", "new Proxy({}, { get() { return this } })", "await new Promise(() => {})", "Array(1e9).fill('x')",
		"/(a+)+$/.test('a'.repeat(40) + 'b')", "log.info('x', { get a() { throw 1 } })", "import('fs')", "export default 1", "({ toJSON() { return { toJSON: this.toJSON } } })",
		"Error.prepareStackTrace = () => { throw 1 }; null.x", "'\\ud800'", "setInterval(() => emit(1), 0); await sleep(5)", "`", "\x00", "// @ts-ignore\n<div/>", "artifact('x', new Uint8Array(10))",
		"globalThis.host?.(1)", "for (const k of Reflect.ownKeys(globalThis)) try { globalThis[k]() } catch {}",
	} {
		f.Add(s)
	}
	kinds := []fault.Kind{
		fault.ScriptError, fault.ParseError, fault.CPULimitExceeded, fault.MemoryLimitExceeded, fault.TimeoutExceeded,
		fault.ToolFailure, fault.UnknownTool, fault.InvalidToolInput, fault.PermissionDenied, fault.UsageError, fault.NotFound, fault.Cancelled, fault.InvalidToolOutput,
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 4<<10 {
			return // what a source may hold is bounded elsewhere
		}
		limits := engine.Limits{CPU: 100 * time.Millisecond, Memory: 16 << 20, Capture: 8 << 10, Logs: 10, Timers: 10, Concurrency: 2, Float: 50 * time.Millisecond}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of one that waits
		defer cancel()
		out, h := executeCtx(t, ctx, source, func(p *engine.Program) { p.Limits = limits })
		if took := time.Since(began); took > time.Minute {
			t.Fatalf("it took %v", took)
		}
		if out.Err != nil && (!slices.Contains(kinds, out.Err.Kind) || out.Err.Message == "") {
			t.Fatalf("%+v", out.Err)
		}
		if out.Err == nil && out.Value != nil && !json.Valid(out.Value) {
			t.Fatalf("value %q", out.Value)
		}
		if len(out.Logs) > limits.Logs {
			t.Fatalf("%d logs", len(out.Logs))
		}
		for _, e := range append(slices.Clone(h.emits), string(out.Value)) {
			if e != "" && !json.Valid([]byte(e)) {
				t.Fatalf("emitted %q", e)
			}
		}
		if out, _ := execute(t, "[typeof JSON, typeof ({}).then, 1 + 1]"); string(out.Value) != `["object","undefined",2]` {
			t.Fatalf("after it: %s, %v", out.Value, out.Err)
		}
	})
}
