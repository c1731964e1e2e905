package history

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// killed is what a daemon killed now would leave to the next: a copy of its files.
func killed(t *testing.T, dir string) string {
	t.Helper()
	left := t.TempDir()
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return left
}

// Whoever is told that a run has ended may kill the daemon in the next moment:
// how its calls ended was said before, though nothing was in the database yet.
func TestTheCallsOfARunThatHasEndedAreKnownToTheNextDaemon(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	start(s, "run_1")
	for n, status := range []string{"ok", "error"} {
		i := Intent{Run: "run_1", Server: "fake", Tool: "echo", Call: int64(n + 1), Started: time.Now()}
		s.Finish(s.Begin(i), i, Outcome{Status: status})
	}
	s.RunEnded(RunEnd{ID: "run_1", Status: "ok", Ended: time.Now(), Calls: 2})
	left := killed(t, filepath.Join(dir, "journal"))
	after := t.TempDir()
	if err := os.Rename(left, filepath.Join(after, "journal")); err != nil {
		t.Fatal(err)
	}
	next := open1(t, after)
	r, err := next.Show(bg, "run_1")
	if err != nil || r.Status != "ok" || r.Calls != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if calls, err := next.calls(bg, next.db, "run_1"); err != nil || len(calls) != 2 || calls[0].Status != "ok" || calls[1].Status != "error" {
		t.Errorf("%+v, %v", calls, err)
	}
}

// A line that a full disk has cut short spoils no other.
func TestHalfALineSpoilsNoOther(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	start(s, "run_1")
	path := filepath.Join(dir, "journal", s.journal.name)
	s.journal.mu.Lock()
	if _, err := s.journal.f.WriteString(`{"id":9,"type":"ca`); err != nil {
		t.Fatal(err)
	}
	s.journal.torn = true
	s.journal.mu.Unlock()
	start(s, "run_2")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 3 || !strings.Contains(lines[2], "run_2") {
		t.Errorf("%q", lines)
	}
}

// Where the journal cannot be made, it is made up for as soon as it can.
func TestAJournalMakesUpForWhatItCouldNotKeep(t *testing.T) {
	dir := t.TempDir()
	way := filepath.Join(dir, "journal")
	if err := os.WriteFile(way, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open1(t, dir)
	s.Begin(Intent{Run: "run_1", Server: "fake", Tool: "pay", Call: 1, Started: time.Now()})
	if why := s.Trouble(); !strings.Contains(why, "journal") {
		t.Errorf("trouble: %q", why)
	}
	if err := os.Remove(way); err != nil {
		t.Fatal(err)
	}
	for round, harm := range []func() error{
		func() error { return nil },
		func() error { return os.RemoveAll(way) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		start(s, "run_1") // any other record: the database is written
		if err := s.Flush(bg); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(way, s.journal.name)); err != nil || !strings.Contains(string(text), `"tool":"pay"`) {
			t.Errorf("round %d: %q, %v", round, text, err)
		}
		if why := s.Trouble(); round > 0 && why != "" {
			t.Errorf("trouble: %q", why)
		}
	}
}

func TestWhatIsNoFileIsPutOutOfTheWay(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.MkdirAll(filepath.Join(path, "sub"), 0o700) },
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := make(filepath.Join(dir, "history.db")); err != nil {
				t.Fatal(err)
			}
			s, log := logged(t, dir)
			keeps(t, s, log, "run_1")
			if _, err := os.Lstat(filepath.Join(dir, "history.db.old-not-a-file")); err != nil {
				t.Error(err)
			}
		})
	}
}

