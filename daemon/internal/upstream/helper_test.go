package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
)

func TestMain(m *testing.M) {
	fakeserver.MaybeMain()
	maybeSDKServer()
	goleak.VerifyTestMain(m)
}

// ear is an Observer that remembers.
type ear struct {
	mu      sync.Mutex
	changes int
	noise   []string
	errs    []string
	logs    []string
	notices []Notice
}

func (e *ear) ToolsChanged()         { e.mu.Lock(); e.changes++; e.mu.Unlock() }
func (e *ear) Noise(s string)        { e.mu.Lock(); e.noise = append(e.noise, s); e.mu.Unlock() }
func (e *ear) Stderr(s string)       { e.mu.Lock(); e.errs = append(e.errs, s); e.mu.Unlock() }
func (e *ear) ServerLog(l, s string) { e.mu.Lock(); e.logs = append(e.logs, l+": "+s); e.mu.Unlock() }

func (e *ear) Noticed(n Notice) { e.mu.Lock(); e.notices = append(e.notices, n); e.mu.Unlock() }

func (e *ear) changed() int { e.mu.Lock(); defer e.mu.Unlock(); return e.changes }
func (e *ear) heard() ([]string, []string, []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.noise), slices.Clone(e.errs), slices.Clone(e.logs)
}

func record(t testing.TB) *proctree.Record {
	t.Helper()
	r, err := proctree.OpenRecord(filepath.Join(t.TempDir(), "groups"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func stdioSpec(t testing.TB, flags ...string) Spec {
	return Spec{Name: "fake", Kind: "stdio", Command: fakeserver.TestCommand(t, flags...), Env: os.Environ(), StartTimeout: 30 * time.Second}
}

// dial connects and, after the test, closes and checks that no process, file
// or goroutine of the connection is left.
func dial(t testing.TB, s Spec) *conn {
	t.Helper()
	files := openFiles()
	c, err := Connect(context.Background(), record(t), s)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		pid := c.Info().PID
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if pid != 0 && syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d is left", pid)
		}
		if !t.Failed() && files >= 0 {
			eventually(t, "files are closed", func() bool { return openFiles() <= files+4 }) // the record and the runtime's own
		}
	})
	return c.(*conn)
}

func openFiles() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(all)
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if ok() {
			return
		}
		runtime.Gosched()
		<-time.After(2 * time.Millisecond)
	}
	t.Fatalf("never happened: %s", what)
}

func args(format string, a ...any) json.RawMessage { return fmt.Appendf(nil, format, a...) }

// text calls a tool and returns its first text block.
func text(t testing.TB, c Conn, call Call) string {
	t.Helper()
	s, err := try(c, call)
	if err != nil {
		t.Fatalf("%s: %v", call.Tool, err)
	}
	return s
}

func try(c Conn, call Call) (string, error) {
	raw, err := c.Call(context.Background(), call)
	if err != nil {
		return "", err
	}
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", fmt.Errorf("result %.200s: %w", raw, err)
	}
	if len(r.Content) == 0 {
		return "", nil
	}
	return r.Content[0].Text, nil
}

func wantKind(t testing.TB, err error, kind fault.Kind, parts ...string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Fatalf("error is %v (%v), want %v", err, fault.KindOf(err), kind)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

func fate(err error) string {
	var e *fault.Error
	if errors.As(err, &e) {
		return string(e.Data)
	}
	return ""
}

// journal reads the messages that a fake server noted.
func journal(t testing.TB, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for line := range strings.Lines(string(data)) {
		var e struct{ Message map[string]any }
		if err := json.Unmarshal([]byte(line), &e); err == nil {
			all = append(all, e.Message)
		}
	}
	return all
}

func methods(all []map[string]any, name string) []map[string]any {
	return slices.DeleteFunc(slices.Clone(all), func(m map[string]any) bool { return m["method"] != name })
}

// human answers questions for a call.
type human func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

func (h human) Declined(method, why string) {}
func (h human) Waiting(wait func())         { wait() }

func (h human) Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return h(ctx, method, params)
}

func itoa(n int) string { return strconv.Itoa(n) }
