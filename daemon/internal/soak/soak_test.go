package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/rig"
)

const (
	// soakEnv is how long TestSoak lasts; without it the test is skipped.
	soakEnv = "SOAK"
	// sessionsEnv is how many sessions there are at a time; 200 without it.
	sessionsEnv = "SOAK_SESSIONS"
)

func TestMain(m *testing.M) { rig.Main(m) }

// hosts is how many doubles of a host the sessions are spread over.
const hosts = 4

// world is the state of one soak.
type world struct {
	t        *testing.T
	s        *rig.Scene
	api      *rig.API
	book     *book
	sessions int           // at a time
	think    time.Duration // at most, between two deeds of a session
	dirs     []place
	remotes  []string // addresses of the servers over HTTP
	hosts    [hosts]*slot
	kills    disturbance
	ids      atomic.Int64
}

// place is a directory that sessions work in.
type place struct{ dir, top string }

// disturbance counts something that excuses failures while it happens.
type disturbance struct{ n atomic.Int64 }

// during disturbs while f works.
func (d *disturbance) during(f func()) {
	d.n.Add(1)
	defer d.n.Add(1)
	f()
}

// mark is a moment; excuses tells whether a disturbance touched the time since.
func (d *disturbance) mark() int64             { return d.n.Load() }
func (d *disturbance) excuses(mark int64) bool { return mark%2 == 1 || d.n.Load() != mark }

// TestSoak lets sessions come and go, calls succeed, fail, wait and be
// cancelled, servers crash, hosts die, the configuration change and the daemon
// be killed, all at once. Run it by "make soak".
func TestSoak(t *testing.T) {
	if os.Getenv(soakEnv) == "" {
		t.Skipf("%s says how long; make soak sets it", soakEnv)
	}
	if runtime.GOOS != "linux" {
		t.Skip("what is left behind is looked for in /proc, which only Linux has")
	}
	length, err := time.ParseDuration(os.Getenv(soakEnv))
	if err != nil {
		t.Fatal(err)
	}
	sessions := 200
	if n, err := strconv.Atoi(os.Getenv(sessionsEnv)); err == nil {
		sessions = max(n, hosts)
	}
	w := newWorld(t, sessions)
	watch := newWatch(w)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	began := time.Now()
	var load, watching sync.WaitGroup
	watchCtx, stopWatch := context.WithCancel(t.Context())
	defer stopWatch()
	watching.Go(func() { watch.until(watchCtx) })
	watching.Go(func() { w.progress(watchCtx, watch, length) })
	few := max(1, sessions/20)
	for n := range sessions - 2*few {
		load.Go(func() { w.until(ctx, func() error { return w.session(ctx, w.hosts[n%hosts]) }) })
	}
	for range few {
		load.Go(func() { w.until(ctx, func() error { return w.mcpClient(ctx) }) })
		load.Go(func() { w.until(ctx, func() error { return w.shell(ctx) }) })
	}
	load.Go(func() { w.killer(ctx, length) })
	load.Go(func() { w.hostKiller(ctx, length) })
	load.Go(func() { w.editor(ctx) })
	load.Wait()
	watch.loadEnded()
	w.leave()
	watch.untilRest()
	stopWatch()
	watching.Wait()
	w.settle(watch, time.Since(began))
}

// newWorld makes the scene: directories, servers, hosts.
func newWorld(t *testing.T, sessions int) *world {
	work := t.TempDir()
	w := &world{t: t, book: newBook(), sessions: sessions, think: 8 * time.Second}
	for n := range 4 {
		top := filepath.Join(work, "repo"+strconv.Itoa(n))
		w.dirs = append(w.dirs, place{top, top}, place{filepath.Join(top, "inner"), top})
		for _, dir := range []string{filepath.Join(top, ".git"), filepath.Join(top, "inner")} {
			must(t, os.MkdirAll(dir, 0o755))
		}
	}
	var err error
	if w.s, err = rig.New(work, rig.Program(t)); err != nil {
		t.Fatal(err)
	}
	w.api = w.s.NewAPI()
	t.Cleanup(func() {
		w.api.Close()
		if t.Failed() {
			w.keepLog()
		}
		w.s.TearDown(t, 2*rig.GoneBound)
	})
	for n, flags := range remoteFlags {
		w.remotes = append(w.remotes, w.remote(n, flags))
	}
	must(t, os.WriteFile(filepath.Join(work, "config", "tenon", "tools.ts"), []byte(moduleCode), 0o600))
	must(t, w.configure(0))
	for n := range w.hosts {
		w.hosts[n] = &slot{name: fmt.Sprintf("host%d", n)}
		must(t, w.hosts[n].start(w))
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until repeats work until the time is over; what goes wrong ends the one who
// did it and fails the test.
func (w *world) until(ctx context.Context, work func() error) {
	for ctx.Err() == nil {
		if err := work(); err != nil {
			w.wrong("%v", err)
			return
		}
	}
}

// wrong fails the soak.
func (w *world) wrong(format string, args ...any) {
	w.t.Errorf("%s: %s", time.Now().UTC().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// keepLog puts what is to be looked at after a failure where it stays.
func (w *world) keepLog() {
	log := w.s.Get("LOG")
	var whole []byte
	for _, name := range []string{log + ".1", log} {
		part, _ := os.ReadFile(name) // there may be no older one
		whole = append(whole, part...)
	}
	kept, err := os.CreateTemp("", "tenon-soak-*.log")
	if err != nil {
		w.t.Log(err)
		return
	}
	defer kept.Close()
	_, err = kept.Write(whole)
	w.t.Logf("to be looked at: %s (%v), which has what the daemon said of each session, instance and run named above; TENON_LOG=debug says more", kept.Name(), err)
}

// pause is what a session does between two deeds.
func (w *world) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(w.think)):
	}
}

func (w *world) place() place { return w.dirs[rand.IntN(len(w.dirs))] }

// token is a text that nobody else has.
func (w *world) token() string {
	token := "t-" + strconv.FormatInt(w.ids.Add(1), 10)
	w.book.tried(token)
	return token
}

// leave ends every host the way a user closes it.
func (w *world) leave() {
	for _, h := range w.hosts {
		if err := h.current().Close(); err != nil {
			w.wrong("close %s: %v", h.name, err)
		}
	}
}

// progress shows one line where somebody looks at a terminal.
func (w *world) progress(ctx context.Context, watch *watch, length time.Duration) {
	st, err := os.Stderr.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return
	}
	began, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprint(os.Stderr, "\r\033[K")
			return
		case <-tick.C:
			fmt.Fprintf(os.Stderr, "\r\033[K%s of %s · %s", time.Since(began).Round(time.Second), length, strings.Join(watch.now(), " · "))
		}
	}
}
