//go:build linux

package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// limit sets a soft limit of the daemon's process; the hard one stays, so that it can
// be set back.
func (g *stage) limit(resource int, to uint64) (back func()) {
	g.Helper()
	pid := g.pid()
	var was unix.Rlimit
	g.bear(unix.Prlimit(pid, resource, nil, &was))
	g.bear(unix.Prlimit(pid, resource, &unix.Rlimit{Cur: to, Max: was.Max}, nil))
	return func() {
		g.Helper()
		if err := unix.Prlimit(pid, resource, &was, nil); err != nil && err != unix.ESRCH {
			g.Fatal(err)
		}
	}
}

// A daemon without a file left goes on with what it has. Who comes then waits until
// there is one again, or is told.
func TestNoMoreFiles(t *testing.T) {
	g := newStage(t, setting{}).open()
	victim, err := g.s.StartHost("victim", g.s.Work, rig.HostOptions{})
	g.bear(err)
	g.attach(victim, "victim")
	g.times("a daemon with no file left", func(int) {
		back := g.limit(unix.RLIMIT_NOFILE, 3) // fewer than it has open: none can be added
		token := g.token("waiting")
		waiting := g.begin("exec", "--json", "-e", echoer(token))
		g.bystander()
		o, err := victim.Start(proto.RunStart{
			Origin: proto.Origin{Session: "victim", Call: rig.CallID(victim.NextID()), Agent: "build"}, Directory: g.s.Work,
			Code: echoer(g.token("no-server")),
		}, 0)
		if err != nil || o.Code != fault.ServerUnavailable.ExitCode() || !strings.Contains(string(o.Stdout)+string(o.Stderr), "too many open files") {
			g.Errorf("a server that cannot be started: %v, code %d: %s %s", err, o.Code, o.Stdout, o.Stderr)
		}
		back()
		if !g.give(waiting, token) {
			g.Errorf("who waited is told %d: %s %s", waiting.code(), waiting.out.String(), waiting.err.String())
		}
		g.exec("again", "own")
	})
}

// limitedEnv marks the process in which the test below runs for another user: the
// system counts the processes of a user, and root's do not count.
const limitedEnv = "TENON_FAULTS_AS_USER"

// nobodyElse is a user who has no process on any machine of ours.
const nobodyElse = 54271

// A daemon that may start no process says so. If it needs a thread meanwhile, its
// runtime ends it: then it is a killed daemon, and the next call starts another.
func TestNoMoreProcesses(t *testing.T) {
	if os.Getuid() == 0 && os.Getenv(limitedEnv) == "" {
		asUser(t)
		return
	}
	g := newStage(t, setting{}).open()
	victim, err := g.s.StartHost("victim", g.s.Work, rig.HostOptions{})
	g.bear(err)
	g.attach(victim, "victim")
	died := 0
	g.times("a daemon that may start no process", func(int) {
		pid := g.pid()
		back := g.limit(unix.RLIMIT_NPROC, 1)
		o, err := victim.Start(proto.RunStart{
			Origin: proto.Origin{Session: "victim", Call: rig.CallID(victim.NextID()), Agent: "build"}, Directory: g.s.Work,
			Code: echoer(g.token("no-server")),
		}, 0)
		back()
		text := string(o.Stdout) + string(o.Stderr)
		if syscall.Kill(pid, 0) != nil {
			died++
		} else if err != nil || o.Code == 0 || !strings.Contains(text, "resource temporarily unavailable") {
			g.Errorf("a server that cannot be started: %v, code %d: %s", err, o.Code, text)
		}
		g.until("the victim is served again", func() bool {
			o, err := victim.Request(proto.MethodStatusGet, proto.StatusGet{Session: "victim"}, 0)
			return err == nil && o.Code == 0
		})
		g.back()
		g.exec("again", "own")
	})
	t.Logf("%d of the daemons were ended by their runtime, for want of a thread", died)
}

// asUser runs the test again as a user whose processes count.
func asUser(t *testing.T) {
	dir, err := os.MkdirTemp("", "tenon-faults-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, f := range []struct{ from, name string }{{rig.Program(t), "tenon"}, {os.Args[0], "test"}} {
		data, err := os.ReadFile(f.from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, tmp} {
		if err := os.Chown(path, nobodyElse, nobodyElse); err != nil {
			t.Skipf("no process can be given to another user here: %v", err)
		}
	}
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyElse, Gid: nobodyElse}}
	cmd.Env = append(os.Environ(), limitedEnv+"=1", "TENON_CASES_BINARY="+filepath.Join(dir, "tenon"), "TMPDIR="+tmp, "HOME="+tmp, timesEnv+"="+strconv.Itoa(repetitions()))
	out, err := cmd.CombinedOutput()
	t.Logf("as user %d:\n%s", nobodyElse, out)
	if err != nil {
		t.Error(err)
	}
}
