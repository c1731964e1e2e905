//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// timesEnv is how often each fault is repeated; without it, once.
const timesEnv = "FAULTS"

// Bounds of what must not hang.
const (
	// soon bounds what takes the product no time at all, on a busy machine.
	soon = 30 * time.Second
	// unhurried bounds what has a bound of its own in the product: a daemon that is
	// silent is given up after 40 s at most, a start after 45 s.
	unhurried = 100 * time.Second
)

// Two servers are shared by all: work, and idle for the bystander. The others
// belong to one session, so that they can be harmed.
const config = `{
  "servers": {
    "work": { "command": ["fake", "--name", "work", "--journal", "$WORK/J"] },
    "own": { "command": ["fake", "--name", "own", "--journal", "$WORK/J"], "scope": "session", "maxInstances": 16 },
    "slow": { "command": ["fake", "--name", "slow", "--journal", "$WORK/J-slow", "--delay", "initialize", "600000"], "scope": "session", "maxInstances": 16, "startTimeout": "10m" },
    "still": { "command": ["fake", "--name", "still"], "scope": "session" },%s
  },
  "sessions": { "grace": "1s" },%s
}`

// setting is what a stage has beyond the usual.
type setting struct {
	servers, more string            // of the configuration
	prepare       func(work string) // is called before anything is in the directory
	alone         bool              // not beside other tests
}

// stage is the product with a bystander, and the book of what was given to somebody.
type stage struct {
	*testing.T
	s    *rig.Scene
	host *rig.Host // the bystander's

	accepted map[string]string // text of the call to work → run, given to somebody
	turns    int               // of the bystander, with this daemon
	daemon   int               // of turns
	base     int               // open files of the daemon at rest
	ids      atomic.Int64
	count    int // of faults
	given    int // results that are in history
}

// newStage sets the stage; open lets the bystander in.
func newStage(t *testing.T, with setting) *stage {
	t.Helper()
	if !with.alone {
		t.Parallel() // most of the time something is waited for
	}
	work := t.TempDir()
	if with.prepare != nil {
		with.prepare(work)
	}
	if err := os.MkdirAll(filepath.Join(work, "config", "tenon"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "config", "tenon", "config.jsonc"), fmt.Appendf(nil, config, with.servers, with.more), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := rig.New(work, rig.Program(t))
	if err != nil {
		t.Fatal(err)
	}
	g := &stage{T: t, s: s, accepted: map[string]string{}}
	t.Cleanup(func() {
		s.TearDown(t, rig.GoneBound)
	})
	return g
}

// open lets the bystander in, which starts the daemon.
func (g *stage) open() *stage {
	g.Helper()
	h, err := g.s.StartHost("bystander", g.s.Work, rig.HostOptions{})
	if err != nil {
		g.Fatal(err)
	}
	g.host = h
	g.attach(h, "bystander")
	g.exec("warm", "work") // what is started once is no leak
	g.bystander()
	g.rest()
	return g
}

func (g *stage) attach(h *rig.Host, id string) {
	g.Helper()
	o, err := g.s.Attach(h, proto.Attach{Session: id, Directory: g.s.Work, Agent: "build", Rules: rig.AllowAll("build")})
	if err != nil || o.Code != 0 {
		g.Fatalf("attach %s: %v %s", id, err, o.Stderr)
	}
}

// times repeats a fault, looks after each at what came of it, and says how it went.
func (g *stage) times(name string, once func(n int)) {
	g.Helper()
	begun, before := time.Now(), g.given
	n := repetitions()
	for i := range n {
		once(i)
		g.count++
		g.aftermath(fmt.Sprintf("%s, time %d", name, i+1))
	}
	g.Logf("%s: %d times in %.0f s, %d results given to somebody, none lost", name, n, time.Since(begun).Seconds(), g.given-before)
}

func repetitions() int {
	n, _ := strconv.Atoi(os.Getenv(timesEnv))
	return max(n, 1)
}

// long reports whether what takes minutes may be done.
func (g *stage) long() bool { return repetitions() > 1 }

// bystander makes one call of a session that has nothing to do with the fault. Its
// server counts, so that one that was replaced shows.
func (g *stage) bystander() {
	g.Helper()
	begun := time.Now()
	o, err := g.host.Start(proto.RunStart{
		Origin: proto.Origin{Session: "bystander", Call: rig.CallID(g.ids.Add(1)), Agent: "build"}, Directory: g.s.Work,
		Code: "return await tools.still.counter()",
	}, 0)
	if err != nil || o.Code != 0 {
		g.Fatalf("the bystander's call: %v, code %d: %s %s", err, o.Code, o.Stderr, o.Stdout)
	}
	if took := time.Since(begun); took > soon {
		g.Errorf("the bystander's call took %s", took)
	}
	var done proto.RunDone
	if err := json.Unmarshal(o.Stdout, &done); err != nil {
		g.Fatal(err)
	}
	if pid := g.pid(); pid != g.daemon {
		g.daemon, g.turns, g.base = pid, 0, 0
	}
	g.turns++
	if want := fmt.Sprintf("%q", strconv.Itoa(g.turns)); string(done.Result.Value) != want {
		g.Errorf("the bystander's server counts %s, want %s: it is another one", done.Result.Value, want)
	}
}

func (g *stage) pid() int {
	g.Helper()
	pid, err := g.s.DaemonPID()
	if err != nil {
		g.Fatal(err)
	}
	return pid
}

// token is a text that no other call has.
func (g *stage) token(of string) string { return fmt.Sprintf("%s-%d", of, g.ids.Add(1)) }

// exec runs a program that makes one call, and enters its result into the book.
func (g *stage) exec(of, server string, more ...string) {
	g.Helper()
	token := g.token(of)
	c := g.begin(append(append([]string{"exec", "--json"}, more...), "-e", fmt.Sprintf("return await tools.%s.echo({text: %q})", server, token))...)
	if !g.give(c, token) {
		g.Fatalf("exec %s: code %d: %s", token, c.code(), c.err.String())
	}
}

// until waits for a condition.
func (g *stage) until(what string, holds func() bool) {
	g.Helper()
	for deadline := time.Now().Add(unhurried); !holds(); rig.Pause() {
		if time.Now().After(deadline) {
			g.Fatalf("after %s: not so: %s", unhurried, what)
		}
	}
}

// aftermath looks at everything that must be as before.
func (g *stage) aftermath(after string) {
	g.Helper()
	g.bystander()
	g.exec("after", "work")
	g.rest()
	for token := range g.accepted {
		if n := g.received(token); n != 1 {
			g.Errorf("after %s: %s was given to somebody, and made %d times", after, token, n)
		}
	}
	g.settled(after)
	if g.Failed() {
		g.Fatalf("after %s", after)
	}
}

// rest waits until the daemon holds nothing that belongs to nobody.
func (g *stage) rest() {
	g.Helper()
	g.until("no run goes on", func() bool { return g.live() == 0 })
	g.until("no zombie is left", func() bool { return len(g.s.Zombies()) == 0 })
	pid, now := g.pid(), 0
	if g.base == 0 {
		g.until("the daemon's files come to rest", func() bool {
			was := now
			now = open(pid)
			return now == was
		})
		g.base = now
	}
	// Two more than at rest: an idle connection, and a file that is looked at now.
	g.until("the daemon's files are closed", func() bool { now = open(pid); return now <= g.base+2 })
}

// open counts the open files of a process.
func open(pid int) int {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(files)
}
