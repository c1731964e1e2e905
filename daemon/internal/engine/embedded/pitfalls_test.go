package embedded

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
)

// One test for each thing that is known to go wrong with this way of running
// JavaScript; the numbers are those of the measurements that chose this engine.

func TestPitfall01GeneratedPackageIsTheOneReviewed(t *testing.T) {
	cmd := commandGo(t, "run", "./gen", "-dir", ".")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("generated anew, or not at all: %v\n%s", err, out)
	}
}

func TestPitfall02ATrapEndsTheRealmAndNothingElse(t *testing.T) {
	s, err := shared().snapshot()
	if err != nil {
		t.Fatal(err)
	}
	r, err := shared().take(s, guest.DefaultMemory)
	if err != nil {
		t.Fatal(err)
	}
	err = r.guard(func() error { r.mod.Xqjs_free_value(0x7fffffff); return nil })
	if err == nil || !strings.Contains(err.Error(), "trap") {
		t.Errorf("a wild pointer gave %v", err)
	}
	shared().give(r)
	for range 2 * cap(shared().spare) { // the realm's memory comes round again
		values(t, [][2]string{{"1 + 1", "2"}})
	}
}

func TestPitfall03OnlyTheRunsGoroutineTouchesTheRealm(t *testing.T) {
	// The race detector proves it: answers arrive from many goroutines at once.
	values(t, [][2]string{{"(await Promise.all(Array.from({ length: 100 }, (_, i) => gh.get({ i })))).reduce((a, r) => a + r.i, 0)", "4950"}})
}

func TestPitfall04MemoryIsGivenBackOnlyAfterTheRun(t *testing.T) {
	for range 4 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		executeCtx(t, ctx, "const a: any[] = []; for (;;) a.push(new Uint8Array(1 << 16))")
		cancel()
	}
	values(t, [][2]string{{"'alive'", `"alive"`}})
}

func TestPitfall05StopsInTwoSteps(t *testing.T) {
	limit := func(p *engine.Program) { p.Limits.CPU = 30 * time.Millisecond }
	out, _ := execute(t, "function busy() {\n  for (;;) ;\n}\nbusy()", limit)
	if out.Err == nil || out.Err.Kind != fault.CPULimitExceeded || out.Err.Position == nil {
		t.Errorf("a loop: %+v", out.Err)
	}
	out, _ = execute(t, "new Array(2 ** 32 - 1).join('')", limit)
	if out.Err == nil || out.Err.Kind != fault.CPULimitExceeded {
		t.Errorf("a built-in: %+v", out.Err)
	}
}

func TestPitfall06RandomAndClocksAreNotFrozen(t *testing.T) {
	values(t, [][2]string{
		{"Math.abs(Date.now() - performance.timeOrigin - performance.now()) < 1000 && performance.now() < 5000", "true"},
		{"new Date().getFullYear() > 2024", "true"},
	})
	a, _ := execute(t, "Math.random()")
	b, _ := execute(t, "Math.random()")
	if string(a.Value) == string(b.Value) {
		t.Errorf("twice %s", a.Value)
	}
}

func TestPitfall07TheBridgeSurvivesWhatAProgramChanges(t *testing.T) {
	values(t, [][2]string{
		{"JSON.stringify = (() => 'x') as any; JSON.parse = () => 1; (Promise.prototype as any).then = null; await gh.get({ ok: 1 })", `{"ok":1}`},
		{"(globalThis as any).Promise = null; (globalThis as any).Map = null; (globalThis as any).Object = null; (globalThis as any).Error = null; await gh.get({ ok: [1] })", `{"ok":[1]}`},
		{"Object.prototype.hasOwnProperty = () => true; Reflect.apply = null as any; Function.prototype.call = null as any; await gh.get({ ok: { a: 1 } })", `{"ok":{"a":1}}`},
		{"Object.defineProperty(Object.prototype, '1', { set() { throw 1 }, get() { throw 2 } }); (await gh.get({ ok: 1 })).ok", `1`},
		{"delete (globalThis as any).JSON; delete (globalThis as any).tools; (await gh.get({ ok: 1 })).ok", `1`},
		{"Array.prototype[Symbol.iterator] = null as any; Array.prototype.push = null as any; (await gh.get({ ok: 1 })).ok", `1`},
		{"Object.getOwnPropertyNames(globalThis).filter(n => /host|bridge|settle/i.test(n))", `[]`},
	})
	out, _ := execute(t, "Error.prototype.name = 'E' as any; (WeakMap.prototype as any).get = null; await gh.fail({})")
	if out.Err == nil || out.Err.Kind != fault.ToolFailure {
		t.Errorf("%+v", out.Err)
	}
}

