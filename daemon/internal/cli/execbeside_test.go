package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenon/daemon/internal/sandbox"
	"tenon/proto"
)

// withDeno is a place whose PATH has deno.
func withDeno(t *testing.T) *place {
	t.Helper()
	bin, err := filepath.Abs("../../../test/runtimes/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "deno")); err != nil {
		t.Skip("deno is not installed: make test brings it")
	}
	p := newPlace(t, map[string]any{"permissions": map[string]any{"sandbox": "full"}})
	p.environ = append(p.environ, "PATH="+bin+":"+os.Getenv("PATH"), "NO_COLOR=1")
	return p
}

// lastRun is what history keeps of the last run.
func (p *place) lastRun() proto.Run {
	p.t.Helper()
	var row proto.Run
	out := p.run("runs", "show", "last", "--json")
	if err := json.Unmarshal([]byte(out.out), &row); err != nil {
		p.t.Fatalf("runs show: %+v", out)
	}
	return row
}

// goes waits for the end of a process; what nobody has reaped has ended.
func goes(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err == nil {
			if _, rest, _ := strings.Cut(string(raw), ") "); strings.HasPrefix(rest, "Z") {
				return
			}
		} else if syscall.Kill(pid, 0) != nil {
			return
		}
	}
	t.Errorf("process %d lives", pid)
}

func TestAStaticImportIsToldHowTheRuntimeImports(t *testing.T) {
	p := withDeno(t)
	for _, where := range []string{"local", "remote"} {
		got := p.run("exec", "--engine", "deno", "--where", where, "-e", "import fs from 'node:fs'; fs")
		if got.code != 1 || !strings.Contains(got.err, `const fs = await import("node:fs")`) {
			t.Errorf("%s: %+v", where, got)
		}
	}
}

// lasting is a program that starts a process of its own and goes on; it says
// "child PID".
const lasting = `const c = new Deno.Command("sleep", {args: ["1000"], stdout: "null", stderr: "null"}).spawn();
console.log("child " + c.pid + " of " + Deno.pid + ".");
await fake.sleep({ms: 600000});`

// pids finds the processes that a lasting program named.
func pids(t *testing.T, said string) (child, program int) {
	t.Helper()
	_, said, _ = strings.Cut(said, "child ")
	c, rest, _ := strings.Cut(said, " of ")
	d, _, _ := strings.Cut(rest, ".")
	child, err := strconv.Atoi(c)
	if err == nil {
		program, err = strconv.Atoi(d)
	}
	if err != nil {
		t.Fatalf("%q: %v", said, err)
	}
	return child, program
}

func TestAProcessRunsBesideTheCommandAndItsRunInTheDaemon(t *testing.T) {
	p := withDeno(t)
	cmd := p.command("exec", "--engine", "deno", "-e",
		"await Deno.stdout.write(new TextEncoder().encode('written')); console.log('logged'); emit({n: 1}); [Deno.ppid, await fake.echo({text: 'hi'})]")
	var said, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &complaint)
	}
	if want := "written\n[" + strconv.Itoa(cmd.Process.Pid) + `,"hi"]`; strings.TrimSpace(said.String()) != want || !strings.Contains(complaint.String(), "logged") {
		t.Errorf("%q, not %q; %s", &said, want, &complaint)
	}
	row := p.lastRun()
	if row.Options == nil || row.Options.Where != "local" || row.Engine != "deno" || row.Calls != 1 || row.Result == nil ||
		row.Result.Stdout != "written" || len(row.Result.Emits) != 1 || len(row.Result.Logs) != 1 {
		t.Errorf("%+v, %+v", row, row.Result)
	}
	if shown := p.run("runs", "show", row.ID); !strings.Contains(shown.out, "engine    deno, beside its command, full\n") {
		t.Errorf("%+v", shown)
	}
	// The daemon executes it where that is asked for, and answers the same.
	cmd = p.command("exec", "--engine", "deno", "--where", "remote", "--json", "-e", "Deno.ppid")
	out, err := cmd.Output()
	var r proto.RunResult
	if err != nil || json.Unmarshal(out, &r) != nil || string(r.Value) == strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("%s, %v", out, err)
	}
	if row = p.lastRun(); row.Options == nil || row.Options.Where != "remote" {
		t.Errorf("%+v", row)
	}
	if got := p.run("exec", "--where", "local", "-e", "1"); got.code != 2 || !strings.Contains(got.err, "the embedded engine is a part of the daemon") {
		t.Errorf("embedded elsewhere: %+v", got)
	}
	if got := p.run("exec", "--where", "here", "-e", "1"); got.code != 2 || !strings.Contains(got.err, "auto, local, remote") {
		t.Errorf("an unknown place: %+v", got)
	}
	if left, _ := os.ReadDir(filepath.Join(p.home, "run", "attached")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheConfiguredEngineRunsBesideTheCommandToo(t *testing.T) {
	p := withDeno(t)
	p.write("config/tenon/config.jsonc", `{"script": {"engine": "deno"}, "permissions": {"sandbox": "full"}}`)
	cmd := p.command("exec", "--json", "-e", "console.error('complaint'); Deno.ppid")
	out, err := cmd.Output()
	var r proto.RunResult
	if err != nil || json.Unmarshal(out, &r) != nil || string(r.Value) != strconv.Itoa(cmd.Process.Pid) || r.Timing.Total == 0 {
		t.Errorf("%s, %v", out, err)
	}
	if got := p.run("exec", "--engine", "embedded", "-e", "typeof Deno"); got.out != "undefined\n" {
		t.Errorf("%+v", got)
	}
	got := p.run("exec", "-e", "const n = 1;\nnull.x")
	if got.code != 1 || !strings.Contains(got.err, "script:2:") || !strings.Contains(got.err, "(ScriptError)") {
		t.Errorf("a failure: %+v", got)
	}
}

func TestAProcessBesideTheCommandIsConfined(t *testing.T) {
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skip(err)
	}
	p := withDeno(t)
	key := filepath.Join(p.home, "run", "tickets.key")
	p.run("daemon", "start")
	code := "const could = []; for (const [n, f] of [['write', () => Deno.writeTextFileSync('x.txt', 'x')], " +
		"['key', () => Deno.readTextFileSync(" + strconv.Quote(key) + ")]]) try { f(); could.push(n) } catch {}\ncould.join()"
	for mode, want := range map[string]string{"read-only": "", "workspace-write": "write", "full": "write,key"} {
		if got := p.run("exec", "--engine", "deno", "--sandbox", mode, "-e", code); got.code != 0 || strings.TrimSpace(got.out) != want {
			t.Errorf("%s: %+v, not %q", mode, got, want)
		}
	}
}

