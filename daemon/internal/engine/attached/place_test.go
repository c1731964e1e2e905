package attached

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/proctree"
)

// killedPlace is what a command that was killed leaves: a place whose lock
// nobody holds, and a process that its record names.
func killedPlace(t *testing.T, runtime string) (dir string, gone <-chan struct{}) {
	t.Helper()
	p, err := NewPlace(runtime)
	if err != nil {
		t.Fatal(err)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("there is no sleep in PATH")
	}
	proc, err := p.Record.Start(proctree.Options{Command: []string{sleep, "1000"}, Label: "left behind"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proc.Stop(context.Background(), proctree.Steps{Stdin: time.Millisecond, Term: time.Millisecond})
		_ = proc.Stdout.Close()
		_ = proc.Stderr.Close()
		_ = p.Record.Close() // a second close of what the test has closed does nothing
	})
	if err := p.lock.Release(); err != nil {
		t.Fatal(err)
	}
	return p.dir, proc.Done()
}

func TestWhatAKilledCommandLeftIsEndedAndRemoved(t *testing.T) {
	runtime := t.TempDir()
	dir, gone := killedPlace(t, runtime)
	alive, err := NewPlace(runtime)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	if left := Sweep(t.Context(), runtime, slog.New(slog.NewTextHandler(&log, nil))); left != 1 {
		t.Errorf("%d places are left: %s", left, &log)
	}
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the process lives")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its place: %v", err)
	}
	if _, err := os.Stat(alive.dir); err != nil {
		t.Errorf("the place of a command that lives: %v", err)
	}
	if err := alive.Close(); err != nil {
		t.Error(err)
	}
	if left := Sweep(t.Context(), runtime, slog.New(slog.DiscardHandler)); left != 0 {
		t.Errorf("%d places are left", left)
	}
	if entries, _ := os.ReadDir(filepath.Join(runtime, folder)); len(entries) > 0 {
		t.Errorf("%v", entries)
	}
}

func TestWithoutAPlaceThereIsNothingToSweep(t *testing.T) {
	if left := Sweep(t.Context(), t.TempDir(), slog.New(slog.DiscardHandler)); left != 0 {
		t.Errorf("%d", left)
	}
}
