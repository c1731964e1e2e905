package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/kind"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/script"
	"tenon/proto"
)

// TestMain is also the helper and the server that the daemon under test starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case HelperCommand:
			fakeserver.Exit(script.HelperMain(os.Stdin, os.Stdout))
		case config.ServeKind:
			fakeserver.Exit(kind.Main(kind.Options{Compile: HelperCommand, Environ: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		case "fake-server":
			fakeserver.Exit(fakeserver.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		}
	}
	goleak.VerifyTestMain(m)
}

// patience is far beyond what anything here takes, also on a busy machine.
const patience = 60 * time.Second

// running is a daemon in this process.
type running struct {
	t       testing.TB
	paths   local.Paths
	options Options
	signals chan os.Signal
	ended   chan error
	cancel  context.CancelFunc
}

// start runs a daemon with one fake server and further settings.
func start(t testing.TB, settings map[string]any, change ...func(*Options)) *running {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ts") // short: a socket goes there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := map[string]string{"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "TENON_RUNTIME_DIR": filepath.Join(dir, "run"), "TENON_STATE_DIR": filepath.Join(dir, "state"), "PATH": os.Getenv("PATH")}
	paths, err := local.Resolve(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"servers": map[string]any{"fake": map[string]any{"command": []string{exe, "fake-server"}, "scope": "session"}}}
	for k, v := range settings {
		all[k] = v
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(paths.Config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(paths.Config, "config.jsonc"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, paths: paths, signals: make(chan os.Signal, 2), ended: make(chan error, 1)}
	r.options = Options{
		Paths: paths, Executable: exe, Environ: environ(env), Signals: r.signals,
		LogTo: io.Discard, LogLevel: slog.LevelDebug,
	}
	for _, f := range change {
		f(&r.options)
	}
	r.run()
	return r
}

// again starts a daemon in the place of one that has ended.
func (r *running) again() {
	<-r.ended
	r.run()
}

// run starts the daemon and waits until it serves.
func (r *running) run() {
	t := r.t
	t.Helper()
	ready := make(chan error, 1)
	r.options.Ready = func(err error) { ready <- err }
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ended <- Run(ctx, r.options) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-r.ended:
			r.ended <- err
		case <-time.After(patience):
			t.Error("the daemon did not end")
		}
	})
	select {
	case err := <-ready:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("the daemon did not get ready")
	}
}

// client speaks to the daemon, which is never started a second time.
func (r *running) client(session string) *client.Client {
	return &client.Client{Paths: r.paths, NoStart: true, Identity: client.Identity{
		Session: session, Dir: r.paths.Home, Env: config.BaseEnv(r.options.Environ),
	}}
}

// gone waits for the daemon to end by itself.
func (r *running) gone() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		if err != nil {
			r.t.Error(err)
		}
	case <-time.After(patience):
		r.t.Fatal("the daemon lives on")
	}
}

// here fails when the daemon has ended.
func (r *running) here() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.ended <- err
		r.t.Fatalf("the daemon has ended: %v", err)
	default:
	}
}

