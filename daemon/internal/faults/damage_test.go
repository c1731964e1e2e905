//go:build linux

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenon/proto"
)

// state is a path in the state directory.
func (g *stage) state(name string) string { return filepath.Join(g.s.Work, "state", name) }

// stop stops the daemon as a user does.
func (g *stage) stop() {
	g.Helper()
	pid := g.pid()
	if o, err := g.s.Tenon(g.s.Work, "daemon", "stop"); err != nil || o.Code != 0 {
		g.Fatalf("daemon stop: %v %s", err, o.Stderr)
	}
	g.until("the daemon is gone", func() bool { return syscall.Kill(pid, 0) != nil })
}

// bear writes, and ends the test where that fails.
func (g *stage) bear(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// A history that cannot be used is put aside as it is, and a new one is kept.
func TestADamagedHistory(t *testing.T) {
	g := newStage(t, setting{}).open()
	db := g.state("history.db")
	cut := func(to int64) func() {
		return func() { g.bear(os.Truncate(db, to)) }
	}
	inPlace := func(make func() error) func() {
		return func() {
			g.bear(os.Remove(db))
			g.bear(make())
		}
	}
	over := func(at int64, text []byte) func() {
		return func() {
			f, err := os.OpenFile(db, os.O_RDWR, 0)
			g.bear(err)
			_, err = f.WriteAt(text, at)
			g.bear(errors.Join(err, f.Close()))
		}
	}
	for _, d := range []struct {
		name  string
		aside bool // the old file is kept
		harm  func()
	}{
		{"a history cut in two", true, cut(10_000)},
		{"a history of no bytes", false, cut(0)},
		{"a history with another's head", true, over(0, []byte("no database at all, but text"))},
		{"a history with rubbish in its pages", true, over(4096, bytes.Repeat([]byte{0xee}, 40_000))},
		{"a history of a later format", true, over(60, []byte{0, 0, 0, 99})}, // user_version
		{"a folder for a history", true, inPlace(func() error { return os.MkdirAll(filepath.Join(db, "sub"), 0o700) })},
		{"a pipe for a history", true, inPlace(func() error { return syscall.Mkfifo(db, 0o600) })},
	} {
		g.times(d.name, func(int) {
			g.exec("before", "work")
			g.stop()
			before, _ := filepath.Glob(db + ".old-*")
			d.harm()
			g.accepted = map[string]string{} // they are in what is put aside
			g.back()
			g.exec("new", "work")
			after, _ := filepath.Glob(db + ".old-*")
			if (len(after) > len(before)) != d.aside {
				g.Errorf("%s: put aside before %v, after %v", d.name, before, after)
			}
		})
	}
	g.times("a history removed under the daemon", func(int) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(db + suffix); !errors.Is(err, fs.ErrNotExist) {
				g.bear(err)
			}
		}
	})
	g.times("a history cut under the daemon", func(int) { g.bear(os.Truncate(db, 4096)) })
	g.times("a state directory emptied under the daemon", func(int) {
		entries, err := os.ReadDir(g.state(""))
		g.bear(err)
		for _, e := range entries {
			g.bear(os.RemoveAll(g.state(e.Name())))
		}
	})
}

// What a killed daemon has left may be damaged as well: the rest of it counts.
func TestADamagedJournal(t *testing.T) {
	g := newStage(t, setting{}).open()
	for _, d := range []struct{ name, text string }{
		{"half a line at the end", `{"id":7,"type":"ca`},
		{"rubbish in the middle", "\x00\xff{]\n\n{}\n[1]\n" + strings.Repeat("x", 1<<20) + "\n"},
	} {
		g.times("a journal with "+d.name, func(int) {
			g.exec("killed", "work")
			pid := g.pid()
			g.bear(syscall.Kill(pid, syscall.SIGKILL))
			g.until("the daemon is gone", func() bool { return syscall.Kill(pid, 0) != nil })
			files, err := filepath.Glob(g.state("journal/*.log"))
			g.bear(err)
			for _, file := range files {
				f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
				g.bear(err)
				_, err = f.WriteString(d.text)
				g.bear(errors.Join(err, f.Close()))
			}
			g.back()
		})
	}
}

// A daemon may be killed while it takes in what another has left, as often as it
// likes, and may find the same again.
func TestADaemonKilledWhileItReadsHistory(t *testing.T) {
	const runs = 1000
	g := newStage(t, setting{}).open()
	g.times("a daemon killed while it takes in a journal", func(n int) {
		g.exec("before", "work")
		g.stop()
		life := fmt.Sprintf("dead%d", n)
		journal := lines(life, runs)
		write := func() {
			g.bear(os.MkdirAll(g.state("journal"), 0o700))
			g.bear(os.WriteFile(g.state("journal/"+life+".log"), journal, 0o600))
		}
		write()
		for kill := range 4 {
			c := g.begin("runs", "list", "--json")
			at := int64((kill+n)%8) * 50_000 // bytes that it has written of what it reads
			g.until("it reads", func() bool {
				info, err := os.Stat(g.state("history.db-wal"))
				_, left := os.Stat(g.state("journal/" + life + ".log"))
				return err == nil && info.Size() > at || errors.Is(left, fs.ErrNotExist)
			})
			if pid, err := g.s.DaemonPID(); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				g.until("the daemon is gone", func() bool { return syscall.Kill(pid, 0) != nil })
			}
			c.wait()
		}
		write() // as if it had been killed before it removed the file
		g.back()
		g.until("it is taken in", func() bool { return g.get("/v1/runs?limit=1", new([]proto.Run)) == nil })
		if all, calls := g.number(`SELECT count(*) FROM runs WHERE life = ?`, life), g.number(`SELECT count(*) FROM calls WHERE life = ? AND status = 'ok'`, life); all != runs || calls != runs {
			g.Errorf("of %d runs %d are in history, with %d calls", runs, all, calls)
		}
	})
}

