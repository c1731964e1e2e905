package embedded

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

func TestLogsHaveLevelAttributesAndCallSite(t *testing.T) {
	out, h := execute(t, `type T = { a: 1 }
log.debug('d')
log.info('i', { n: 1, list: [1] })
  log.warn('w', 'text'); log.error('e', { n: 1 })
log('plain')
function f() {
  console.log('in f', { a: [1, null] }, 5, undefined)
}
f()
console.error('%s is %d%%', 'x', 5, 'more')
emit({ a: 1 }); emit([2]); emit(undefined)
9`)
	if out.Err != nil || string(out.Value) != "9" {
		t.Fatal(out.Value, out.Err)
	}
	var got []string
	for _, r := range out.Logs {
		at := "?"
		if r.Position != nil {
			at = fmt.Sprintf("%d:%d", r.Position.Line, r.Position.Column)
		}
		got = append(got, fmt.Sprintf("%s %s %q %s", at, r.Level, r.Message, r.Attrs))
	}
	want := []string{
		`2:5 debug "d" `,
		`3:5 info "i" {"n":1,"list":[1]}`,
		`4:7 warn "w" {"value":"text"}`,
		`4:30 error "e" {"n":1}`,
		`5:1 info "plain" `,
		`7:11 info "in f {\"a\":[1,null]} 5 undefined" `,
		`10:9 error "x is 5% more" `,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(h.logs) != len(want) || strings.Join(h.emits, " ") != `{"a":1} [2] null` || len(out.Emits) != 3 {
		t.Errorf("streamed %d logs, emits %v %s", len(h.logs), h.emits, out.Emits)
	}
	if out.Stdout != "" || out.Stderr != "" {
		t.Errorf("stdout %q, stderr %q", out.Stdout, out.Stderr)
	}
}

func TestConsoleShowsEverything(t *testing.T) {
	out, _ := execute(t, `const c: any = { a: 1 }; c.self = c
console.log(c, new Map([['k', 1n]]), new Set(['x']), () => 1, Symbol('s'), tools.gh, tools, null, [undefined])
console.info(new Date(0), /re/, class Foo {}, -0, 10n)
console.table([{ a: 1 }]); console.dir({ d: 1 }); console.assert(true, 'no'); console.assert(false, 'yes %s', 1)
console.count(); console.count(); console.group('g'); console.log('inner'); console.groupEnd(); console.trace('t')
console.time('x'); console.timeEnd('x')
console.log()
console.log({ get bad() { throw 1 } })`)
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	var lines []string
	for _, r := range out.Logs {
		lines = append(lines, r.Message)
	}
	got := strings.Join(lines, "\n")
	for _, want := range []string{
		`{"a":1,"self":"[Circular]"} {"k":"1n"} ["x"] [Function anonymous] Symbol(s) [tools of gh] [tools] null [null]`,
		`"1970-01-01T00:00:00.000Z" {} [Function Foo] 0 10n`,
		`[{"a":1}]`, `assertion failed: yes 1`, "default: 1\ndefault: 2\ng\n  inner\nt\nx: ", `[object that cannot be shown]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
}

func TestNothingSaidIsLostOnFailure(t *testing.T) {
	for _, source := range []string{"console.log('a'); emit(1); throw new Error('x')", "console.log('a'); emit(1); for (;;) {}"} {
		out, _ := execute(t, source, func(p *engine.Program) { p.Limits.CPU = 50 * time.Millisecond })
		if out.Err == nil || len(out.Logs) != 1 || len(out.Emits) != 1 {
			t.Errorf("%s: %v %v %v", source, out.Err, out.Logs, out.Emits)
		}
	}
}

func TestCaptureIsBoundedAndCounted(t *testing.T) {
	small := func(p *engine.Program) { p.Limits.Capture, p.Limits.Logs = 1000, 5 }
	out, h := execute(t, "for (let i = 0; i < 10; i++) { console.log('x'.repeat(50)); emit('y'.repeat(300)) }; 'é'.repeat(5000)", small)
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	if len(out.Logs) != 5 || out.Dropped.LogRecords != 5 || out.Dropped.LogBytes != 250 || len(h.logs) != 10 {
		t.Errorf("logs %d, dropped %+v, streamed %d", len(out.Logs), out.Dropped, len(h.logs))
	}
	if len(out.Emits) != 3 || out.Dropped.EmitBytes != 7*302 || len(h.emits) != 10 {
		t.Errorf("emits %d, dropped %+v, streamed %d", len(out.Emits), out.Dropped, len(h.emits))
	}
	if want := `"\"` + strings.Repeat("é", 499) + `"`; string(out.Value) != want || out.Dropped.ValueBytes != 10002-999 {
		t.Errorf("value %.20s… of %d bytes, dropped %+v", out.Value, len(out.Value), out.Dropped)
	}
}

func TestUnawaitedCallsAreWaitedForAndNamed(t *testing.T) {
	out, h := execute(t, "gh.slow({ n: 1 }); (async () => { await gh.slow({ n: 2 }); await gh.get({ n: 3 }) })(); 'done'")
	if string(out.Value) != `"done"` || out.Err != nil || len(h.seen) != 3 {
		t.Errorf("value %s %v, calls %v", out.Value, out.Err, h.seen)
	}
	if w := warnings(out); !strings.Contains(w, "CallsNotAwaited") || !strings.Contains(w, "git-hub.slow (2 times), git-hub.get") || strings.Contains(w, "Cancelled") {
		t.Errorf("warnings:\n%s", w)
	}
	start := time.Now()
	out, _ = execute(t, "gh.hang({}); gh.hang({}); setTimeout(() => {}, 1e6); 'done'", func(p *engine.Program) { p.Limits.Float = 50 * time.Millisecond })
	if string(out.Value) != `"done"` || out.Err != nil {
		t.Errorf("value %s %v", out.Value, out.Err)
	}
	if w := warnings(out); !strings.Contains(w, "CallsCancelled: cancelled when the run ended: git-hub.hang (2 times)") {
		t.Errorf("warnings:\n%s", w)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestATimerKeepsAFinishedRunAliveOnlyWithinTheFloat(t *testing.T) {
	start := time.Now()
	out, _ := execute(t, "setTimeout(() => log('late'), 10); await Promise.race([gh.get({}), sleep(60000)]); 1")
	if len(out.Logs) != 1 || time.Since(start) > 4*time.Second || len(out.Warnings) != 0 {
		t.Errorf("logs %v after %v, %v", out.Logs, time.Since(start), out.Warnings)
	}
}

func TestUnhandledRejectionsAreWarnings(t *testing.T) {
	out, _ := execute(t, "gh.fail({}); Promise.reject(new Error('lost')); const p = Promise.reject(1); await sleep(1); p.catch(() => {}); 'v'")
	w := warnings(out)
	if string(out.Value) != `"v"` || out.Err != nil || !strings.Contains(w, "UnhandledRejection: a promise was rejected and nobody handled it: ToolError (ToolFailure): no such thing") || !strings.Contains(w, "Error: lost") || strings.Count(w, "UnhandledRejection") != 2 {
		t.Errorf("%s %v\n%s", out.Value, out.Err, w)
	}
	out, _ = execute(t, "for (let i = 0; i < 100; i++) Promise.reject(i); 1")
	if w := warnings(out); !strings.Contains(w, "and 80 more") {
		t.Errorf("warnings:\n%s", w)
	}
}

func TestFailureCancelsWhatIsInFlight(t *testing.T) {
	out, _ := execute(t, "gh.hang({}); throw new Error('x')")
	if out.Err == nil || out.Err.Kind != fault.ScriptError || !strings.Contains(warnings(out), "CallsCancelled") {
		t.Errorf("%+v\n%s", out.Err, warnings(out))
	}
}

func warnings(out *engine.Outcome) string {
	var lines []string
	for _, w := range out.Warnings {
		lines = append(lines, w.Kind+": "+w.Message)
	}
	return strings.Join(lines, "\n")
}
