package local

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// places makes private runtime and state directories below a short path, so
// that the socket's length is the test's business.
func places(t *testing.T) Paths {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tl") // t.TempDir is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := map[string]string{
		"HOME":              dir,
		"TENON_RUNTIME_DIR": filepath.Join(dir, "run"),
		"TENON_STATE_DIR":   filepath.Join(dir, "state"),
	}
	p, err := Resolve(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ensure(); err != nil {
		t.Fatal(err)
	}
	return p
}
