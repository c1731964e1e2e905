package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// soakEnv is how long TestSoak lasts; without it the test is skipped.
const soakEnv = "SOAK"

const soakConfig = `{
  "servers": {
    "all": { "command": ["fake", "--journal", "$WORK/J"] },
    "own": { "command": ["fake", "--child", "1"], "scope": "session", "maxInstances": 16 },
    "crashy": { "command": ["fake", "--exit", "call:9", "3"], "scope": "session", "maxInstances": 16 },
  },
  "sessions": { "grace": "2s" },
}`

// soak is the state of one soak.
type soak struct {
	t     *testing.T
	s     *scene
	h     *host
	kills atomic.Int64 // how often the daemon was killed so far
	ids   atomic.Int64

	mu    sync.Mutex
	acked map[string]bool // every echo that was tried, and whether it was answered
	tally map[string]int
}

// TestSoak lets sessions come and go, calls succeed, fail and be cancelled,
// servers crash and the daemon be killed, all at once, and then checks that
// nothing was lost, made twice or left behind. Run it by "make soak".
func TestSoak(t *testing.T) {
	if os.Getenv(soakEnv) == "" {
		t.Skipf("%s says how long; make soak sets it", soakEnv)
	}
	length, err := time.ParseDuration(os.Getenv(soakEnv))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.MkdirAll(filepath.Join(work, "config", "tenon"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "config", "tenon", "config.jsonc"), []byte(soakConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := newScene(work, program(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.tearDown(plainT{t})
	k := &soak{t: t, s: s, acked: map[string]bool{}, tally: map[string]int{}}
	if k.h, err = s.startHost(mainHost, work, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { k.until(ctx, k.session) })
	}
	all.Go(func() { k.until(ctx, k.shell) })
	all.Go(func() { k.until(ctx, k.crashes) })
	all.Go(func() { k.killer(ctx, max(length/8, 10*time.Second)) })
	all.Wait()
	k.settle()
}

// plainT gives a testing.T the face that teardown wants.
type plainT struct{ *testing.T }

func (p plainT) Verbose() bool                  { return testing.Verbose() }
func (p plainT) Run(string, func(testscript.T)) {}

func (k *soak) until(ctx context.Context, work func() error) {
	for ctx.Err() == nil {
		if err := work(); err != nil {
			k.t.Error(err)
			return
		}
	}
}

func (k *soak) count(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tally[what]++
}

// try does something that must succeed unless the daemon was killed meanwhile.
func (k *soak) try(what string, f func() (outcome, error)) (outcome, bool, error) {
	before := k.kills.Load()
	o, err := f()
	if err != nil {
		return o, false, fmt.Errorf("%s: %w", what, err)
	}
	if o.code == 0 {
		k.count(what)
		return o, true, nil
	}
	if k.kills.Load() != before {
		k.count(what + ", failed by a killed daemon")
		return o, false, nil
	}
	return o, false, fmt.Errorf("%s: exit code %d: %s%s", what, o.code, o.stderr, tail(o.stdout, 500))
}

func (k *soak) request(method string, params any) func() (outcome, error) {
	return func() (outcome, error) {
		o, err := k.h.request(method, params, 0)
		if method == proto.MethodRunStart {
			o = asRun(o)
		}
		return o, err
	}
}

func (k *soak) program(id, code string) proto.RunStart {
	return proto.RunStart{Origin: proto.Origin{Session: id, Call: callID(k.ids.Add(1)), Agent: "build"}, Directory: k.s.work, Code: code, Text: modelLimits}
}

// leave detaches, again where a killed daemon did not hear it.
func (k *soak) leave(id string, deleted bool) error {
	for {
		_, ok, err := k.try("detach", k.request(proto.MethodDetach, proto.Detach{Session: id, Deleted: deleted}))
		if err != nil || ok {
			return err
		}
	}
}

// session attaches, works in its own instance, cancels something, and leaves.
func (k *soak) session() error {
	id := fmt.Sprintf("soak-%d", k.ids.Add(1))
	list, err := rules(k.s.work, "", "build")
	if err != nil {
		return err
	}
	attach := proto.Attach{Session: id, Directory: k.s.work, Agent: "build", Rules: list}
	if _, ok, err := k.try("attach", k.request(proto.MethodAttach, attach)); err != nil || !ok {
		return err
	}
	started := k.kills.Load()
	for n := 1; n <= 5; n++ {
		token := "t-" + strconv.FormatInt(k.ids.Add(1), 10)
		k.tried(token)
		code := fmt.Sprintf(`const [n, text] = await Promise.all([tools.own.counter(), tools.all.echo({text: %q})]); return [Number(n), text]`, token)
		o, ok, err := k.try("run", k.request(proto.MethodRunStart, k.program(id, code)))
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		var done proto.RunDone
		if err := json.Unmarshal(o.stdout, &done); err != nil {
			return err
		}
		k.answered(token)
		want := fmt.Sprintf(`[%d,%q]`, n, token)
		if string(done.Result.Value) != want && k.kills.Load() == started {
			return fmt.Errorf("session %s got %s, want %s: its state was lost or mixed", id, done.Result.Value, want)
		}
	}
	if err := k.cancelled(id); err != nil {
		return err
	}
	return k.leave(id, rand.IntN(2) == 0)
}

// cancelled starts a long call and takes it back.
func (k *soak) cancelled(id string) error {
	before := k.kills.Load()
	j := &job{host: k.h, ask: k.h.ids.Add(1)}
	ended := make(chan outcome, 1)
	go func() {
		o, err := k.h.request(proto.MethodRunStart, k.program(id, `emit(1); await tools.all.sleep({ms: 600000})`), j.ask)
		if err != nil {
			o = no("%v", err)
		}
		ended <- asRun(o)
	}()
	for {
		if err := cancelRequest(j, "user"); err != nil && k.kills.Load() == before {
			return fmt.Errorf("cancel: %w", err)
		}
		select {
		case o := <-ended:
			if o.code != fault.Cancelled.ExitCode() && k.kills.Load() == before {
				return fmt.Errorf("a cancelled run ended with %d: %s", o.code, o.stderr)
			}
			k.count("cancel")
			return nil
		case <-time.After(pollEvery): // the request may not have arrived before its cancel
		}
	}
}

// shell makes one call from the command line.
func (k *soak) shell() error {
	token := "t-" + strconv.FormatInt(k.ids.Add(1), 10)
	k.tried(token)
	p := &plan{verb: "tenon", words: []string{"call", "all", "echo", "text=" + token}, dir: k.s.work}
	o, ok, err := k.try("tenon call", func() (outcome, error) { return programVerb(k.s, p, nil) })
	if err != nil || !ok {
		return err
	}
	if got := strings.TrimSpace(string(o.stdout)); got != token {
		return fmt.Errorf("tenon call printed %q, want %q", got, token)
	}
	k.answered(token)
	return nil
}

// crashes uses a server until it crashes under the call; that one fails with
// the reason and the next works.
func (k *soak) crashes() error {
	id := fmt.Sprintf("crash-%d", k.ids.Add(1))
	list, err := rules(k.s.work, "", "build")
	if err != nil {
		return err
	}
	attach := proto.Attach{Session: id, Directory: k.s.work, Agent: "build", Rules: list}
	if _, ok, err := k.try("attach", k.request(proto.MethodAttach, attach)); err != nil || !ok {
		return err
	}
	before := k.kills.Load()
	code := `let failed = 0; for (let i = 0; i < 9; i++) { try { await tools.crashy.pid() } catch (e) { if (e.kind !== "ServerUnavailable") throw e; failed++ } } return failed`
	o, ok, err := k.try("crash", k.request(proto.MethodRunStart, k.program(id, code)))
	if err != nil {
		return err
	}
	var done proto.RunDone
	if ok && json.Unmarshal(o.stdout, &done) == nil && string(done.Result.Value) != "1" && k.kills.Load() == before {
		return fmt.Errorf("the ninth of nine calls crashes, but %s failed", done.Result.Value)
	}
	return k.leave(id, true)
}

// killer kills the daemon now and then; the next to need it starts it again.
func (k *soak) killer(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			pid, err := k.s.daemonPID()
			if err != nil {
				continue
			}
			k.kills.Add(1)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				k.t.Errorf("kill the daemon: %v", err)
			}
			for alive(k.s, pid) {
				pause()
			}
			k.kills.Add(1) // what began while it was dying is excused as well
			k.count("daemon killed")
		}
	}
}

