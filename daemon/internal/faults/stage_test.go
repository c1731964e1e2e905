//go:build linux

package faults

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // history is read as it stands in its file

	"tenon/daemon/internal/fault"
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

// give waits for a command that prints the result of a program with one call of the
// text, and enters it into the book; false: it printed none.
func (g *stage) give(c *command, token string) bool {
	g.Helper()
	c.wait()
	var r proto.RunResult
	if json.Unmarshal(c.out.Bytes(), &r) != nil || !r.OK {
		return false
	}
	if string(r.Value) != strconv.Quote(token) {
		g.Errorf("%s: the value is %s", token, r.Value)
	}
	g.accepted[token] = r.ID
	return true
}

// command is a tenon that runs.
type command struct {
	g        *stage
	cmd      *exec.Cmd
	out, err bytes.Buffer
	ended    chan struct{}
}

// begin starts tenon with these words.
func (g *stage) begin(words ...string) *command {
	g.Helper()
	c := &command{g: g, ended: make(chan struct{})}
	c.cmd = exec.Command(filepath.Join(g.s.Work, "bin", "tenon"), words...)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	g.start(c)
	return c
}

// start starts a command that was made ready.
func (g *stage) start(c *command) {
	g.Helper()
	c.cmd.Dir, c.cmd.Env = g.s.Work, g.s.Environ()
	if c.cmd.SysProcAttr == nil {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	c.cmd.WaitDelay = 5 * time.Second
	if err := c.cmd.Start(); err != nil {
		g.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait()
	}()
	g.Cleanup(c.kill)
}

// kill kills the command alone, not what it has started.
func (c *command) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

// wait waits for the end, within a bound; one that hangs is killed.
func (c *command) wait() {
	c.g.Helper()
	select {
	case <-c.ended:
	case <-time.After(unhurried):
		c.kill()
		c.g.Fatalf("%q hung for %s: %s", c.cmd.Args, unhurried, c.err.String())
	}
}

func (c *command) code() int { return c.cmd.ProcessState.ExitCode() }

// until waits for a condition.
func (g *stage) until(what string, holds func() bool) {
	g.Helper()
	for deadline := time.Now().Add(unhurried); !holds(); rig.Pause() {
		if time.Now().After(deadline) {
			g.Fatalf("after %s: not so: %s", unhurried, what)
		}
	}
}

// received counts the calls with the text in the journal of the fake servers.
func (g *stage) received(token string) int {
	raw, err := os.ReadFile(filepath.Join(g.s.Work, "J"))
	if err != nil {
		return 0
	}
	return bytes.Count(raw, fmt.Appendf(nil, `"text":%q`, token))
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

// get asks the daemon for what a route of it shows.
func (g *stage) get(path string, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	wire := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", g.s.Get("SOCKET"))
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://tenon"+path, nil)
	if err != nil {
		return err
	}
	res, err := wire.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, raw)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// live counts the runs that go on.
func (g *stage) live() int {
	g.Helper()
	var rows []proto.Run
	if err := g.get("/v1/runs?live=true", &rows); err != nil {
		g.Fatal(err)
	}
	return len(rows)
}

// settled compares the book with history: each result once, as what it was.
func (g *stage) settled(after string) {
	g.Helper()
	for token, id := range g.accepted {
		var r proto.Run
		if err := g.get("/v1/runs/"+id, &r); err != nil || r.Status != "ok" || r.Calls != 1 {
			g.Errorf("after %s: run %s with %s is %s with %d calls in history: %v", after, id, token, r.Status, r.Calls, err)
		}
		if calls := g.calls(id); !slices.Equal(calls, []string{"ok"}) {
			g.Errorf("after %s: the call of run %s with %s is %v in history", after, id, token, calls)
		}
	}
	g.given += len(g.accepted)
	g.accepted = map[string]string{}
}

// file opens the history, which a daemon may have open as well.
func (g *stage) file() *sql.DB {
	g.Helper()
	db, err := sql.Open("sqlite", "file:"+g.state("history.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		g.Fatal(err)
	}
	return db
}

// calls is how the calls of a run ended, as history has them.
func (g *stage) calls(run string) []string {
	g.Helper()
	db := g.file()
	defer db.Close()
	rows, err := db.Query(`SELECT status FROM calls WHERE run = ?`, run)
	if err != nil {
		g.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var status string
		if err := rows.Scan(&status); err != nil {
			g.Fatal(err)
		}
		all = append(all, status)
	}
	if err := rows.Err(); err != nil {
		g.Fatal(err)
	}
	return all
}

// number is the one number that a query of history gives.
func (g *stage) number(query string, args ...any) (n int) {
	g.Helper()
	db := g.file()
	defer db.Close()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		g.Fatal(err)
	}
	return n
}

// change changes the history of a daemon that does not run.
func (g *stage) change(query string, args ...any) {
	g.Helper()
	db := g.file()
	_, err := db.Exec(query, args...)
	g.bear(errors.Join(err, db.Close()))
}

// failed reports whether a command failed with the kind.
func (c *command) failed(kind fault.Kind) bool {
	return c.code() == kind.ExitCode() && strings.Contains(c.err.String()+c.out.String(), string(kind))
}