// lines is the journal of a daemon whose runs have all ended.
func lines(life string, runs int) []byte {
	var b bytes.Buffer
	now := time.Now().UnixMilli()
	for i := range runs {
		run := fmt.Sprintf("run_%s_%d", life, i)
		fmt.Fprintf(&b, `{"id":%d,"type":"run","run":%q,"session":"S","surface":"cli","engine":"embedded","cwd":"/","at":%d}`+"\n", 3*i+1, run, now)
		fmt.Fprintf(&b, `{"id":%d,"type":"call","at":%d,"call":1,"run":%q,"session":"S","server":"work","tool":"echo"}`+"\n", 3*i+2, now, run)
		fmt.Fprintf(&b, `{"id":%d,"type":"done","at":%d,"status":"ok"}`+"\n", 3*i+2, now)
		fmt.Fprintf(&b, `{"id":%d,"type":"end","at":%d,"calls":1,"run":%q,"status":"ok","kind":""}`+"\n", 3*i+3, now, run)
	}
	return b.Bytes()
}

// The last configuration that could be read holds, whatever takes its place.
func TestADamagedConfiguration(t *testing.T) {
	g := newStage(t, setting{}).open()
	file := filepath.Join(g.s.Work, "config", "tenon", "config.jsonc")
	good, err := os.ReadFile(file)
	g.bear(err)
	for name, harm := range map[string]func() error{
		"bytes that are no text": func() error { return os.WriteFile(file, bytes.Repeat([]byte{0, 0xff, '{'}, 1000), 0o600) },
		"half of itself":         func() error { return os.WriteFile(file, good[:len(good)/2], 0o600) },
		"100 MB": func() error {
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 100<<20))
		},
		"a pipe":   func() error { return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)) },
		"a folder": func() error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		"a link to nothing that ends": func() error {
			return errors.Join(os.Remove(file), os.Symlink("config.jsonc", file))
		},
	} {
		g.times("a configuration that is "+name, func(int) {
			g.bear(harm())
			g.bystander()
			g.exec("meanwhile", "work")
			c := g.begin("daemon", "status", "--json")
			if c.wait(); c.code() != 0 || !strings.Contains(c.out.String(), "config.jsonc") {
				g.Errorf("%s: status ends with %d and names no problem: %s %s", name, c.code(), c.out.String(), c.err.String())
			}
			g.bear(os.RemoveAll(file))
			g.bear(os.WriteFile(file, good, 0o600))
		})
	}
}

// Scripts are looked for at every turn: what is no script, or too much of one, must
// not be waited for.
func TestOddScripts(t *testing.T) {
	g := newStage(t, setting{}).open()
	dir := filepath.Join(g.s.Work, ".tenon", "scripts")
	g.times("scripts that are pipes, sparse or many", func(int) {
		g.bear(os.MkdirAll(dir, 0o700))
		g.bear(syscall.Mkfifo(filepath.Join(dir, "pipe.ts"), 0o600))
		g.bear(os.WriteFile(filepath.Join(dir, "huge.ts"), nil, 0o600))
		g.bear(os.Truncate(filepath.Join(dir, "huge.ts"), 100<<20))
		many := 2000
		if g.long() {
			many = 100_000
		}
		for i := range many {
			g.bear(os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%d.ts", i)), []byte("return 1"), 0o600))
		}
		c := g.begin("scripts", "--json")
		if c.wait(); c.code() != 0 {
			g.Errorf("scripts ends with %d: %s", c.code(), c.err.String())
		}
		for _, name := range []string{"pipe", "huge"} {
			c := g.begin("run", name)
			if c.wait(); c.code() == 0 {
				g.Errorf("%s was run: %s", name, c.out.String())
			}
		}
		g.bystander()
		g.bear(os.RemoveAll(dir))
	})
}

// Rows of a clock that was wrong are shown, and none of the others goes with them.
func TestRowsOfAnotherTime(t *testing.T) {
	g := newStage(t, setting{}).open()
	g.times("rows of the year 2100, and calls of 1971", func(n int) {
		g.exec("before", "work")
		g.stop()
		g.change(`INSERT INTO runs (id, life, session, started, status) VALUES (?, 'x', 'S', 4102444800000, 'ok')`, fmt.Sprintf("run_future_%d", n))
		g.change(`INSERT INTO calls (life, intent, run, n, session, server, tool, started, status) VALUES ('x', 1, ?, 1, 'S', 'work', 'echo', 31536000000, 'ok')`, fmt.Sprintf("run_future_%d", n))
		g.back()
		var rows []proto.Run
		g.bear(g.get("/v1/runs?limit=1000", &rows))
		if len(rows) == 0 || !strings.HasPrefix(rows[0].ID, "run_future") {
			g.Errorf("the newest is not shown first: %+v", rows)
		}
		g.bear(g.get("/v1/runs/stats?by=server", new(any)))
	})
}
