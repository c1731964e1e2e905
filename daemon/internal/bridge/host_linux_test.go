package bridge

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/coder/websocket"

	"tenon/daemon/internal/peer"
)

func TestOnlyAHostMayOpenABridgeInsideAnAgentsShell(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		program string
		want    int
	}{{"script", http.StatusForbidden}, {"opencode", http.StatusSwitchingProtocols}} {
		b.server.o.Peers = inside{start(t, c.program)}
		ws, response, err := websocket.Dial(context.Background(), b.url, nil)
		if response == nil || response.StatusCode != c.want {
			t.Errorf("%s: got %v %v, want %d", c.program, response, err, c.want)
		}
		if ws != nil {
			ws.CloseNow()
		}
	}
}

// inside makes every peer a stranger: a process below an agent.
type inside struct{ pid int }

func (i inside) FromHTTP(*http.Request) (*peer.Caller, error) {
	return &peer.Caller{Class: peer.Stranger, PID: i.pid}, nil
}

// start runs this test binary under another name until the test ends.
func start(t *testing.T, name string) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Link(self, path); err != nil {
		copyFile(t, self, path)
	}
	cmd := exec.Command(path, "-test.run=^TestMain$")
	cmd.Env = append(os.Environ(), "TENON_TEST_WAIT=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // it ends with its input
		_ = cmd.Wait()
	})
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil { // it runs
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o700); err != nil {
		t.Fatal(err)
	}
}