func (r *running) exec(session, code string) *proto.RunResult {
	r.t.Helper()
	res, err := r.client(session).Exec(context.Background(), proto.ExecRequest{Code: code}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func TestADaemonServesAndRemovesOnlyItsOwnFiles(t *testing.T) {
	r := start(t, nil)
	if res := r.exec("", `await fake.echo({text: "hi"})`); string(res.Value) != `"hi"` {
		t.Errorf("got %+v", res)
	}
	other := filepath.Join(r.paths.Runtime, "not-ours")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client("").Stop(context.Background(), proto.StopRequest{}); err != nil {
		t.Fatal(err)
	}
	r.gone()
	for _, f := range []string{r.paths.Socket, filepath.Join(r.paths.Runtime, "daemon.json"), filepath.Join(r.paths.Runtime, "daemon.lock")} {
		if _, err := os.Lstat(f); err == nil {
			t.Errorf("%s was left", f)
		}
	}
	if _, err := os.Lstat(other); err != nil {
		t.Error("a file of somebody else is gone")
	}
}

func TestASecondDaemonNamesTheFirst(t *testing.T) {
	r := start(t, nil)
	second := r.options
	second.Ready, second.Signals = nil, nil
	err := Run(context.Background(), second)
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("got %v", err)
	}
	if res := r.exec("", "1 + 1"); string(res.Value) != "2" {
		t.Error("the first was disturbed")
	}
}

func TestAStopLetsWhatRunsFinishAndTakesNothingNew(t *testing.T) {
	r := start(t, nil)
	started, result := make(chan struct{}), make(chan *proto.RunResult, 1)
	go func() {
		res, err := r.client("work").Exec(context.Background(), proto.ExecRequest{Code: `await fake.sleep({ms: 1500}); "finished"`}, func(f proto.Frame) {
			if f.Type == "call" && strings.Contains(string(f.Data), "running") {
				close(started)
			}
		})
		if err != nil {
			t.Error(err)
		}
		result <- res
	}()
	<-started
	stop, err := r.client("").Stop(context.Background(), proto.StopRequest{})
	if err != nil || stop.Runs != 1 || !stop.Stopping {
		t.Fatalf("%+v, %v", stop, err)
	}
	_, err = r.client("").Call(context.Background(), proto.CallRequest{Server: "fake", Tool: "pid"}, nil)
	if fault.KindOf(err) != fault.DaemonUnavailable {
		t.Errorf("new work: %v", err)
	}
	if res := <-result; res == nil || string(res.Value) != `"finished"` {
		t.Errorf("what ran: %+v", res)
	}
	r.gone()
}

func TestAForcedStopAndASecondSignalCancel(t *testing.T) {
	for name, end := range map[string]func(*running){
		"force": func(r *running) {
			if _, err := r.client("").Stop(context.Background(), proto.StopRequest{Force: true}); err != nil {
				t.Error(err)
			}
		},
		"signals": func(r *running) { r.signals <- os.Interrupt; r.signals <- os.Interrupt },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, nil)
			started, result := make(chan struct{}), make(chan *proto.RunResult, 1)
			go func() {
				res, _ := r.client("").Exec(context.Background(), proto.ExecRequest{Code: `await fake.sleep({ms: 600000})`}, func(f proto.Frame) {
					if f.Type == "call" && strings.Contains(string(f.Data), "running") {
						close(started)
					}
				})
				result <- res
			}()
			<-started
			began := time.Now()
			end(r)
			r.gone()
			if took := time.Since(began); took > drainTimeout {
				t.Errorf("it took %s", took)
			}
			if res := <-result; res == nil || res.Error == nil || res.Error.Kind != string(fault.Cancelled) {
				t.Errorf("the run ended with %+v", res)
			}
		})
	}
}

// astrid-runtime/astrid#1176.
func TestAnIdleDaemonEndsButNeverUnderALiveSession(t *testing.T) {
	r := start(t, map[string]any{"daemon": map[string]any{"idleExit": "300ms"}})
	c := r.client("held")
	if _, err := c.CreateSession(context.Background(), proto.SessionCreate{ID: "held"}); err != nil {
		t.Fatal(err)
	}
	first := r.exec("held", `await fake.counter()`)
	quiet := time.NewTimer(2 * time.Second) // several idle limits: that nothing happens takes time
	<-quiet.C
	r.here()
	second := r.exec("held", `await fake.counter()`)
	if string(first.Value) != `"1"` || string(second.Value) != `"2"` {
		t.Errorf("the counter went %s, %s", first.Value, second.Value)
	}
	if err := c.EndSession(context.Background(), "held"); err != nil {
		t.Fatal(err)
	}
	r.gone()
}

// holon-run/uxc#180.
func TestALaterBuildReplacesTheDaemonOnceNothingIsLost(t *testing.T) {
	r := start(t, nil)
	started, result := make(chan struct{}), make(chan *proto.RunResult, 1)
	go func() {
		res, _ := r.client("").Exec(context.Background(), proto.ExecRequest{Code: `await fake.sleep({ms: 1500}); 1`}, func(f proto.Frame) {
			if f.Type == "call" && strings.Contains(string(f.Data), "running") {
				close(started)
			}
		})
		result <- res
	}()
	<-started
	later := local.OwnStamp()
	later.ID, later.Time = "later", later.Time+10
	c := r.client("")
	if err := get(c, later); err != nil {
		t.Fatal(err)
	}
	if res := <-result; res == nil || !res.OK {
		t.Errorf("what ran was cut: %+v", res)
	}
	r.gone()
}

func TestAnUnreadableConfigurationStartsTheDaemonAllTheSame(t *testing.T) {
	r := start(t, nil)
	if err := os.WriteFile(filepath.Join(r.paths.Config, "config.jsonc"), []byte("{ oops"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, err := r.client("").Status(context.Background())
	if err != nil || len(status.Problems) == 0 {
		t.Errorf("%+v, %v", status.Problems, err)
	}
}

func TestTheLogStartsAnewWhenItIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	l := &logFile{path: path, f: f, keepStreams: true}
	defer l.close()
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for range 12 {
		if _, err := l.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{path, path + oldSuffix} {
		st, err := os.Stat(p)
		if err != nil || st.Size() > maxLog || st.Size() == 0 || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, st, err)
		}
	}
	if _, err := os.Stat(path + oldSuffix + oldSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Error("more than two files are kept")
	}
}
