package typecheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"tenon/daemon/internal/proctree"
)

// root is the top of this repository.
func root(t *testing.T) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// need is a file that the build or "make test" installs.
func need(t *testing.T, parts ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{root(t)}, parts...)...)
	if _, err := os.Stat(file); err != nil {
		t.Skipf("%s is not installed: make test brings it", file)
	}
	return file
}

func node(t *testing.T) string {
	t.Helper()
	file, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node in PATH")
	}
	return file
}

func checker(t *testing.T, o Options) *Checker {
	t.Helper()
	record, err := proctree.OpenRecord(filepath.Join(t.TempDir(), "groups"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := record.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Record, o.Dir = record, filepath.Join(t.TempDir(), "checks")
	t.Cleanup(func() {
		if left, _ := os.ReadDir(o.Dir); len(left) > 0 {
			t.Errorf("%s still holds %v", o.Dir, left)
		}
	})
	return New(o)
}

// project is a place whose own TypeScript is this repository's.
func project(t *testing.T) Place {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(need(t, "node_modules", "typescript"), filepath.Join(dir, "node_modules", "typescript")); err != nil {
		t.Fatal(err)
	}
	return Place{Dir: dir, Workspace: dir, Trusted: true, Env: map[string]string{"PATH": filepath.Dir(node(t))}}
}

// withDeno is a place where deno is all there is.
func withDeno(t *testing.T) Place {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(need(t, "test", "runtimes", "node_modules", "@deno"), filepath.Join(bin, "pkg")); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(bin, "pkg", "*", "deno"))
	if len(files) == 0 {
		t.Skip("the package of deno holds no executable for this machine")
	}
	if err := os.Symlink(files[0], filepath.Join(bin, "deno")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return Place{Dir: dir, Workspace: dir, Env: map[string]string{"PATH": bin}}
}

// shellScript writes an executable shell script.
func shellScript(t *testing.T, file, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// double is a place with a checker that does what body says.
func double(t *testing.T, body string) Place {
	t.Helper()
	bin, dir := t.TempDir(), t.TempDir()
	shellScript(t, filepath.Join(bin, "tsc"), body)
	return Place{Dir: dir, Workspace: dir, Env: map[string]string{"PATH": bin + ":" + os.Getenv("PATH")}}
}