// SQLite would go on writing to a file without a name, for nobody.
func TestAHistoryThatWasRemovedBeginsAnewWithWhatEndsAfterThat(t *testing.T) {
	dir := t.TempDir()
	s, log := logged(t, dir)
	start(s, "run_1")
	if err := s.Flush(bg); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(dir, "history.db"+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	begun := Run{ID: "run_1", Session: "S", Code: "return 1", Started: time.Now()}
	s.RunEnded(RunEnd{ID: "run_1", Status: "ok", Ended: time.Now(), Run: &begun})
	if rows, err := s.List(bg, Filter{}); err != nil || len(rows) != 1 || rows[0].Status != "ok" || rows[0].Code != "return 1" {
		t.Errorf("%+v, %v", rows, err)
	}
	if n := strings.Count(log.String(), "history starts anew"); n != 1 {
		t.Errorf("%d warnings: %s", n, log)
	}
}

// A pipe has no end to read to.
func TestAPipeAmongTheJournalsIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "journal", "folder.log", "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "journal", "pipe.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open1(t, dir)
	start(s, "run_1")
	if rows, err := s.List(bg, Filter{}); err != nil || len(rows) != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A clock that is set far ahead for a moment, as a machine without a battery does
// until it has asked for the time, makes nothing too old.
func TestAClockThatLeapsRemovesNothing(t *testing.T) {
	var ahead atomic.Int64
	s := New(Options{Dir: t.TempDir(), Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	t.Cleanup(func() { _ = s.Close() })
	start(s, "run_1")
	s.RunEnded(RunEnd{ID: "run_1", Status: "ok", Ended: time.Now()})
	count := func() int {
		rows, err := s.List(bg, Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	if count() != 1 {
		t.Fatal("the run is not there")
	}
	ahead.Store(int64(10 * 365 * 24 * time.Hour))
	for range 3 {
		s.clean()
	}
	if count() != 1 {
		t.Error("a moment's clock has removed the run")
	}
	if got := s.Notes(); len(got) != 1 || !strings.Contains(got[0].Text, "the clock has moved") || !strings.Contains(got[0].Hint, "NTP") {
		t.Errorf("nobody is told: %+v", got)
	}
	ahead.Store(0)
	if got := s.Notes(); len(got) != 0 {
		t.Errorf("told of a clock that is right: %+v", got)
	}
	s.clean()
	ahead.Store(int64(10 * 365 * 24 * time.Hour))
	s.clean()
	s.openOnce.Lock()
	s.settled = time.Time{} // a quarter of an hour later
	s.openOnce.Unlock()
	s.clean()
	if count() != 0 {
		t.Error("the run is kept for ever")
	}
}

func TestAClockThatIsPutBackSilencesNoComplaint(t *testing.T) {
	var log strings.Builder
	now := time.Now()
	s := New(Options{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now }})
	s.complain("database", errors.New("first"))
	s.complain("database", errors.New("too soon"))
	now = now.Add(-365 * 24 * time.Hour)
	s.complain("database", errors.New("second"))
	if text := log.String(); !strings.Contains(text, "first") || strings.Contains(text, "too soon") || !strings.Contains(text, "second") {
		t.Error(text)
	}
}

// Half a line is what any death leaves; rubbish is told of.
func TestADamagedJournalIsToldOf(t *testing.T) {
	for text, want := range map[string]string{
		"": "", `{"id":7,"type":"ca`: "", `{"i` + "\n": "", "\n\n": "",
		"\x00\xff{]\nxxx\n{}\n": "3 lines", `{"id":1,"ty` + "\x00" + `"}` + "\n": "1 lines",
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "journal"), 0o700); err != nil {
			t.Fatal(err)
		}
		record := `{"id":1,"type":"run","run":"run_1","at":1}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, "journal", "dead.log"), []byte(record+text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open1(t, dir)
		if _, err := s.List(bg, Filter{}); err != nil {
			t.Fatal(err)
		}
		got := s.Notes()
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, want)) {
			t.Errorf("after %q: %+v", text, got)
		}
	}
}

// A kill right after that line must find all of them.
func TestTheFirstLineThatTheJournalTakesAgainBringsWhatIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // in the folder's place: nothing can be written
		t.Fatal(err)
	}
	j := &journal{dir: dir, name: "a.log", open: map[uint64][]byte{}}
	line := func(text string) func([]byte, uint64) []byte {
		return func(b []byte, _ uint64) []byte { return append(b, text+"\n"...) }
	}
	if _, err := j.append(line("missing")); err == nil {
		t.Fatal("it was written")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := j.append(line("first")); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(j.path())
	if err != nil || !strings.Contains(string(raw), "missing\n") || !strings.Contains(string(raw), "first\n") {
		t.Errorf("%q, %v", raw, err)
	}
	j.settle(1, 2)
	j.close()
}
