package lease_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/pool/pooltest"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/upstream"
)

// newRealWorld is a world whose servers are processes.
func newRealWorld(t *testing.T) *world {
	t.Helper()
	rec, err := proctree.OpenRecord(filepath.Join(t.TempDir(), "groups"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: &clock{now: time.Now()}}
	w.pool = pool.New(pool.Options{Dial: func(ctx context.Context, d *config.Definition, roots []string, o upstream.Observer) (upstream.Conn, error) {
		return upstream.Connect(ctx, rec, upstream.Spec{
			Name: d.Server.Name, Kind: "stdio", Command: d.Command, Env: os.Environ(),
			StartTimeout: d.Server.StartTimeout, Roots: roots, Observer: o,
		})
	}})
	w.m = lease.New(lease.Options{Pool: w.pool, Now: w.clock.Now})
	t.Cleanup(func() {
		w.m.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := w.pool.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := rec.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

func fakeDef(t *testing.T, name string, change func(*config.Server), flags ...string) *config.Definition {
	t.Helper()
	return pooltest.Definition(name, func(d *config.Definition) {
		d.Command = fakeserver.TestCommand(t, flags...)
		if change != nil {
			change(d.Server)
		}
	})
}

// ask makes one call of a lone caller and gives the text of its answer.
func (w *world) ask(r lease.Request, c upstream.Call) (string, error) {
	w.t.Helper()
	ctx, u, err := w.m.Take(within(w.t), r)
	if err != nil {
		return "", err
	}
	defer u.Done()
	raw, err := u.Instance().Conn().Call(ctx, c)
	if err != nil {
		return "", err
	}
	var res struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(raw, &res); err != nil || len(res.Content) == 0 {
		w.t.Fatalf("odd answer %s: %v", raw, err)
	}
	return res.Content[0].Text, nil
}

// R-01 (docker/mcp-gateway#483): one process per call.
func TestManyCallsOfThreeSessionsNeedThreeProcesses(t *testing.T) {
	w := newRealWorld(t)
	d := fakeDef(t, "fake", nil)
	var mu sync.Mutex
	pids := map[string]bool{}
	var wg sync.WaitGroup
	for _, session := range []string{"a", "b", "c"} {
		for range 20 {
			wg.Go(func() {
				pid, err := w.ask(request(d, session, ""), upstream.Call{Tool: "pid"})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				pids[pid] = true
			})
		}
	}
	wg.Wait()
	if len(pids) != 3 {
		t.Errorf("%d processes: %v", len(pids), pids)
	}
	w.clock.pass(d.Server.IdleTimeout)
	w.m.Sweep()
	pooltest.Eventually(t, "no process is left", func() bool { return len(w.pool.Instances()) == 0 })
	for pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(n, 0) == nil {
			t.Errorf("process %d is still there", n)
		}
	}
}

// R-05 (anthropics/claude-code#45146): the server dies in mid-session.
func TestACrashIsNamedNeverRepeatedAndFollowedByAFreshInstance(t *testing.T) {
	w := newRealWorld(t)
	journal := filepath.Join(t.TempDir(), "journal")
	d := fakeDef(t, "fake", nil, "--exit", "call:2", "3", "--journal", journal)
	r := request(d, "a", "")
	first, err := w.ask(r, upstream.Call{Tool: "pid"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.ask(r, upstream.Call{Tool: "pid"})
	if fault.KindOf(err) != fault.ServerUnavailable || !strings.Contains(err.Error(), "3") {
		t.Fatalf("got %v", err)
	}
	third, err := w.ask(r, upstream.Call{Tool: "pid"})
	if err != nil || third == first {
		t.Fatalf("%s after %s, %v", third, first, err)
	}
	if s := w.pool.Status("fake"); s.Restarts != 1 {
		t.Errorf("%+v", s)
	}
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "tools/call"); n != 3 {
		t.Errorf("%d calls reached the servers, want 3", n)
	}
}

// R-08 (anthropics/claude-code#91470): the connection only looks alive.
func TestAStoppedProcessIsReplacedAfterATimeout(t *testing.T) {
	w := newRealWorld(t)
	d := fakeDef(t, "fake", nil)
	r := request(d, "a", "")
	first, err := w.ask(r, upstream.Call{Tool: "pid"})
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	fakeserver.Suspend(t, pid)
	_, err = w.ask(r, upstream.Call{Tool: "pid", Timeout: 200 * time.Millisecond})
	if fault.KindOf(err) != fault.TimeoutExceeded {
		t.Fatalf("got %v", err)
	}
	if s := w.pool.Instances()[0].State(); s != "doubtful" {
		t.Errorf("state %s", s)
	}
	second, err := w.ask(r, upstream.Call{Tool: "pid"})
	if err != nil || second == first {
		t.Fatalf("%s after %s, %v", second, first, err)
	}
}

// R-15 (anomalyco/opencode#13672): a slow start delays nobody else.
func TestASlowStartDelaysNobodyElse(t *testing.T) {
	w := newRealWorld(t)
	slow := fakeDef(t, "slow", nil, "--delay", "initialize", "60000")
	quick := fakeDef(t, "quick", nil)
	waiting := w.begin(request(slow, "a", ""))
	pooltest.Eventually(t, "starting", func() bool { return w.pool.Status("slow").State == "starting" })
	if _, err := w.ask(request(quick, "a", ""), upstream.Call{Tool: "pid"}); err != nil {
		t.Fatal(err)
	}
	if !waiting.still() {
		t.Fatalf("the slow server did not wait: %v", waiting.err)
	}
	if n := w.pool.Restart("slow"); n != 1 {
		t.Errorf("%d instances of it", n)
	}
	<-waiting.done
	if fault.KindOf(waiting.err) != fault.ServerUnavailable {
		t.Errorf("got %v", waiting.err)
	}

	hasty := fakeDef(t, "hasty", func(s *config.Server) { s.StartTimeout = 300 * time.Millisecond }, "--delay", "initialize", "1500")
	_, err := w.ask(request(hasty, "a", ""), upstream.Call{Tool: "pid"})
	if fault.KindOf(err) != fault.ServerUnavailable {
		t.Fatalf("got %v", err)
	}
	hasty.Server.StartTimeout = 20 * time.Second
	if _, err := w.ask(request(hasty, "a", ""), upstream.Call{Tool: "pid"}); err != nil {
		t.Fatalf("a later call: %v", err)
	}
}

// R-44 (microsoft/playwright-mcp#893): two agents, one browser.
func TestEachSessionSeesItsOwnState(t *testing.T) {
	w := newRealWorld(t)
	d := fakeDef(t, "fake", nil)
	for n := range 10 {
		for _, session := range []string{"a", "b"} {
			v := session + strconv.Itoa(n)
			if _, err := w.ask(request(d, session, ""), upstream.Call{Tool: "set", Arguments: json.RawMessage(`{"v":"` + v + `"}`)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, session := range []string{"a", "b"} {
			got, err := w.ask(request(d, session, ""), upstream.Call{Tool: "get"})
			if err != nil || got != strconv.Quote(session+strconv.Itoa(n)) {
				t.Fatalf("%s sees %q, %v", session, got, err)
			}
		}
	}
}
