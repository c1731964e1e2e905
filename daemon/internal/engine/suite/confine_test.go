package suite

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/sandbox"
)

// outside is what a strict mode must keep a program from.
type outside struct {
	Dir    string `json:"dir"`    // beside the workspace
	File   string `json:"file"`   // in dir, not empty
	Key    string `json:"key"`    // of tickets
	Other  string `json:"other"`  // another run's directory
	Port   int    `json:"port"`   // somebody listens, TCP and UDP
	Socket string `json:"socket"` // somebody listens, in the workspace
	PID    int    `json:"pid"`    // who started the program
}

func newOutside(t *testing.T, r *rig) outside {
	t.Helper()
	root := filepath.Dir(r.work)
	o := outside{
		Dir: filepath.Join(root, "outside"), Key: filepath.Join(r.secret, "tickets.key"), Other: filepath.Join(r.secret, "other-run"),
		Socket: filepath.Join(r.work, "s"), PID: os.Getpid(),
	}
	o.File = filepath.Join(o.Dir, "file")
	for _, dir := range []string{o.Dir, o.Other} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{o.File, o.Key, filepath.Join(o.Other, "tenon.mjs"), filepath.Join(r.work, "inside")} {
		if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Port = tcp.Addr().(*net.TCPAddr).Port
	unix, err := net.Listen("unix", shortSocket(t, o.Socket))
	if err != nil {
		t.Fatal(err)
	}
	o.Socket = unix.Addr().String()
	for _, l := range []net.Listener{tcp, unix} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, c) // until the program hangs up
				c.Close()
			}
		}()
		t.Cleanup(func() { l.Close(); <-done })
	}
	return o
}