func TestStandardInputReachesAProcess(t *testing.T) {
	p := withDeno(t)
	read := "let s = ''; for await (const c of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) s += c; s.trim().toUpperCase()"
	cmd := p.command("exec", "--engine", "deno", "-e", read)
	cmd.Stdin = strings.NewReader("piped\n")
	if out, err := cmd.Output(); err != nil || string(out) != "PIPED\n" {
		t.Errorf("%q, %v", out, err)
	}
	cmd = p.command("exec", "--engine", "deno", "-e", "input.a + 1") // as on every engine
	cmd.Stdin = strings.NewReader(`{"a": 1}`)
	if out, err := cmd.Output(); err != nil || string(out) != "2\n" {
		t.Errorf("%q, %v", out, err)
	}
	s := p.terminal("exec", "--engine", "deno", "-e",
		"console.log('type' + '!'); const b = new Uint8Array(99); const n = await Deno.stdin.read(b); 'got ' + new TextDecoder().decode(b.subarray(0, n)).trim()")
	s.waitFor("type!")
	s.types("words\r")
	if code, shown := s.ends(); code != 0 || !strings.Contains(shown, "got words") {
		t.Errorf("%d: %s", code, shown)
	}
}

func TestCtrlCEndsTheProcessAndItsChildren(t *testing.T) {
	p := withDeno(t)
	s := p.terminal("exec", "--engine", "deno", "-e", lasting)
	s.waitFor(".\r\n")
	child, program := pids(t, s.text())
	for end := time.Now().Add(patience); p.lastRun().Calls == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the call was never made")
		}
	}
	s.types("\x03")
	if code, shown := s.ends(); code != 130 {
		t.Errorf("%d: %s", code, shown)
	}
	goes(t, program)
	goes(t, child)
	if row := p.lastRun(); row.Status != "cancelled" || row.Calls != 1 {
		t.Errorf("%+v", row)
	}
}

func TestAKilledDaemonEndsTheProcessAndTheCommandWithThree(t *testing.T) {
	p := withDeno(t)
	s := p.terminal("exec", "--engine", "deno", "-e", lasting)
	s.waitFor(".\r\n")
	child, program := pids(t, s.text())
	var status proto.Status
	if err := json.Unmarshal([]byte(p.run("daemon", "status", "--json").out), &status); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(status.Health.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code, shown := s.ends(); code != 3 || !strings.Contains(shown, "the daemon went away") {
		t.Errorf("%d: %s", code, shown)
	}
	goes(t, program)
	goes(t, child)
}

func TestAKilledCommandLeavesNothing(t *testing.T) {
	p := withDeno(t)
	s := p.terminal("exec", "--engine", "deno", "-e", lasting)
	s.waitFor(".\r\n")
	child, program := pids(t, s.text())
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ends()
	goes(t, program)
	goes(t, child)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		row := p.lastRun()
		left, _ := os.ReadDir(filepath.Join(p.home, "run", "attached"))
		if row.Status == "cancelled" && row.Result != nil && strings.Contains(row.Result.Error.Message, "is gone") && len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%+v, left %v", row, left)
		}
	}
}
