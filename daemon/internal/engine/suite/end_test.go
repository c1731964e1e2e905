package suite

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/sandbox"
)

// ends runs a source that is stopped once it has emitted something, and returns
// the outcome and how long the end took.
func (r *rig) ends(t *testing.T, cause error, source string, change ...func(*engine.Program)) (*engine.Outcome, *host, time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var stopped time.Time
	h := &waker{host: host{}, first: func() { stopped = time.Now(); cancel(cause) }}
	p := engine.Program{Source: source, Namespaces: fakes, Session: engine.SessionInfo{ID: "s1", Cwd: r.work, RunID: "r1"}, Cwd: r.work, Env: map[string]string{"PATH": runtimes()}}
	for _, f := range change {
		f(&p)
	}
	out := r.engine.Run(ctx, p, h)
	if stopped.IsZero() {
		t.Fatalf("it never began: %v %s", out.Err, out.Stderr)
	}
	return out, &h.host, time.Since(stopped)
}

// waker is a host that tells of the first emitted value.
type waker struct {
	host
	first func()
}

func (w *waker) Emit(v []byte) {
	w.host.Emit(v)
	if f := w.first; f != nil {
		w.first = nil
		f()
	}
}

var (
	errUser = fault.New(fault.Cancelled, "cancelled by the user")
	errTime = fault.New(fault.TimeoutExceeded, "the run exceeded its limit")
)

func TestEveryEngineStopsWhatRunsForEver(t *testing.T) {
	sources := map[string]string{
		"computing": "emit(1); while (true) {}",
		"waiting":   "emit(1); await sleep(600_000)",
		"calling":   "const c = gh.hang({}); emit(1); await c",
		"swallowed": "emit(1); for (;;) { try { await sleep(5); for (;;) {} } catch {} finally { continue } }",
	}
	each(t, func(t *testing.T, r *rig) {
		for name, source := range sources {
			out, _, took := r.ends(t, errUser, source)
			if out.Err == nil || out.Err.Kind != fault.Cancelled || took > 5*time.Second {
				t.Errorf("%s: %v after %v", name, out.Err, took)
			}
		}
		out, _, took := r.ends(t, errTime, "emit(1); await sleep(600_000)")
		if out.Err == nil || out.Err.Kind != fault.TimeoutExceeded || took > 6*time.Second {
			t.Errorf("%v after %v", out.Err, took)
		}
	})
}

// A program that does not listen gets TERM, its grace, and KILL; its children
// too, and those that have left its group.
func TestNothingOfAProcessSurvives(t *testing.T) {
	source := `
const { spawn } = await import('node:child_process');
process.on('SIGTERM', () => {});
const children = [spawn('/bin/sleep', ['600']), spawn('/bin/sh', ['-c', 'trap "" TERM; sleep 600; sleep 600']), spawn('/bin/sleep', ['600'], { detached: true })];
emit([process.pid, ...children.map(c => c.pid)]);
await sleep(600_000)`
	processes(t, func(t *testing.T, r *rig) {
		t.Parallel()
		for _, cause := range []error{errUser, errTime} {
			out, h, took := r.ends(t, cause, source)
			var pids []int
			if err := json.Unmarshal([]byte(h.emits[0]), &pids); err != nil || len(pids) != 4 {
				t.Fatalf("%v: %s", err, h.emits)
			}
			for _, pid := range pids {
				switch {
				case pid == 0:
					t.Errorf("not every child was started: %v %s", pids, out.Stderr)
				case alive(pid):
					t.Errorf("process %d outlived its run (%v)", pid, cause)
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			if out.Err == nil || took > 8*time.Second {
				t.Errorf("%v after %v", out.Err, took)
			}
		}
		// A program that ends well leaves nothing either, nor does one whose
		// children leave group, session and environment behind.
		out, h := r.run(t.Context(), `const { spawnSync } = await import('node:child_process');
for (const start of ['setsid', '/usr/bin/env -i /usr/bin/setsid'])
  emit(Number(spawnSync('/bin/sh', ['-c', start + ' sleep 600 >/dev/null 2>&1 & echo $!'], { encoding: 'utf8' }).stdout));
'done'`)
		if out.Err != nil || len(h.emits) != 2 {
			t.Fatalf("%v %q", out.Err, out.Stderr)
		}
		for _, text := range h.emits {
			if pid, _ := strconv.Atoi(text); pid == 0 || alive(pid) {
				t.Errorf("process %d outlived its run", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
}

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}

func TestComputingAndMemoryAreBounded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		t.Parallel()
		out, _ := r.run(t.Context(), "while (true) {}", func(p *engine.Program) { p.Limits.CPU = time.Second })
		if out.Err == nil || out.Err.Kind != fault.CPULimitExceeded {
			t.Errorf("computing: %v, stderr %q", out.Err, out.Stderr)
		}
		for name, source := range map[string]string{
			"objects": "const a: unknown[] = []; for (let i = 0; ; i++) { a.push({ i, s: 'x' + i, t: [i, i + 1] }); }",
			"buffers": "const a: Uint8Array[] = []; for (;;) { a.push(new Uint8Array(1 << 20).fill(1)); if (a.length % 16 === 0) await sleep(1); }",
		} {
			out, _ := r.run(t.Context(), source, func(p *engine.Program) { p.Limits.Memory = 64 << 20 })
			if out.Err == nil || out.Err.Kind != fault.MemoryLimitExceeded {
				t.Errorf("%s: %v, stderr %q", name, out.Err, out.Stderr)
			}
		}
	})
}

func TestCallsInFlightAreBounded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		out, h := r.run(t.Context(), "await Promise.all(Array.from({ length: 20 }, () => gh.slow({})))", func(p *engine.Program) { p.Limits.Concurrency = 3 })
		if out.Err != nil || h.most != 3 || len(h.seen) != 20 {
			t.Errorf("%v: %d at once, %d in all", out.Err, h.most, len(h.seen))
		}
	})
}