func alive(s *scene, pid int) bool {
	for _, p := range s.processes() {
		if p.pid == pid {
			return true
		}
	}
	return false
}

func (k *soak) tried(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.acked[token] = false
}

func (k *soak) answered(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.acked[token] = true
}

// settle waits for rest and compares what was answered with what the server
// received: once each, and never twice whatever happened.
func (k *soak) settle() {
	k.t.Logf("done: %v", k.tally)
	received := map[string]int{}
	p := &plan{words: []string{filepath.Join(k.s.work, "J"), "tools/call"}}
	o, err := journalVerb(k.s, p, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	var calls []struct {
		Params struct {
			Arguments struct{ Text string } `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(o.stdout, &calls); err != nil {
		k.t.Fatal(err)
	}
	for _, c := range calls {
		received[c.Params.Arguments.Text]++
	}
	answered := 0
	for token, ok := range k.acked {
		if ok {
			answered++
		}
		if received[token] > 1 || ok && received[token] != 1 {
			k.t.Errorf("call %s: answered %v, received %d times", token, ok, received[token])
		}
	}
	if answered == 0 {
		k.t.Error("nothing was answered at all")
	}
	k.rest("sessions gone", "tenon", "sessions", "--json", "::", "[host=opencode-v1].length", "==", "0")
	k.rest("their servers gone", "processes", "scope-own|--child 1|--exit call:9", "==", "0")
	k.rest("no run is running", "tenon", "runs", "list", "--json", "::", "[status=running].length", "==", "0")
	k.rest("nothing waits", "tenon", "leases", "--json", "::", "[state=waiting].length", "==", "0")
	k.rest("no zombie", "zombies", "==", "0")
	if pid, err := k.s.daemonPID(); err == nil {
		open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if len(open) > 100 {
			k.t.Errorf("the daemon has %d files open at rest", len(open))
		}
	}
}

// rest polls a line until it holds.
func (k *soak) rest(what string, words ...string) {
	p, err := parsePlan(append([]string{"eventually", "30s"}, words...))
	if err == nil {
		p.dir = k.s.work
		_, err = k.s.carryOut(p, nil)
	}
	if err != nil {
		k.t.Errorf("%s: %v", what, err)
	}
}
