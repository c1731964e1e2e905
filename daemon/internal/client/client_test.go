package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// daemon is an HTTP server in a daemon's place; the client is one that may
// start none.
func daemon(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "tc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	paths := local.Paths{Runtime: filepath.Join(dir, "run"), State: filepath.Join(dir, "state")}
	paths.Socket = local.SocketPath(paths.Runtime)
	if err := paths.Ensure(); err != nil {
		t.Fatal(err)
	}
	c := &Client{Paths: paths, NoStart: true}
	if h == nil {
		return c
	}
	l, err := net.Listen("unix", paths.Socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return c
}

// says answers as a daemon of this protocol.
func says(w http.ResponseWriter, protocol, build string) {
	w.Header().Set(proto.HeaderProtocol, protocol)
	w.Header().Set(proto.HeaderBuild, build)
}

// A daemon may be stopped, by a debugger or a hand: who looks at it is told.
func TestADaemonThatDoesNotAnswerIsNamed(t *testing.T) {
	stopped := make(chan struct{})
	alive := make(chan struct{}) // a sign of life was asked for while work goes on
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/health":
			select {
			case alive <- struct{}{}:
			default:
			}
		case r.Method == http.MethodGet && !r.URL.Query().Has("learn"):
			<-stopped
			return
		default: // work takes longer than an answer may
			select {
			case <-alive:
			case <-r.Context().Done():
			}
		}
		says(w, "1", "1.0.0")
		_, _ = w.Write([]byte("{}"))
	})
	defer close(stopped)
	c.AnswerWait = 400 * time.Millisecond
	ctx := context.Background()
	if _, err := c.Status(ctx); fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
	if _, err := c.LearntServer(ctx, "s"); err != nil {
		t.Errorf("a server that starts: %v", err)
	}
	if _, err := c.Trust(ctx, proto.TrustRequest{Directory: "/d"}); err != nil {
		t.Errorf("work: %v", err)
	}
}

func TestARequestCarriesWhoWhereAndWhichBuild(t *testing.T) {
	var got http.Header
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		says(w, "1", "1.0.0")
		_, _ = w.Write([]byte("[]"))
	})
	c.Identity = Identity{Session: "s", Ticket: "t", Dir: "/d", Config: "/c", Env: map[string]string{"A": "ü"}, Interactive: true}
	if _, err := c.Leases(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		proto.HeaderSession: "s", proto.HeaderTicket: "t", proto.HeaderDir: "/d", proto.HeaderConfig: "/c",
		proto.HeaderProtocol: "1", proto.HeaderInteractive: "1", proto.HeaderEnv: "eyJBIjoiw7wifQ",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
	if local.ParseStamp(got.Get(proto.HeaderBuild)).ID != local.Build().ID {
		t.Errorf("build header %q", got.Get(proto.HeaderBuild))
	}
}

func TestAFailureKeepsEverythingTheDaemonSaid(t *testing.T) {
	want := fault.New(fault.PoolExhausted, "full").WithHint("wait").At("srv", "tool")
	want.Data = []byte(`{"holders":["a"]}`)
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		says(w, "1", "1.0.0")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(503)
		_ = json.NewEncoder(w).Encode(want.Problem())
	})
	_, err := c.Servers(context.Background())
	var got *fault.Error
	if !errors.As(err, &got) || got.Kind != want.Kind || got.Hint != "wait" || got.Server != "srv" || string(got.Data) != string(want.Data) {
		t.Errorf("got %+v", err)
	}
}

func TestAnotherProtocolIsNeverReadFurther(t *testing.T) {
	for _, c := range []struct {
		number string
		want   fault.Kind
		words  string
	}{
		{"99", fault.ProtocolMismatch, "this side is older"},
		{"0", fault.ProtocolMismatch, "the other side is older"},
		{"", fault.ProtocolMismatch, "not a tenon daemon"},
	} {
		client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			says(w, c.number, "9.9.9")
			_, _ = w.Write([]byte(`[{"name":"half understood"}]`))
		})
		servers, err := client.Servers(context.Background())
		if fault.KindOf(err) != c.want || !strings.Contains(err.Error(), c.words) || servers != nil {
			t.Errorf("protocol %q: %v, %v", c.number, servers, err)
		}
	}
}

func TestAnOlderDaemonOfTheSameProtocolIsUsedAndMentionedOnce(t *testing.T) {
	old := local.OwnStamp()
	old.ID, old.Time = "old", old.Time-100
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		says(w, "1", old.String())
		_, _ = w.Write([]byte("[]"))
	})
	var notices []string
	c.Notice = func(s string) { notices = append(notices, s) }
	for range 2 {
		if _, err := c.Sessions(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "older build") {
		t.Errorf("notices %q", notices)
	}
}

// A request that a daemon may have seen is never sent twice (TEN-17).
func TestABrokenRequestIsNotRepeated(t *testing.T) {
	var seen atomic.Int32
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		panic(http.ErrAbortHandler)
	})
	_, err := c.Call(context.Background(), proto.CallRequest{Server: "s", Tool: "t"}, nil)
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(fault.From(err).Hint, "not sent again") {
		t.Errorf("got %v", err)
	}
	if seen.Load() != 1 {
		t.Errorf("sent %d times", seen.Load())
	}
}

