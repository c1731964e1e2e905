package rig

import (
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
)

// Scene is everything one test owns: its directories, its environment, and the
// doubles of plugin hosts with their sessions. [New] makes one, and
// [Scene.TearDown] ends it. Its methods may be called at the same time.
type Scene struct {
	Work    string // the test's directory; part of every process of the test
	Runtime string // where the daemon's socket is; short, since a socket's path is

	mu       sync.Mutex
	env      map[string]string
	hosts    map[string]*Host
	sessions map[string]*Session
	atEnd    []func()
}

// fakeScript is the command "fake" of configurations. A race build sleeps a
// second at its end unless told not to, and servers do not inherit GORACE.
const fakeScript = "#!/bin/sh\nGORACE=atexit_sleep_ms=0 exec tenon fake-server \"$@\"\n"

// New makes the home, the directories, the environment and the copy of the
// program that a test has to itself, all below work, and fills in $WORK, $PORT
// and $PORT2 in the files that are there. The configuration is
// config/tenon/config.jsonc below work, the state is state; "fake" is the
// command of the fake server.
func New(work, program string) (*Scene, error) {
	runtime, err := os.MkdirTemp("", "tn")
	if err != nil {
		return nil, err
	}
	s := &Scene{Work: work, Runtime: runtime, hosts: map[string]*Host{}, sessions: map[string]*Session{}}
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
		if s.env[name], err = FreePort(); err != nil {
			return nil, err
		}
	}
	return s, s.fillIn(work)
}

// fillIn replaces $WORK, $PORT and $PORT2 in the test's files. Only the form
// without braces is ours: the other belongs to tenon's configuration.
func (s *Scene) fillIn(dir string) error {
	put := strings.NewReplacer("$WORK", s.Work, "$PORT2", s.env["PORT2"], "$PORT", s.env["PORT"])
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(s.Work, "bin")) {
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

// top is the repository's top: the directory three levels above a package that
// uses the rig.
func top() string {
	dir, err := filepath.Abs("../../..")
	if err != nil {
		return ""
	}
	return dir
}

// FreePort asks the system for a port that nobody listens on now.
func FreePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// Get reads a variable of the test's environment.
func (s *Scene) Get(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.env[name]
}

// Set sets a variable for what is started from now on.
func (s *Scene) Set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.env[name] = value
}

// Environ lists the test's variables with changes of the form NAME=VALUE; an
// empty value removes one.
func (s *Scene) Environ(changes ...string) []string {
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

// AtEnd keeps what must be ended before the daemon is.
func (s *Scene) AtEnd(stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atEnd = append(s.atEnd, stop)
}

// Bounds of the check at the end of a test.
const (
	stopBound = 20 * time.Second // "tenon daemon stop", which drains and ends servers
	GoneBound = 10 * time.Second // until every process of the test is gone
)

// Judge is told by a teardown what is wrong: a *testing.T, or testscript's.
type Judge interface {
	Log(args ...any)
	FailNow()
}

// TearDown ends what the test started, stops the daemon the way a user does,
// and fails the test when a process, a socket or a report of the race detector
// is left. What is left after gone ([GoneBound] where nothing speaks against
// it) is then killed: only processes of this test.
func (s *Scene) TearDown(t Judge, gone time.Duration) {
	s.mu.Lock()
	hosts, atEnd := maps.Clone(s.hosts), slices.Clone(s.atEnd)
	s.mu.Unlock()
	for _, h := range hosts {
		h.Kill()
	}
	for _, stop := range atEnd {
		stop()
	}
	var wrong []string
	if _, err := os.Stat(filepath.Join(s.Runtime, "daemon.json")); err == nil {
		stop := exec.Command(filepath.Join(s.Work, "bin", "tenon"), "daemon", "stop")
		stop.Env = s.Environ()
		stop.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if out, err := runBounded(stop, stopBound); err != nil {
			wrong = append(wrong, fmt.Sprintf("tenon daemon stop: %v\n%s", err, out))
		}
	}
	for _, p := range s.UntilGone(gone) {
		wrong = append(wrong, "left running: "+p.String())
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
	if sockets, _ := filepath.Glob(filepath.Join(s.Runtime, "*.sock")); len(sockets) > 0 {
		wrong = append(wrong, fmt.Sprintf("socket left: %s", sockets))
	}
	races, _ := filepath.Glob(filepath.Join(s.Work, "race.*"))
	for _, file := range races {
		report, _ := os.ReadFile(file)
		wrong = append(wrong, "the race detector reports:\n"+string(report))
	}
	if len(wrong) > 0 {
		t.Log("after the test:\n" + strings.Join(wrong, "\n"))
	}
	failed, tells := t.(interface{ Failed() bool })
	verbose, chatty := t.(interface{ Verbose() bool })
	show := len(wrong) > 0 || chatty && verbose.Verbose() || tells && failed.Failed()
	if log, err := os.ReadFile(s.Get("LOG")); err == nil && show {
		t.Log("the daemon's log ends:\n" + string(Tail(log, 8<<10)))
	}
	_ = os.RemoveAll(s.Runtime)
	if len(wrong) > 0 {
		t.FailNow()
	}
}

// Tail is the last n bytes of b.
func Tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// UntilGone waits until no process of the test is left and returns those that
// are when the bound is over.
func (s *Scene) UntilGone(bound time.Duration) []Process {
	deadline := time.Now().Add(bound)
	for {
		left := s.Processes()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		Pause()
	}
}

// PollEvery is how often a condition is looked at again.
const PollEvery = 20 * time.Millisecond

// Pause separates two looks at a condition; nothing is ever awaited by it.
func Pause() { time.Sleep(PollEvery) }
