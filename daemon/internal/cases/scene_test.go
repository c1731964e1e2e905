package cases

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scene is everything one case owns: its directories, its environment, the
// doubles of plugin hosts and the commands in the background.
type scene struct {
	work    string // the archive's directory; part of every process of the case
	runtime string // short, since a socket path is
	env     map[string]string

	mu       sync.Mutex
	jobs     map[string]*job
	hosts    map[string]*host
	sessions map[string]*attached
	atEnd    []func()
}

// attached is a session that a double has attached.
type attached struct {
	host   *host
	dir    string
	ticket string
	socket string
}

type sceneKey struct{}

func sceneOf(ts *testscript.TestScript) *scene { return ts.Value(sceneKey{}).(*scene) }

// fakeScript is the command "fake" of the reports. A race build sleeps a
// second at its end unless told not to, and servers do not inherit GORACE.
const fakeScript = "#!/bin/sh\nGORACE=atexit_sleep_ms=0 exec tenon fake-server \"$@\"\n"

// setup gives a case its scene and arranges for the check that nothing is left.
func setup(e *testscript.Env, program string) error {
	s, err := newScene(e.WorkDir, program)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		e.Setenv(name, s.env[name])
	}
	e.Values[sceneKey{}] = s
	e.Defer(func() { s.tearDown(e.T()) })
	return nil
}

// newScene makes the home, the directories, the environment and the copy of
// the program that a case has to itself, and fills in the files in work.
func newScene(work, program string) (*scene, error) {
	runtime, err := os.MkdirTemp("", "tn")
	if err != nil {
		return nil, err
	}
	s := &scene{
		work: work, runtime: runtime,
		jobs: map[string]*job{}, hosts: map[string]*host{}, sessions: map[string]*attached{},
	}
	bin := filepath.Join(work, "bin")
	s.env = map[string]string{
		"WORK":              work,
		"HOME":              filepath.Join(work, "home"),
		"PATH":              bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"TMPDIR":            filepath.Join(work, ".tmp"),
		"XDG_CONFIG_HOME":   filepath.Join(work, "config"),
		"XDG_DATA_HOME":     filepath.Join(work, "data"),
		"XDG_CACHE_HOME":    filepath.Join(work, "cache"),
		"TENON_RUNTIME_DIR": runtime,
		"TENON_STATE_DIR":   filepath.Join(work, "state"),
		"LANG":              "C.UTF-8",
		"TERM":              "xterm",
		"SOCKET":            filepath.Join(runtime, "daemon.sock"),
		"LOG":               filepath.Join(work, "state", "logs", "daemon.log"),
		"TOP":               top(),
		"GORACE":            "atexit_sleep_ms=0 log_path=" + filepath.Join(work, "race"),
	}
	private := []string{bin, s.env["HOME"], s.env["TMPDIR"], s.env["TENON_STATE_DIR"], filepath.Join(s.env["XDG_CONFIG_HOME"], "tenon")}
	for _, dir := range private {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if err := place(program, filepath.Join(bin, "tenon")); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(bin, "fake"), []byte(fakeScript), 0o755); err != nil {
		return nil, err
	}
	for _, name := range []string{"PORT", "PORT2"} {
		if s.env[name], err = freePort(); err != nil {
			return nil, err
		}
	}
	return s, s.fillIn(work)
}

// fillIn replaces $WORK, $PORT and $PORT2 in the files of the archive, which
// testscript leaves as they are. Only the form without braces is ours: the
// other belongs to tenon's configuration.
func (s *scene) fillIn(dir string) error {
	put := strings.NewReplacer("$WORK", s.work, "$PORT2", s.env["PORT2"], "$PORT", s.env["PORT"])
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(s.work, "bin")) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filled := put.Replace(string(data)); filled != string(data) {
			return os.WriteFile(path, []byte(filled), 0o644)
		}
		return nil
	})
}

// top is the repository's top: the directory three levels above this package.
func top() string {
	dir, err := filepath.Abs("../../..")
	if err != nil {
		return ""
	}
	return dir
}

// freePort asks the system for a port that nobody listens on now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// environ lists the case's variables with changes; an empty value removes one.
func (s *scene) environ(changes ...string) []string {
	s.mu.Lock()
	env := maps.Clone(s.env)
	s.mu.Unlock()
	for _, kv := range changes {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if env[name] != "" {
			out = append(out, name+"="+env[name])
		}
	}
	return out
}

// Bounds of the check at the end of a case.
const (
	stopBound = 20 * time.Second // "tenon daemon stop", which drains and ends servers
	goneBound = 10 * time.Second // until every process of the case is gone
)

// tearDown ends what the case started, stops the daemon the way a user does,
// and fails the case when a process, a socket or a report of the race detector
// is left. What is left is then killed: only processes of this case.
func (s *scene) tearDown(t testscript.T) { s.tearDownWithin(t, goneBound) }

func (s *scene) tearDownWithin(t testscript.T, gone time.Duration) {
	s.mu.Lock()
	jobs, hosts := s.jobs, s.hosts
	s.mu.Unlock()
	for _, j := range jobs {
		j.cancel()
		<-j.done
	}
	for _, h := range hosts {
		h.kill()
	}
	for _, stop := range s.atEnd {
		stop()
	}
	var wrong []string
	if _, err := os.Stat(filepath.Join(s.runtime, "daemon.json")); err == nil {
		stop := exec.Command(filepath.Join(s.work, "bin", "tenon"), "daemon", "stop")
		stop.Env = s.environ()
		stop.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if out, err := runBounded(stop, stopBound); err != nil {
			wrong = append(wrong, fmt.Sprintf("tenon daemon stop: %v\n%s", err, out))
		}
	}
	left := s.untilGone(gone)
	for _, p := range left {
		wrong = append(wrong, "left running: "+p.String())
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	if sockets, _ := filepath.Glob(filepath.Join(s.runtime, "*.sock")); len(sockets) > 0 {
		wrong = append(wrong, fmt.Sprintf("socket left: %s", sockets))
	}
	races, _ := filepath.Glob(filepath.Join(s.work, "race.*"))
	for _, file := range races {
		report, _ := os.ReadFile(file)
		wrong = append(wrong, "the race detector reports:\n"+string(report))
	}
	if len(wrong) > 0 {
		t.Log("after the case:\n" + strings.Join(wrong, "\n"))
	}
	failed, tells := t.(interface{ Failed() bool })
	show := len(wrong) > 0 || t.Verbose() || tells && failed.Failed()
	if log, err := os.ReadFile(s.env["LOG"]); err == nil && show {
		t.Log("the daemon's log ends:\n" + string(tail(log, 8<<10)))
	}
	_ = os.RemoveAll(s.runtime)
	if len(wrong) > 0 {
		t.FailNow()
	}
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// untilGone waits until no process of the case is left and returns those that
// are when the bound is over.
func (s *scene) untilGone(bound time.Duration) []process {
	deadline := time.Now().Add(bound)
	for {
		left := s.processes()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		pause()
	}
}

// pollEvery is how often a condition is looked at again.
const pollEvery = 20 * time.Millisecond

// pause separates two looks at a condition; nothing is ever awaited by it.
func pause() { time.Sleep(pollEvery) }

// runBounded runs a command and kills its session when the bound is over.
func runBounded(cmd *exec.Cmd, bound time.Duration) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	over := time.AfterFunc(bound, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	if !over.Stop() && err != nil {
		err = fmt.Errorf("killed after %s: %w", bound, err)
	}
	return out.Bytes(), err
}