// shortSocket is path, or a shorter one below the same workspace's temporary
// root when path is too long for a socket.
func shortSocket(t *testing.T, path string) string {
	const most = 100 // sun_path
	if len(path) < most {
		return path
	}
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// attempts tries everything that only full allows, and tells of each what came
// of it: ok, or the error.
const attempts = `
const fs = await import('node:fs'), net = await import('node:net'), dgram = await import('node:dgram'), { spawnSync } = await import('node:child_process');
const seen: Record<string, string> = {};
const attempt = async (name: string, f: () => unknown) => {
  try { await f(); seen[name] = 'ok'; } catch (e: any) { seen[name] = String(e?.code ?? e?.name ?? e); }
};
const shell = (script: string) => {
  const r = spawnSync('/bin/bash', ['-c', script], { encoding: 'utf8' });
  if (r.error) throw r.error;
  if (r.status !== 0) throw new Error('exit ' + r.status + ': ' + r.stderr);
};
const connect = (options: any) => new Promise<void>((resolve, reject) => {
  const c = net.connect(options, () => { c.destroy(); resolve(); });
  c.on('error', reject);
});
await attempt('write outside', () => fs.writeFileSync(input.dir + '/new', '1'));
await attempt('make a directory outside', () => fs.mkdirSync(input.dir + '/newdir'));
await attempt('append outside', () => fs.appendFileSync(input.file, '1'));
await attempt('truncate outside', () => fs.truncateSync(input.file, 1));
await attempt('read outside', () => fs.readFileSync(input.file));
await attempt('a child writes outside', () => shell('echo 1 > "' + input.dir + '/child"'));
await attempt('a child truncates outside', () => shell(': > "' + input.file + '"'));
await attempt('remove outside', () => fs.unlinkSync(input.file));
await attempt('tcp', () => connect({ port: input.port, host: '127.0.0.1' }));
const deno = (globalThis as any).Deno; // its node:net and node:dgram throw where nobody can catch it
const denied = () => { deno.listen({ port: 0 }).close() };
await attempt('listen', () => deno ? denied() : new Promise<void>((resolve, reject) => {
  const s = net.createServer(); s.on('error', reject); s.listen(0, '127.0.0.1', () => s.close(() => resolve()));
}));
await attempt('udp', () => deno ? denied() : new Promise<void>((resolve, reject) => {
  const s = dgram.createSocket('udp4'); s.on('error', reject);
  s.send('x', input.port, '127.0.0.1', (e: any) => { try { s.close() } catch {} e ? reject(e) : resolve() });
}));
await attempt('unix socket', () => connect({ path: input.socket }));
await attempt('a child connects', () => shell('exec 3<>/dev/tcp/127.0.0.1/' + input.port));
await attempt('a child sends a datagram', () => shell('echo x > /dev/udp/127.0.0.1/' + input.port));
await attempt('the key of tickets', () => fs.readFileSync(input.key));
await attempt('another run', () => fs.readFileSync(input.other + '/tenon.mjs'));
await attempt('write to another run', () => fs.writeFileSync(input.other + '/x', '1'));
await attempt('the environment of its starter', () => fs.readFileSync('/proc/' + input.pid + '/environ'));
await attempt('the descriptors of its starter', () => fs.readdirSync('/proc/' + input.pid + '/fd'));
await attempt('a signal to its starter', () => { process.kill(input.pid, 0) });
await attempt('a child signals its starter', () => shell('kill -0 ' + input.pid));
seen`

func (o outside) input() func(*engine.Program) {
	text, _ := json.Marshal(o)
	return func(p *engine.Program) { p.Input = text }
}

func TestStrictModesHoldWhatFullAllows(t *testing.T) {
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	processes(t, func(t *testing.T, r *rig) {
		for _, m := range []sandbox.Mode{sandbox.ReadOnly, sandbox.WorkspaceWrite, sandbox.Full} {
			t.Run(string(m), func(t *testing.T) {
				r.t = t
				o := newOutside(t, r)
				var seen map[string]string
				if err := json.Unmarshal([]byte(r.value(attempts, mode(m), o.input())), &seen); err != nil || len(seen) != strings.Count(attempts, "await attempt(") {
					t.Fatalf("%v: %v", err, seen)
				}
				for name, result := range seen {
					if ok := result == "ok"; ok != (m == sandbox.Full) {
						t.Errorf("%s: %s", name, result)
					}
				}
				if m == sandbox.Full {
					return
				}
				if left, err := os.ReadFile(o.File); err != nil || string(left) != "content" {
					t.Errorf("the file outside was changed: %q, %v", left, err)
				}
			})
		}
	})
}

// inside is what a program and its children may do, by mode.
const insideSource = `
const fs = await import('node:fs'), os = await import('node:os'), { spawnSync } = await import('node:child_process');
const attempt = (f: () => unknown) => { try { return f() ?? 'ok' } catch (e: any) { return 'refused' } };
const shell = (script: string) => spawnSync('/bin/sh', ['-c', script]).status === 0 ? 'ok' : 'refused';
[
  attempt(() => fs.readFileSync('inside', 'utf8')),
  attempt(() => fs.writeFileSync('made', '1')),
  shell('echo 1 > made-by-child && mv made-by-child moved && rm moved'),
  attempt(() => { fs.mkdirSync('d'); fs.rmdirSync('d') }),
  attempt(() => fs.writeFileSync(os.tmpdir() + '/t', '1')),
  shell('cat inside && ls / >/dev/null; echo 1 > "$TMPDIR/c"'),
  attempt(() => fs.writeFileSync('/dev/null', '1')),
  process.cwd() === session.cwd,
]`

func TestEachModeAllowsWhatItPromises(t *testing.T) {
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	want := map[sandbox.Mode]string{
		sandbox.ReadOnly:       `["content","refused","refused","refused","ok","ok","ok",true]`,
		sandbox.WorkspaceWrite: `["content","ok","ok","ok","ok","ok","ok",true]`,
		sandbox.Full:           `["content","ok","ok","ok","ok","ok","ok",true]`,
	}
	processes(t, func(t *testing.T, r *rig) {
		if err := os.WriteFile(filepath.Join(r.work, "inside"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
		for m, value := range want {
			r.t = t
			if got := r.value(insideSource, mode(m)); !sameJSON(got, value) {
				t.Errorf("%s: %s, want %s", m, got, value)
			}
		}
	})
}

// The workspace is not where a program stands: an agent that chooses its
// directory does not choose what it may write to.
func TestTheDirectoryIsNotTheWorkspace(t *testing.T) {
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	processes(t, func(t *testing.T, r *rig) {
		elsewhere := t.TempDir()
		got := r.value(`const fs = await import('node:fs'); try { fs.writeFileSync('x', '1'); 'written' } catch { 'refused' }`,
			func(p *engine.Program) { p.Workspace, p.Cwd = r.work, elsewhere })
		if got != `"refused"` {
			t.Errorf("%s", got)
		}
	})
}

// A workspace that holds what must stay hidden cannot be confined: it is refused.
func TestAWorkspaceThatHoldsTenonsOwnIsRefused(t *testing.T) {
	processes(t, func(t *testing.T, r *rig) {
		for _, m := range []sandbox.Mode{sandbox.ReadOnly, sandbox.WorkspaceWrite} {
			out, _ := r.run(t.Context(), "1", mode(m), func(p *engine.Program) { p.Cwd = filepath.Dir(r.work) })
			if out.Err == nil || out.Err.Kind != fault.EngineUnavailable || !strings.Contains(out.Err.Message, r.secret) {
				t.Errorf("%s: %v", m, out.Err)
			}
		}
	})
}

// The environment is a list of what is allowed: nothing of ours, and in strict
// modes nothing that could name a secret or a socket.
func TestTheEnvironmentIsAnAllowList(t *testing.T) {
	t.Setenv("TENON_TICKET", "stolen")
	t.Setenv("SECRET_OF_THE_DAEMON", "stolen")
	processes(t, func(t *testing.T, r *rig) {
		env := func(p *engine.Program) { p.Env["SSH_AUTH_SOCK"], p.Env["USER"] = "/agent", "me" }
		for _, m := range []sandbox.Mode{sandbox.WorkspaceWrite, sandbox.Full} {
			if m.Strict() && sandbox.Probe().Holds(m) != nil {
				continue
			}
			var got map[string]string
			if err := json.Unmarshal([]byte(r.value("({ ...process.env })", mode(m), env)), &got); err != nil {
				t.Fatal(err)
			}
			for name, v := range got {
				if strings.HasPrefix(name, "TENON_T") || strings.Contains(v, "stolen") {
					t.Errorf("%s: %s=%s", m, name, v)
				}
			}
			if got["USER"] != "me" || got["TZ"] != "UTC" || got["AGENT"] != "1" || (got["SSH_AUTH_SOCK"] != "") == m.Strict() {
				t.Errorf("%s: %v", m, got)
			}
		}
	})
}

// what the machine cannot hold is refused with the reason, never widened.
func TestAModeThatCannotBeHeldIsRefused(t *testing.T) {
	for name, abi := range map[string]int{"missing": 0, "old": 2} {
		support := sandbox.Support{ABI: 7}.AtMost(abi)
		for _, engineName := range process.Names() {
			e := process.New(process.Options{Name: engineName, Support: &support})
			for _, m := range []sandbox.Mode{sandbox.ReadOnly, sandbox.WorkspaceWrite, ""} {
				out := e.Run(t.Context(), engine.Program{Source: "1", Sandbox: string(m)}, &host{})
				if out.Err == nil || out.Err.Kind != fault.EngineUnavailable || !strings.Contains(out.Err.Message, support.Reason) || out.Err.Hint == "" {
					t.Errorf("%s, %s in %q: %v", name, engineName, m, out.Err)
				}
			}
			if out := e.Run(t.Context(), engine.Program{Source: "1", Sandbox: "confined"}, &host{}); out.Err == nil || out.Err.Kind != fault.EngineUnavailable {
				t.Errorf("confined: %v", out.Err)
			}
		}
	}
}

// nobody is the uid and gid of the system's user without rights.
const nobody = 65534

// Root can do what others cannot, so the modes are held against an ordinary user
// as well.
func TestStrictModesHoldForAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this test runs as an ordinary user already: TestStrictModesHoldWhatFullAllows has shown it")
	}
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Of its own: the temporary directories of a test are not open to others.
	dir, err := os.MkdirTemp("/tmp", "tenon-suite")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "suite.test")
	if text, err := exec.Command("cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, path := range []string{dir, program} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(program, "-test.run", "^(TestStrictModesHoldWhatFullAllows|TestEachModeAllowsWhatItPromises)$", "-test.v")
	c.Dir = dir
	c.Env = []string{"PATH=" + runtimes(), "HOME=" + dir, "TMPDIR=" + dir}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, name := range process.Names() {
		if _, err := process.Find(t.Context(), name, runtimes(), ""); err != nil {
			continue
		}
		if !strings.Contains(string(text), fmt.Sprintf("--- PASS: TestStrictModesHoldWhatFullAllows/%s/read-only", name)) {
			t.Errorf("%s was not tested as an ordinary user:\n%s", name, text)
		}
	}
}
