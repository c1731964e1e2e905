package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a home, a project that is a repository, and a store.
type world struct {
	t             *testing.T
	home, project string
	attached      bool
	store         *Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root := resolveDir(t.TempDir())
	w := &world{t: t, home: filepath.Join(root, "home"), project: filepath.Join(root, "project")}
	for _, dir := range []string{w.home, filepath.Join(w.project, ".git"), filepath.Join(w.project, "sub")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.open()
	return w
}

func (w *world) open() {
	w.t.Helper()
	s, err := Open(Options{
		StateDir: filepath.Join(w.home, "state"), Home: w.home, Environ: Env{"DAEMON_ONLY": "from-daemon", "PATH": "/nowhere"},
		Socket: "/run/tenon/daemon.sock", Attached: func() bool { return w.attached },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = s
}

func (w *world) write(path, text string) string {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		w.t.Fatalf("write: %s is not absolute", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) user(text string) string {
	return w.write(filepath.Join(w.home, ".config/tenon/config.jsonc"), text)
}

func (w *world) projectConfig(text string) string {
	return w.write(filepath.Join(w.project, ".tenon/config.jsonc"), text)
}

func (w *world) env(pairs ...string) Env {
	env := Env{"HOME": w.home, "PATH": "/usr/bin:/bin"}
	for i := 0; i+1 < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return env
}

func (w *world) view() *View {
	w.t.Helper()
	v, err := w.store.View(w.project, "", w.env())
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) trust() {
	w.t.Helper()
	if _, err := w.store.Trust(w.project); err != nil {
		w.t.Fatal(err)
	}
}

// hasNote reports whether a note holds every part.
func hasNote(v *View, parts ...string) bool {
	for _, n := range v.Notes {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(n.File+" "+n.Message, p)
		}
		if all {
			return true
		}
	}
	return false
}

// wantConfigError checks kind and text of an error.
func wantConfigError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if fault.KindOf(err) != fault.ConfigError {
		t.Fatalf("got %v, want a ConfigError", err)
	}
	e := fault.From(err)
	for _, p := range parts {
		if !strings.Contains(e.Message+" | "+e.Hint, p) {
			t.Errorf("error %q (hint %q) does not name %q", e.Message, e.Hint, p)
		}
	}
}