func TestPitfall08ThenToJSONAndSymbolsOfANamespaceAreUndefined(t *testing.T) {
	out, h := execute(t, "const a = await tools.gh; const b = await tools; [a === tools.gh, b === tools, (gh as any).then, (gh as any).toJSON, (gh as any)[Symbol.toPrimitive], (tools as any)[Symbol.iterator], JSON.stringify([gh]), typeof (gh as any).toString]")
	if string(out.Value) != `[true,true,null,null,null,null,"[{}]","undefined"]` || len(h.seen) != 0 {
		t.Errorf("%s %v, calls %v", out.Value, out.Err, h.seen)
	}
}

func TestPitfall09OutOfMemoryAsAThrownNull(t *testing.T) {
	for _, source := range []string{
		"const a: any[] = []; for (;;) a.push({ a: [1] })",
		"const a: any[] = []; try { for (;;) a.push({ a: [1] }) } catch (e) { throw e }",
		"const f = () => ({ a: [f] }); const a: any[] = []; const g = async () => { for (;;) { a.push(f()); } }; await g()",
		"let s = 'x'; for (;;) s += s",
	} {
		out, _ := execute(t, source, func(p *engine.Program) { p.Limits.Memory = 16 << 20 })
		if out.Err == nil || out.Err.Kind != fault.MemoryLimitExceeded && !strings.Contains(out.Err.Message, "string too long") {
			t.Errorf("%s: %+v", source, out.Err)
		}
	}
}

func TestPitfall10LoneSurrogatesAndNUL(t *testing.T) {
	out, h := execute(t, "console.log('\\ud800|\\0'); emit('\\udc00'); await gh.get({ s: '\\ud800\\0' }); '\\ud800' + '\\0'")
	if out.Err != nil || out.Logs[0].Message != "\ufffd|\x00" && !strings.HasPrefix(out.Logs[0].Message, "\ufffd") {
		t.Errorf("%+v %v", out.Logs, out.Err)
	}
	if len(h.seen) != 1 || !strings.Contains(h.seen[0], `\u0000`) {
		t.Errorf("%q", h.seen)
	}
}

func TestPitfall11UndefinedBigIntAndCycles(t *testing.T) {
	values(t, [][2]string{{"({ u: undefined, n: null, b: 2n ** 70n })", `{"n":null,"b":1180591620717411303424}`}})
	out, _ := execute(t, "const o: any = {}; o.o = o; o")
	if out.Err == nil || !strings.Contains(out.Err.Message, "cannot be written as JSON") {
		t.Errorf("%+v", out.Err)
	}
}

func TestPitfall12WhatLeavesIsCapped(t *testing.T) {
	out, _ := execute(t, "for (let i = 0; i < 20000; i++) console.log('x'.repeat(1000)); 1")
	if out.Err != nil || len(out.Logs) > 10_000 || out.Dropped.LogRecords < 10_000 {
		t.Errorf("%d logs, %+v, %v", len(out.Logs), out.Dropped, out.Err)
	}
}

func TestPitfall13LateAnswersGoNowhere(t *testing.T) {
	release := make(chan struct{})
	returned := make(chan struct{})
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var start time.Time // of the end: before the call the program may be long in compiling
	h := &host{call: func(context.Context, string, string, []byte, engine.CallOptions) (engine.CallValue, error) {
		defer close(returned)
		start = time.Now()
		cancel(context.DeadlineExceeded)
		<-release // does not listen to its context
		return engine.CallValue{Value: []byte("1")}, nil
	}}
	out := shared().Run(ctx, engine.Program{Source: "await fs.x()", Namespaces: fakes}, h)
	if start.IsZero() {
		t.Fatalf("no call was made: %+v", out.Err)
	}
	if out.Err == nil || out.Err.Kind != fault.TimeoutExceeded || time.Since(start) > 1500*time.Millisecond {
		t.Errorf("%+v after %v", out.Err, time.Since(start))
	}
	close(release)
	<-returned
}

