package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.HelperCommand {
		fakeserver.Exit(sandbox.HelperMain(os.Args[2:], os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// runtimeAt writes a program that says what it is asked for.
func runtimeAt(t *testing.T, file, script string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestARuntimeIsFoundAlongThePath(t *testing.T) {
	dir := t.TempDir()
	real := runtimeAt(t, filepath.Join(dir, "lib", "node"), "exit 0")
	runtimeAt(t, filepath.Join(dir, "bin", "node"), "echo v24.1.0 "+real) // a version manager's shim
	if err := os.WriteFile(filepath.Join(dir, "node"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{"relative", "", filepath.Join(dir, "none"), dir, filepath.Join(dir, "bin")}, ":")
	rt, err := Find(t.Context(), Node, path, "")
	if err != nil || rt != (Runtime{Node, "24.1.0", real}) {
		t.Errorf("%+v, %v", rt, err)
	}
	if rt, err = Find(t.Context(), Node, "", filepath.Join(dir, "bin", "node")); err != nil || rt.Version != "24.1.0" {
		t.Errorf("as set: %+v, %v", rt, err)
	}
	if e := Info(t.Context(), Node, path, "", Guard{}); !e.Available || e.Version != "24.1.0" || e.Path != real || e.Reason != "" {
		t.Errorf("%+v", e)
	}
	// Another program in its place is asked anew.
	runtimeAt(t, filepath.Join(dir, "bin", "node"), "echo v25.10.0 "+real)
	if rt, err = Find(t.Context(), Node, path, ""); err != nil || rt.Version != "25.10.0" {
		t.Errorf("after a change: %+v, %v", rt, err)
	}
}

// A program that may write to the workspace can put a runtime there: what that
// says of itself, it says confined.
func TestARuntimeOfTheWorkspaceIsAskedConfined(t *testing.T) {
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	work, outside := filepath.Join(root, "work"), filepath.Join(root, "escaped")
	bin := filepath.Join(work, "node_modules", ".bin")
	runtimeAt(t, filepath.Join(bin, "node"), "(echo 1 > "+outside+") 2>/dev/null; echo v24.1.0 $0")
	linked := filepath.Join(root, "bin")
	if err := errors.Join(os.Mkdir(linked, 0o700), os.Symlink(filepath.Join(bin, "node"), filepath.Join(linked, "node"))); err != nil {
		t.Fatal(err)
	}
	guard := Guard{Workspace: work, Executable: self}
	for _, path := range []string{bin, linked} {
		if rt, err := FindFor(t.Context(), Node, path, "", guard); err != nil || rt.Version != "24.1.0" {
			t.Errorf("%+v, %v", rt, err)
		}
		if _, err := os.Stat(outside); err == nil {
			t.Fatalf("a runtime in %s wrote outside of the workspace", path)
		}
	}
	// One of the machine is the user's own.
	guard.Workspace = filepath.Join(root, "other")
	runtimeAt(t, filepath.Join(bin, "node"), "(echo 1 > "+outside+") 2>/dev/null; echo v24.1.1 $0")
	if _, err := FindFor(t.Context(), Node, bin, "", guard); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestWhyARuntimeCannotBeUsedIsSaid(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		engine, script, binary string
		want                   []string
	}{
		"missing":    {Deno, "", "", []string{"deno is not installed", "searched " + dir}},
		"old node":   {Node, "echo 20.11.1 /usr/bin/node", "", []string{"node 20.11.1", "too old", "22.0 or newer"}},
		"old bun":    {Bun, "echo 1.1.45 /usr/bin/bun", "", []string{"too old", "1.2 or newer"}},
		"broken":     {Node, "echo no version set >&2; exit 3", "", []string{"does not answer", "no version set"}},
		"mute":       {Node, "exit 0", "", []string{"does not tell its version"}},
		"no program": {Bun, "", filepath.Join(dir, "nothing"), []string{"is set to", "no program"}},
		"unknown":    {"ruby", "", "", []string{`no engine "ruby"`}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.script != "" {
				file := runtimeAt(t, filepath.Join(dir, c.engine), c.script)
				defer os.Remove(file)
			}
			_, err := Find(t.Context(), c.engine, dir, c.binary)
			if fault.KindOf(err) != fault.EngineUnavailable {
				t.Fatalf("%v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v, want …%s…", err, part)
				}
			}
			if e := Info(t.Context(), c.engine, dir, c.binary, Guard{}); e.Available || e.Reason == "" {
				t.Errorf("%+v", e)
			}
		})
	}
}