func TestCallsThatNobodyAwaitsEndWithTheRun(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		began := time.Now()
		out, _ := r.run(t.Context(), "gh.hang({}); 'done'", func(p *engine.Program) { p.Limits.Float = 300 * time.Millisecond })
		if out.Err != nil || string(out.Value) != `"done"` || time.Since(began) > 20*time.Second {
			t.Errorf("%v %s after %v", out.Err, out.Value, time.Since(began))
		}
		var kinds []string
		for _, w := range out.Warnings {
			kinds = append(kinds, w.Kind)
		}
		if strings.Join(kinds, " ") != "CallsNotAwaited CallsCancelled" {
			t.Errorf("%v", out.Warnings)
		}
	})
}

func TestOutputIsKeptWithinItsLimit(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		out, _ := r.run(t.Context(), "log('x'.repeat(600)); log('y'.repeat(600)); emit('e'.repeat(2000)); 'v'.repeat(2000)", func(p *engine.Program) { p.Limits.Capture = 1000 })
		if out.Err != nil || out.Dropped.LogRecords != 1 || out.Dropped.EmitBytes != 2002 || out.Dropped.ValueBytes != 1002 {
			t.Errorf("%v: %+v", out.Err, out.Dropped)
		}
	})
}

// CODE-28: what the process itself writes is kept, on success and on failure.
func TestStandardStreamsAreKept(t *testing.T) {
	processes(t, func(t *testing.T, r *rig) {
		for _, end := range []string{"1", "throw new Error('x')"} {
			out, _ := r.run(t.Context(), "process.stdout.write('out é\\n'); process.stderr.write('err\\n'); (await import('node:child_process')).spawnSync('/bin/echo', ['child'], { stdio: 'inherit' });\n"+end)
			if out.Stdout != "out é\nchild\n" || out.Stderr != "err\n" || (out.Err != nil) != (end != "1") {
				t.Errorf("%q %q %v", out.Stdout, out.Stderr, out.Err)
			}
		}
		out, _ := r.run(t.Context(), "process.stdout.write('x'.repeat(5000)); 1", func(p *engine.Program) { p.Limits.Capture = 1000 })
		if out.Stdout != strings.Repeat("x", 1000)+"…" || out.Dropped.OutputBytes != 4000 {
			t.Errorf("%d bytes, %+v", len(out.Stdout), out.Dropped)
		}
		out, _ = r.run(t.Context(), "process.stdout.write('é'.repeat(600)); 1", func(p *engine.Program) { p.Limits.Capture = 999 })
		if out.Stdout != strings.Repeat("é", 499)+"…" {
			t.Errorf("%q", out.Stdout)
		}
	})
}