func TestPitfall14ReturnImportExport(t *testing.T) {
	values(t, [][2]string{
		{"if (true) return 1; 2", "1"},
		{"await import('x').catch(e => e.name)", `"ReferenceError"`},
		{"export const a = 1; export function f() { return a + 1 }\nf()", "2"},
	})
	out, _ := execute(t, "const a = 1\nimport { b } from './b'")
	if out.Err == nil || out.Err.Kind != fault.ParseError || out.Err.Position.Line != 2 || !strings.Contains(out.Err.Hint, "tools.<namespace>") {
		t.Errorf("%+v", out.Err)
	}
}

func TestPitfall15StringsAndManyArguments(t *testing.T) {
	values(t, [][2]string{{"let s = ''; for (let i = 0; i < 300000; i++) s += 'ab'; s.length", "600000"}})
	out, _ := execute(t, "Math.max(...new Array(70000).fill(1))")
	if out.Err == nil || out.Err.Kind != fault.ScriptError {
		t.Errorf("70,000 arguments: %+v %s", out.Err, out.Value)
	}
}

func TestPitfall16TheTimeZoneIsUTC(t *testing.T) {
	values(t, [][2]string{{"[new Date(0).getHours(), String(new Date(0)).includes('GMT+0000'), new Date(2020, 5, 1).toISOString()]", `[0,true,"2020-06-01T00:00:00.000Z"]`}})
}

func TestPitfall17TheGeneratedPackageHasNoTests(t *testing.T) {
	entries, err := os.ReadDir("qjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") {
			t.Error(e.Name())
		}
	}
}

func TestPitfall18BuildsWithoutReservedMemory(t *testing.T) {
	for system, file := range map[string]string{"windows": "memory_other.go", "linux": "memory_unix.go", "darwin": "memory_unix.go"} {
		cmd := commandGo(t, "list", "-f", "{{.GoFiles}}", ".")
		cmd.Env = append(cmd.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		if out, err := cmd.Output(); err != nil || strings.Count(string(out), "memory_") != 1 || !strings.Contains(string(out), file) {
			t.Errorf("%s: %s %v, want %s", system, out, err, file)
		}
	}
}

func TestPitfall19BusyRunsTakeNoMoreThanTheirTokens(t *testing.T) {
	tokens := make(chan struct{}, 1)
	clock := semaphore(tokens)
	done := make(chan *engine.Outcome)
	for range 3 {
		go func() {
			out, _ := execute(t, "const end = Date.now() + 20; while (Date.now() < end); await sleep(1); 1", func(p *engine.Program) { p.Clock = clock })
			done <- out
		}()
	}
	for range 3 {
		if out := <-done; string(out.Value) != "1" {
			t.Errorf("%s %v", out.Value, out.Err)
		}
	}
	if len(tokens) != 0 {
		t.Error("a token was not given back")
	}
}

// semaphore is a clock over a channel of tokens.
type semaphore chan struct{}

func (s semaphore) Resume(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s semaphore) Park() { <-s }

func TestPitfall20NoticesAreThere(t *testing.T) {
	notice, err := os.ReadFile("../../../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"QuickJS-NG", "quickjs-wasi", "wasm2go", "wasi-libc", "esbuild"} {
		if !strings.Contains(string(notice), name) {
			t.Errorf("NOTICE does not name %s", name)
		}
	}
}

func TestNothingLeaksIntoTheNextRun(t *testing.T) {
	for range 3 * runtime.GOMAXPROCS(0) {
		execute(t, "(globalThis as any).leak = 1; (Array.prototype as any).evil = 1; (Object.prototype as any).p = 2; (console as any).log = null; delete (globalThis as any).JSON; Object.freeze(Map.prototype)")
	}
	values(t, [][2]string{
		{"[typeof (globalThis as any).leak, ([] as any).evil, ({} as any).p, typeof console.log, typeof JSON, Object.isFrozen(Map.prototype)]", `["undefined",null,null,"function","object",false]`},
	})
}

func TestAGarbageCollectionIsNotBlockedByARun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		executeCtx(t, ctx, "new Array(2 ** 32 - 1).join('')")
	}()
	worst := time.Duration(0)
	for range 20 {
		start := time.Now()
		runtime.GC()
		worst = max(worst, time.Since(start))
	}
	cancel()
	<-done
	if worst > 500*time.Millisecond {
		t.Errorf("a collection took %v beside a run inside a built-in", worst)
	}
}

func commandGo(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("skipped: there is no go command")
	}
	return exec.Command(path, arguments...)
}
