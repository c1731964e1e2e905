package threats

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/kind"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/script"
	"tenon/daemon/internal/serve"
	"tenon/proto"
)

// TestMain is also what the daemon under test starts, and the other user.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case serve.HelperCommand:
			fakeserver.Exit(script.HelperMain(os.Stdin, os.Stdout))
		case config.ServeKind:
			fakeserver.Exit(kind.Main(kind.Options{Compile: serve.HelperCommand, Environ: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		case "fake-server":
			fakeserver.Exit(fakeserver.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		case askAsAnother:
			fakeserver.Exit(askSocket(os.Args[2]))
		case serveAsAnother:
			fakeserver.Exit(serveSocket(os.Args[2]))
		}
	}
	goleak.VerifyTestMain(m)
}

// patience is far beyond what anything here takes, also on a busy machine.
const patience = 60 * time.Second

// target is a daemon of this process.
type target struct {
	t     *testing.T
	paths local.Paths
	dir   string
	log   *bytes.Buffer // written by the daemon; read once it has ended
	stop  func()
}

// attack starts a daemon with one server, fake, and further settings.
func attack(t *testing.T, settings map[string]any) *target {
	t.Helper()
	dir, err := os.MkdirTemp("", "tt") // short: a socket goes there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return attackIn(t, dir, settings)
}

func attackIn(t *testing.T, dir string, settings map[string]any) *target {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "TENON_RUNTIME_DIR": filepath.Join(dir, "run"), "TENON_STATE_DIR": filepath.Join(dir, "state"), "PATH": os.Getenv("PATH")}
	paths, err := local.Resolve(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"servers": map[string]any{"fake": map[string]any{"command": []string{exe, "fake-server"}}}}
	for k, v := range settings {
		all[k] = v
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(paths.Config, "config.jsonc"), string(text))
	var environ []string
	for k, v := range env {
		environ = append(environ, k+"="+v)
	}
	x := &target{t: t, paths: paths, dir: dir, log: &bytes.Buffer{}}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		ended <- serve.Run(ctx, serve.Options{
			Paths: paths, Executable: exe, Environ: environ, LogTo: x.log, LogLevel: slog.LevelDebug, Ready: func(err error) { ready <- err },
		})
	}()
	x.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("the daemon did not end")
		}
	})
	t.Cleanup(x.stop)
	select {
	case err := <-ready:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("the daemon did not get ready")
	}
	return x
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// client speaks to the daemon as a user at a terminal, or in a session.
func (x *target) client(session string) *client.Client {
	return &client.Client{Paths: x.paths, NoStart: true, Identity: client.Identity{Session: session, Dir: x.dir, Env: map[string]string{"PATH": os.Getenv("PATH")}}}
}

// session makes a session and gives its ticket.
func (x *target) session(id string) string {
	x.t.Helper()
	made, err := x.client("").CreateSession(context.Background(), proto.SessionCreate{ID: id})
	if err != nil {
		x.t.Fatal(err)
	}
	return made.Ticket
}

// answer is what a request came to.
type answer struct {
	status int
	body   string
	header http.Header
}

// ask sends a request as it is written to the socket, or to a TCP address.
func (x *target) ask(address, method, path, body string, header ...string) answer {
	x.t.Helper()
	network := "tcp"
	if address == "" {
		network, address = "unix", x.paths.Socket
	}
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		x.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	return exchange(x.t, conn, method, path, body, header...)
}

// get is ask of a route that only looks, as whom the headers say.
func (x *target) get(path string, header ...string) answer {
	x.t.Helper()
	return x.ask("", "GET", path, "", header...)
}

// without fails for each of words that text has.
func without(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if at := strings.Index(text, w); at >= 0 {
			t.Errorf("%s has %q: …%s…", what, w, text[max(0, at-80):min(len(text), at+len(w)+20)])
		}
	}
}
