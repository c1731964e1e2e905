package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
	"tenon/daemon/internal/serve"
)

// actAsTenon makes the test binary the program itself: for commands on a
// terminal, and for the daemon that these start.
const actAsTenon = "ACT_AS_TENON"

func TestMain(m *testing.M) {
	if os.Getenv(actAsTenon) != "" || len(os.Args) > 1 && slices.Contains([]string{"fake-server", serve.HelperCommand, sandbox.HelperCommand}, os.Args[1]) {
		fakeserver.Exit(program(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// program does what the real main does.
func program(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case serve.HelperCommand:
			return script.HelperMain(os.Stdin, os.Stdout)
		case sandbox.HelperCommand:
			return sandbox.HelperMain(args[1:], os.Stderr)
		case "fake-server":
			return fakeserver.Main(args[1:], os.Stdin, os.Stdout, os.Stderr)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cwd, err := os.Getwd()
	if err != nil {
		return 99
	}
	return Main(ctx, Options{Args: args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Cwd: cwd})
}

// patience is far beyond what anything here takes, also on a busy machine.
const patience = 60 * time.Second

// place is a home with a daemon of its own, which ends with the test.
type place struct {
	t       *testing.T
	exe     string
	home    string
	cwd     string
	environ []string
}

// newPlace writes the configuration with a server fake and further settings.
func newPlace(t *testing.T, settings map[string]any) *place {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "tc") // short: a socket goes there
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, exe: exe, home: home, cwd: filepath.Join(home, "project")}
	p.environ = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", actAsTenon + "=1",
		"GORACE=atexit_sleep_ms=0", // else each command of a race build ends with a second of sleep
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_DATA_HOME=" + filepath.Join(home, "data"),
		"TENON_RUNTIME_DIR=" + filepath.Join(home, "run"), "TENON_STATE_DIR=" + filepath.Join(home, "state"),
	}
	all := map[string]any{"servers": map[string]any{"fake": map[string]any{"command": []string{exe, "fake-server"}}}}
	for k, v := range settings {
		all[k] = v
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	p.write("config/tenon/config.jsonc", string(raw))
	if err := os.MkdirAll(p.cwd, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out := p.run("daemon", "stop", "--force"); out.code != 0 && out.code != 3 {
			t.Errorf("stopping the daemon: %+v", out)
		}
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return p
}

// write makes a file below the home.
func (p *place) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *place) read(path string) string {
	p.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.exe, args...)
	cmd.Env, cmd.Dir = p.environ, p.cwd
	return cmd
}

// run runs a command without a terminal.
func (p *place) run(args ...string) outcome {
	p.t.Helper()
	cmd := p.command(args...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); cmd.ProcessState == nil {
		p.t.Fatal(e)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), err.String()}
}

// screen is a command on a terminal of its own.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File
	read chan struct{}

	mu    sync.Mutex
	shown bytes.Buffer
}

func (p *place) terminal(args ...string) *screen {
	p.t.Helper()
	s := &screen{t: p.t, cmd: p.command(args...), read: make(chan struct{})}
	var err error
	if s.keys, err = pty.Start(s.cmd); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(s.read)
		_, _ = io.Copy(s, s.keys) // ends with EIO once nobody has the other side
	}()
	return s
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(b)
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// waitFor waits until the screen shows the text.
func (s *screen) waitFor(text string) {
	s.t.Helper()
	s.waitForCount(text, 1)
}

// waitForCount waits until it shows the text so many times.
func (s *screen) waitForCount(text string, times int) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for strings.Count(s.text(), text) < times {
		select {
		case <-tick.C:
			if time.Now().Before(deadline) {
				continue
			}
		case <-s.read:
			if strings.Count(s.text(), text) >= times {
				return
			}
		}
		_ = s.cmd.Process.Kill()
		s.t.Fatalf("%q never came; the screen: %s", text, s.text())
	}
}

// types presses keys: "\r" is Enter, "\x03" is Ctrl-C.
func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end and gives the exit code with all that was shown.
func (s *screen) ends() (int, string) {
	s.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	_ = s.cmd.Wait() // the exit code says it
	<-s.read
	_ = s.keys.Close()
	return s.cmd.ProcessState.ExitCode(), s.text()
}
