package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// paths are those of the place's daemon.
func (p *place) paths() local.Paths {
	p.t.Helper()
	paths, err := (&app{env: environment(p.environ)}).paths()
	if err != nil {
		p.t.Fatal(err)
	}
	return paths
}

func environment(list []string) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		k, v, _ := strings.Cut(kv, "=")
		out[k] = v
	}
	return out
}

// kill kills the daemon, and waits until it is gone.
func (p *place) kill() {
	p.t.Helper()
	info, ok := p.paths().Info()
	if !ok {
		p.t.Fatal("no daemon runs")
	}
	if err := syscall.Kill(info.PID, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	p.until("the daemon is gone", func() bool { return syscall.Kill(info.PID, 0) != nil })
}

// until waits for a condition.
func (p *place) until(what string, holds func() bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			p.t.Fatalf("never: %s", what)
		}
	}
}

// quiet fails the test where doctor speaks of a topic and not to say that all is well.
func (p *place) quiet(when, topic string) {
	p.t.Helper()
	findings, _ := p.diagnosis()
	for _, f := range findings {
		if f.Topic == topic && f.Level != "ok" {
			p.t.Errorf("%s: %+v", when, f)
		}
	}
}

// The daemon is killed in the middle of a run; the next one knows of it.
func TestDoctorNamesTheRunsThatAKilledDaemonLost(t *testing.T) {
	p := newPlace(t, nil)
	if got := p.run("exec", "-e", "return await tools.fake.echo({text: 'ended'})"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	p.quiet("before", "history")
	cmd := p.command("exec", "-e", "return await tools.fake.sleep({ms: 600000})")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.until("the call is in the journal", func() bool {
		files, _ := filepath.Glob(filepath.Join(p.home, "state", "journal", "*.log"))
		for _, f := range files {
			if raw, err := os.ReadFile(f); err == nil && strings.Contains(string(raw), `"tool":"sleep"`) {
				return true
			}
		}
		return false
	})
	p.kill()
	_ = cmd.Wait() // it is told that the daemon has gone
	if got, _ := p.diagnosis(); !says(got, "note", "history", "1 run ", "lost", "tenon runs list --status lost") {
		t.Errorf("%+v", got)
	}
	if got := p.run("runs", "list", "--status", "lost"); got.code != 0 || strings.Count(got.out, "lost") != 1 {
		t.Errorf("the next step shows something else: %+v", got)
	}
}

// What the clock showed while it was wrong stands in history when it is right again.
func TestDoctorNamesAClockThatWasPutBack(t *testing.T) {
	p := newPlace(t, nil)
	ahead := time.Now().Add(90 * 24 * time.Hour)
	s := history.New(history.Options{Dir: filepath.Join(p.home, "state"), Now: func() time.Time { return ahead }})
	s.RunStarted(history.Run{ID: "run_ahead", Session: "S", Surface: "cli", Started: ahead})
	s.RunEnded(history.RunEnd{ID: "run_ahead", Status: "ok", Ended: ahead})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := p.diagnosis(); !says(got, "problem", "clock", ahead.Local().Format(time.DateTime), "put back", "NTP") {
		t.Errorf("%+v", got)
	}
	p.run("daemon", "stop", "--force")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(filepath.Join(p.home, "state", "history.db"+suffix))
	}
	if got := p.run("exec", "-e", "return 1"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	p.quiet("without that run", "clock")
}

// A history is opened when somebody asks for it: that it was damaged has to be
// said by the very doctor that made the daemon look.
func TestDoctorNamesADamagedHistoryAtTheFirstLook(t *testing.T) {
	p := newPlace(t, nil)
	file := p.write("state/history.db", strings.Repeat("this is no database\n", 1000))
	if err := os.Chmod(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	aside := file + ".old-damaged"
	if got, _ := p.diagnosis(); !says(got, "note", "history", aside, "damaged", "remove it when nobody needs it") {
		t.Errorf("%+v", got)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(aside + suffix)
	}
	p.quiet("after it was removed", "history")
}

func TestDoctorNamesADamagedJournal(t *testing.T) {
	p := newPlace(t, nil)
	p.write("state/journal/dead.log", "\x00\xff rubbish\nmore of it\n")
	if got, _ := p.diagnosis(); !says(got, "note", "history", "2 lines of the journal", "may not be in history") {
		t.Errorf("%+v", got)
	}
	if got := p.run("daemon", "stop"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	p.quiet("with the next daemon", "history")
}

// A pipe, and where rights count a file without any, in a journal's place.
func TestDoctorNamesAJournalThatCannotBeRead(t *testing.T) {
	x := newExamined(t)
	pipe, locked := filepath.Join(x.state(), "journal", "pipe.log"), filepath.Join(x.state(), "journal", "locked.log")
	x.put(locked, "")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	got := x.findings()
	if !says(got, "note", "files", pipe, "no regular file", "is not in history", "move it away") {
		t.Errorf("%+v", got)
	}
	if os.Getuid() != 0 && !says(got, "note", "files", locked, "cannot be read", "chmod 600") { // root may read anything
		t.Errorf("%+v", got)
	}
	for _, f := range []string{pipe, locked} {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	if got := x.findings(); says(got, "note", "files") {
		t.Errorf("nothing is there: %+v", got)
	}
}

// The leap itself is told by package history, with a clock of its own.
func TestDoctorNamesWhatTheDaemonSaysOfItsClock(t *testing.T) {
	d := &doctor{app: &app{}}
	d.config(proto.Status{Config: []string{"config.jsonc"}, Problems: []proto.Problem{
		fault.New(fault.InternalError, "history: the clock has moved from A to B: nothing is removed").WithHint("set it right (NTP)").Problem(),
	}})
	if !says(d.list, "problem", "history", "the clock has moved", "NTP") || !says(d.list, "ok", "config") {
		t.Errorf("%+v", d.list)
	}
}
