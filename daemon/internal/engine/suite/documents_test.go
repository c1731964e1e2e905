package suite

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/serve"
	"tenon/proto"
)

var update = flag.Bool("update", false, "write the documents of the program files anew")

// patience is far beyond what anything here takes, also on a busy machine.
const patience = 2 * time.Minute

// TestProgramFiles runs every program file through a whole daemon on every engine
// that is present, and expects one document from all.
func TestProgramFiles(t *testing.T) {
	paths := archives(t)
	if len(paths) < 80 {
		t.Errorf("%d programs, fewer than 80", len(paths))
	}
	d := newDaemon(t)
	for _, engine := range append([]string{"embedded"}, process.Names()...) {
		t.Run(engine, func(t *testing.T) {
			if engine != "embedded" {
				if _, err := process.Find(t.Context(), engine, runtimes(), ""); err != nil {
					t.Skipf("not tested here: %v", err)
				}
			}
			if !*update {
				t.Parallel() // most of it is waiting for runtimes to start
			}
			for _, path := range paths {
				name := strings.TrimSuffix(filepath.Base(path), ".txtar")
				t.Run(name, func(t *testing.T) {
					a := readArchive(t, path)
					got := normal(t, a, d.run(t, engine, name, a))
					if *update && (engine == "embedded" || a.differs[engine] != "") {
						a.update(t, engine, got)
						return
					}
					if want := a.expected(engine); !sameJSON(got, want) {
						t.Errorf("it gives\n%swant\n%s", got, want)
					}
				})
			}
		})
	}
}

// A difference that is not one needs no reason.
func TestEnginesThatDifferDo(t *testing.T) {
	for _, path := range archives(t) {
		a := readArchive(t, path)
		for engine := range a.differs {
			if a.want[engine] == "" || sameJSON(a.want[engine], a.want[""]) {
				t.Errorf("%s: %s has no document of its own", path, engine)
			}
		}
		for engine := range a.want {
			if engine != "" && a.differs[engine] == "" {
				t.Errorf("%s: %s has a document of its own without a reason", path, engine)
			}
		}
	}
}

// aDaemon is a whole daemon in this process.
type aDaemon struct {
	paths local.Paths
	work  string
	env   map[string]string
}

func newDaemon(t *testing.T) *aDaemon {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tp") // short: a socket goes there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &aDaemon{work: filepath.Join(dir, "work"), env: map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "PATH": runtimes(),
		"TENON_RUNTIME_DIR": filepath.Join(dir, "run"), "TENON_STATE_DIR": filepath.Join(dir, "state"),
	}}
	if d.paths, err = local.Resolve(func(k string) string { return d.env[k] }); err != nil {
		t.Fatal(err)
	}
	servers := map[string]any{"fake": map[string]any{"command": fakeserver.TestCommand(t)}}
	for name, url := range world(t) {
		servers[name] = map[string]any{"url": url, "scope": "session", "maxInstances": 1000, "idleTimeout": "5s"}
	}
	// Nothing is learned: a hint would show what other programs saw before.
	text, err := json.Marshal(map[string]any{"servers": servers, "catalog": map[string]any{"learn": false}, "script": map[string]any{"cpu": "20s"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{d.paths.Config, d.work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(d.paths.Config, "config.jsonc"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	var environ []string
	for k, v := range d.env {
		environ = append(environ, k+"="+v)
	}
	ready, ended := make(chan error, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		ended <- serve.Run(ctx, serve.Options{
			Paths: d.paths, Executable: exe, Environ: environ, LogTo: io.Discard, LogLevel: slog.LevelError, Ready: func(err error) { ready <- err },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	for name := range servers { // hints name tools, as far as a list is known
		if _, err := d.client("warm").LearntServer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *aDaemon) client(session string) *client.Client {
	return &client.Client{Paths: d.paths, NoStart: true, Identity: client.Identity{Session: session, Dir: d.work, Env: d.env}}
}

// run executes a program in a session of its own.
func (d *aDaemon) run(t *testing.T, engine, name string, a *archive) *proto.RunResult {
	t.Helper()
	c := d.client(engine + "-" + name)
	request := a.request
	request.Engine, request.Cwd = engine, d.work
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var run string
	result, err := c.Exec(ctx, request, func(f proto.Frame) {
		if run == "" && f.Type == "call" && a.cancel {
			run = f.Run
			if err := c.CancelRun(ctx, run); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
