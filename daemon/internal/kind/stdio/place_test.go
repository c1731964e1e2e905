package stdio

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/proctree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatAKilledServerLeftRunningIsEnded(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "kinds")
	alive, err := NewPlace(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	// As a kill leaves it: a record, no lock, and a process below the one that the
	// system ends together with its parent.
	killed := filepath.Join(parent, "tenon-server-killed")
	if err := os.Mkdir(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	record, err := proctree.OpenRecord(filepath.Join(killed, groups))
	if err != nil {
		t.Fatal(err)
	}
	p, err := record.Start(proctree.Options{Command: []string{"/bin/sh", "-c", "sleep 600 & echo up; exec sleep 600"}, Env: os.Environ(), Dir: t.TempDir(), Label: "left"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stdin.Close()
	out := bufio.NewReader(p.Stdout)
	if line, err := out.ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("%q %v", line, err)
	}
	if err := record.Close(); err != nil {
		t.Fatal(err)
	}

	next, err := NewPlace(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stdout.(*os.File).SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil { // ends when nobody holds the pipe any more
		t.Errorf("a process is left: %v", err)
	}
	_, _ = p.Stdout.Close(), p.Stderr.Close()
	if _, err := os.Stat(killed); !os.IsNotExist(err) {
		t.Errorf("its place is left: %v", err)
	}
	for _, p := range []*Place{alive, next} {
		if _, err := os.Stat(p.Dir); err != nil {
			t.Errorf("a living server's place is gone: %v", err)
		}
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(next.Dir); !os.IsNotExist(err) {
		t.Errorf("a place is left after its end: %v", err)
	}
}