// A line of megabytes comes in pieces: to look through all of it at each piece
// would take the square of its length.
func TestALongInputCostsAProcessLittle(t *testing.T) {
	processes(t, func(t *testing.T, r *rig) {
		text := strings.Repeat("x", 12<<20)
		out, _ := r.run(t.Context(), "(await stdin.text()).length", func(p *engine.Program) {
			p.Stdin, p.Limits.Memory, p.Limits.CPU = &text, 512<<20, 15*time.Second
		})
		if out.Err != nil || string(out.Value) != "12582912" {
			t.Errorf("%s, %v", out.Value, out.Err)
		}
	})
}

func TestAProcessThatEndsItselfIsToldApart(t *testing.T) {
	processes(t, func(t *testing.T, r *rig) {
		out, _ := r.run(t.Context(), "process.exit(3)")
		if out.Err == nil || out.Err.Kind != fault.ScriptError || !strings.Contains(out.Err.Message, "exit status 3") {
			t.Errorf("%v", out.Err)
		}
		out, _ = r.run(t.Context(), "process.kill(process.pid, 'SIGKILL'); await sleep(60_000)")
		if out.Err == nil || out.Err.Kind != fault.ScriptError || !strings.Contains(out.Err.Message, "killed") {
			t.Errorf("%v", out.Err)
		}
	})
}

// No file of a project is read before the program: it could run code of its own
// in the program's name.
func TestProjectFilesOfTheRuntimesAreNotRead(t *testing.T) {
	processes(t, func(t *testing.T, r *rig) {
		for name, text := range map[string]string{
			"bunfig.toml": "preload = [\"./evil.mjs\"]\n", ".env": "EVIL=1\n", "evil.mjs": "globalThis.evil = 1\n",
			"deno.json": `{"imports": {"node:fs": "./evil.mjs"}}`, "package.json": `{"type": "commonjs", "imports": {"#x": "./evil.mjs"}}`,
		} {
			if err := os.WriteFile(filepath.Join(r.work, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.value("[typeof globalThis.evil, process.env.EVIL ?? 'none', typeof (await import('node:fs')).readFileSync]", mode(sandbox.Full)); got != `["undefined","none","function"]` {
			t.Errorf("%s", got)
		}
	})
}

// What a program says past its prelude is its own: it cannot make it another's.
func TestForgedMessagesOnlySpeakForTheProgram(t *testing.T) {
	processes(t, func(t *testing.T, r *rig) {
		out, h := r.run(t.Context(), `const fs = await import('node:fs');
const fd = fs.openSync('/dev/fd/4', 'w');
fs.writeSync(fd, 'no json\n[]\n{"a":1}\n[0,99,"gh","get","not json"]\n[0,98,"gh","get","{\\"forged\\":true}"]\n[2,"{bad"]\n[77]\n');
await sleep(100);
await gh.get({ after: 1 })`)
		if out.Err != nil || string(out.Value) != `{"after":1}` || len(h.seen) != 2 || len(h.emits) != 0 {
			t.Errorf("%v %s %v %v", out.Err, out.Value, h.seen, h.emits)
		}
	})
}

// Past the prelude a program can write to its channel what it likes: it is held
// to its memory there too, since what it asks for waits with us.
func TestAProgramThatNeverReadsIsHeldToItsMemory(t *testing.T) {
	const open = "const fs = await import('node:fs'); const fd = globalThis.Deno ? fs.openSync('/dev/fd/4', 'w') : 4;\n"
	sources := map[string]string{
		"floods": open + `const query = JSON.stringify('"' + 'x'.repeat(4000) + '"'); let n = 0;
for (;;) { let lines = ''; for (let i = 0; i < 200; i++) lines += '[7,' + ++n + ',' + query + ']\n'; fs.writeSync(fd, lines) }`,
		"one long message": open + `const part = new Uint8Array(1 << 20).fill(97); fs.writeSync(fd, '[2,"'); for (;;) fs.writeSync(fd, part)`,
	}
	processes(t, func(t *testing.T, r *rig) {
		t.Parallel()
		for name, source := range sources {
			out, _ := r.run(t.Context(), source, func(p *engine.Program) { p.Limits.Memory = 32 << 20 })
			if out.Err == nil || out.Err.Kind != fault.MemoryLimitExceeded {
				t.Errorf("%s: %v %s", name, out.Err, out.Stderr)
			}
		}
	})
}