func TestNoDaemonSaysHowToGetOne(t *testing.T) {
	c := daemon(t, nil)
	_, err := c.Servers(context.Background())
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(fault.From(err).Hint, "tenon daemon start") {
		t.Errorf("got %v", err)
	}
}

func TestADaemonIsOnlyStartedForItsOwnSocket(t *testing.T) {
	c := daemon(t, nil)
	c.NoStart, c.Socket = false, c.Paths.Socket+"-elsewhere"
	c.Command = []string{"/nonexistent"}
	_, err := c.Servers(context.Background())
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(fault.From(err).Hint, "TENON_SOCKET") {
		t.Errorf("got %v, hint %q", err, fault.From(err).Hint)
	}
}

func TestADaemonThatDiesWhileStartingIsExplainedByItsWords(t *testing.T) {
	c := daemon(t, nil)
	c.NoStart = false
	c.Command = []string{"/bin/sh", "-c", "echo no luck today >&2; exit 3", "sh"}
	_, err := c.Servers(context.Background())
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), "no luck today") {
		t.Errorf("got %v", err)
	}
}

func TestAStarterReadsWhyADaemonDidNotStart(t *testing.T) {
	c := daemon(t, nil)
	c.NoStart = false
	c.Command = []string{"/bin/sh", "-c", `echo '{"ok":false,"error":{"kind":"ConfigError","message":"bad","hint":"mend"}}' >&4`, "sh"}
	_, err := c.Servers(context.Background())
	if fault.KindOf(err) != fault.ConfigError || fault.From(err).Hint != "mend" {
		t.Errorf("got %v", err)
	}
}

func TestTheDaemonsEnvironmentIsNobodysInParticular(t *testing.T) {
	got := daemonEnv([]string{"PATH=/bin", "TENON_TICKET=x", "TENON_SESSION_ID=s", "OPENCODE=1", "OPENCODE_PID=3", "AGENT=1", "TENON_GROUP=g", "TENON_STATE_DIR=/s"})
	if strings.Join(got, " ") != "PATH=/bin TENON_STATE_DIR=/s" {
		t.Errorf("got %q", got)
	}
}

func TestLinesOfAnyLengthAreRead(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	var got []string
	err := lines(strings.NewReader("\n"+long+"\n\nlast"), func(b []byte) error {
		got = append(got, strings.TrimSpace(string(b)))
		return nil
	})
	if err != nil || len(got) != 2 || got[0] != long || got[1] != "last" {
		t.Errorf("%d lines, %v", len(got), err)
	}
}

// A refusal that comes before the whole request was read is still understood.
func TestAnEarlyRefusalIsRead(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		says(w, "1", "1.0.0")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(413)
		_ = json.NewEncoder(w).Encode(fault.New(fault.UsageError, "too large").Problem())
	})
	_, err := c.Call(context.Background(), proto.CallRequest{Server: "s", Tool: "t", Arguments: json.RawMessage(`"` + strings.Repeat("x", 8<<20) + `"`)}, nil)
	if fault.KindOf(err) != fault.UsageError {
		t.Errorf("got %v", err)
	}
}

// The end of the context breaks a request off before the answer and within it.
func TestTheEndOfTheContextHangsUp(t *testing.T) {
	for _, first := range []bool{true, false} {
		ctx, cancel := context.WithCancel(context.Background())
		gone := make(chan struct{})
		c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then a server watches for the hang-up
			says(w, "1", "1.0.0")
			if !first {
				w.WriteHeader(200)
				_ = http.NewResponseController(w).Flush()
			}
			cancel()
			<-r.Context().Done()
			close(gone)
		})
		if _, err := c.Exec(ctx, proto.ExecRequest{Code: "1"}, nil); fault.KindOf(err) != fault.Cancelled {
			t.Errorf("got %v", err)
		}
		<-gone
	}
}

func TestAnEndlessHeadIsNotRead(t *testing.T) {
	server, conn := net.Pipe()
	go func() {
		defer server.Close()
		_, _ = server.Read(make([]byte, 4096))
		_, _ = server.Write([]byte("HTTP/1.1 200 OK\r\nX: "))
		for {
			if _, err := server.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
				return
			}
		}
	}()
	c := &Client{Dial: func(context.Context) (net.Conn, error) { return conn, nil }, Socket: "x"}
	_, err := c.Servers(context.Background())
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), "too long") || len(err.Error()) > 500 {
		t.Errorf("got %.500v", err)
	}
}

// Between the end of one daemon and a look at its lock, a command may have started
// the next: that one is not waited for.
func TestAStopDoesNotWaitForTheNextDaemon(t *testing.T) {
	c := daemon(t, nil)
	lock, err := c.Paths.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	const asked, next = 4_000_001, 4_000_002 // above every process id
	if err := c.Paths.WriteInfo(local.Info{PID: asked}); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.WaitGone(context.Background(), asked) }()
	select {
	case err := <-gone:
		t.Fatalf("the daemon that was asked holds its lock: %v", err)
	case <-time.After(3 * lookForNext): // for some looks
	}
	if err := c.Paths.WriteInfo(local.Info{PID: next}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-gone:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for the next one")
	}
	if err := lock.Remove(); err != nil { // which frees the thread that waited
		t.Error(err)
	}
}
