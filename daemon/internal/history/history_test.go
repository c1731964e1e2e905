package history

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

func open1(t testing.TB, dir string) *Store {
	t.Helper()
	s := New(Options{Dir: dir})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func result(t testing.TB, r proto.RunResult) []byte {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func start(s *Store, id string) {
	s.RunStarted(Run{ID: id, Session: "S", Root: "R", Surface: "cli", Engine: "embedded", Cwd: "/project", Code: "return 1", Options: proto.RunOptions{Typecheck: "warn"}, Started: time.Now()})
}

func TestNothingIsTouchedBeforeTheFirstRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := New(Options{Dir: dir})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("stat: %v", err)
	}
}

func TestRunsAndCallsComeBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open1(t, dir)
	start(s, "run_1")
	i := Intent{Run: "run_1", Session: "S", Server: "fake", Tool: "echo", Instance: "i1", Call: 1, Started: time.Now()}
	s.Finish(s.Begin(i), i, Outcome{Status: "ok", MS: 1.5, Input: []byte(`{"text":"x"}`)})
	s.RunEnded(RunEnd{ID: "run_1", Status: "failed", Kind: "ToolFailure", Ended: time.Now(), Calls: 1, Result: result(t, proto.RunResult{ID: "run_1", Value: json.RawMessage("5")})})
	start(s, "run_2")
	rows, err := s.List(bg, Filter{})
	if err != nil || len(rows) != 2 || rows[0].ID != "run_2" || rows[0].Status != "running" || rows[1].Kind != "ToolFailure" || rows[1].Ended == "" || rows[1].Calls != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	for filter, want := range map[Filter]int{{Session: "S"}: 2, {Session: "R"}: 2, {Session: "X"}: 0, {Status: "failed"}: 1, {Limit: 1}: 1} {
		if rows, err := s.List(bg, filter); err != nil || len(rows) != want {
			t.Errorf("%+v: %d rows, %v", filter, len(rows), err)
		}
	}
	one, err := s.Show(bg, "run_1")
	if err != nil || string(one.Result.Value) != "5" || one.Code != "return 1" || one.Options == nil || one.Options.Typecheck != "warn" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := s.Show(bg, "run_9"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	s.Audit("test", "approve", "fake_echo")
	s.Audit("test", "preset", "request → yolo")
	if events, err := s.Events(bg, "approve", 5); err != nil || len(events) != 1 || events[0].Action != "approve" {
		t.Errorf("%+v, %v", events, err)
	}
	if events, err := s.Events(bg, "", 5); err != nil || len(events) != 2 || events[0].Action != "preset" {
		t.Errorf("%+v, %v", events, err)
	}
	for _, name := range []string{"history.db", "history.db-wal"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// What a daemon killed with signal 9 leaves: a journal that nobody closed.
func TestAKilledDaemonsCallsAreOfUnknownFate(t *testing.T) {
	dir := t.TempDir()
	dead := New(Options{Dir: dir})
	start(dead, "run_1")
	a := Intent{Run: "run_1", Session: "S", Server: "fake", Tool: "paid", Call: 1, Started: time.Now()}
	b := Intent{Run: "run_1", Session: "S", Server: "fake", Tool: "echo \"ü\"", Call: 2, Started: time.Now()}
	dead.Finish(dead.Begin(a), a, Outcome{Status: "ok"})
	dead.Begin(b)
	if err := dead.Flush(bg); err != nil {
		t.Fatal(err)
	}
	// And one whose records never reached the database.
	journal := filepath.Join(dir, "journal")
	text := `{"id":1,"type":"run","run":"run_2","session":"S","at":NOW}
{"id":2,"type":"call","at":NOW,"call":1,"run":"run_2","session":"S","server":"fake","tool":"x"}
{"id":3,"type":"call","at":NOW,"call":2,"run":"run_2","session":"S","server":"fake","tool":"y"}
{"id":2,"type":"done","at":NOW,"status":"error"}
{"id":4,"type":"ca`
	text = strings.ReplaceAll(text, "NOW", fmt.Sprint(time.Now().UnixMilli()))
	for name, text := range map[string]string{"0123.log": text, "empty.log": ""} {
		if err := os.WriteFile(filepath.Join(journal, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next := open1(t, dir)
	for id, want := range map[string]string{"run_1": "ok unknown", "run_2": "error unknown"} {
		r, err := next.Show(bg, id)
		if err != nil || r.Status != "lost" || r.Calls != 2 || r.Result == nil || r.Result.Error.Kind != "DaemonUnavailable" {
			t.Fatalf("%s: %+v, %v", id, r, err)
		}
		var got []string
		for _, c := range r.Result.Calls {
			got = append(got, c.Status)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: calls %v, want %s", id, got, want)
		}
	}
	left, err := os.ReadDir(journal)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if f.Name() != next.journal.name {
			t.Errorf("%s was not taken in", f.Name())
		}
	}
	if err := dead.Close(); err != nil {
		t.Error(err)
	}
}

// Between the end of a run and its row in the database lies a moment in which
// its result has been delivered already.
func TestARunThatEndedBeforeItsDaemonWasKilledIsNotLost(t *testing.T) {
	dir := t.TempDir()
	dead := New(Options{Dir: dir})
	for _, id := range []string{"run_1", "run_2"} {
		start(dead, id)
	}
	i := Intent{Run: "run_1", Session: "S", Server: "fake", Tool: "echo", Call: 1, Started: time.Now()}
	dead.Finish(dead.Begin(i), i, Outcome{Status: "ok"})
	if err := dead.Flush(bg); err != nil {
		t.Fatal(err)
	}
	dead.closing.Store(true) // from here on nothing reaches the database
	dead.RunEnded(RunEnd{ID: "run_1", Status: "ok", Ended: time.Now(), Calls: 1, Result: []byte(`{}`)})
	dead.RunEnded(RunEnd{ID: "run_2", Status: "failed", Kind: "ScriptError", Ended: time.Now()})
	next := open1(t, dir)
	ok, err := next.Show(bg, "run_1")
	if err != nil || ok.Status != "ok" || ok.Calls != 1 || ok.Ended == "" || !ok.Result.OK || len(ok.Result.Calls) != 1 {
		t.Errorf("%+v, %v", ok, err)
	}
	if len(ok.Result.Warnings) != 1 || ok.Result.Warnings[0].Kind != "ResultNotKept" {
		t.Errorf("it must say that its result is gone: %+v", ok.Result.Warnings)
	}
	failed, err := next.Show(bg, "run_2")
	if err != nil || failed.Status != "failed" || failed.Kind != "ScriptError" || failed.Result.OK || failed.Result.Error.Kind != "ScriptError" {
		t.Errorf("%+v, %v", failed, err)
	}
	dead.closing.Store(false)
	if err := dead.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheIntentIsOnDiskBeforeTheCall(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	s.Begin(Intent{Run: "run_1", Session: "S", Server: "fake", Tool: "pay", Call: 7, Started: time.UnixMilli(1700000000000)})
	text, err := os.ReadFile(filepath.Join(dir, "journal", s.journal.name))
	if err != nil {
		t.Fatal(err)
	}
	var e entry
	if err := json.Unmarshal(text, &e); err != nil || e.Type != "call" || e.Tool != "pay" || e.Call != 7 || e.At != 1700000000000 {
		t.Errorf("%s: %+v, %v", text, e, err)
	}
}

func TestTheJournalDoesNotGrow(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	stuck := Intent{Run: "run_0", Server: "fake", Tool: "slow"}
	slow := s.Begin(stuck)
	i := Intent{Run: "run_1", Server: "fake", Tool: "echo", Session: strings.Repeat("s", 20_000)}
	for range 400 {
		s.Finish(s.Begin(i), i, Outcome{Status: "ok"})
	}
	if err := s.Flush(bg); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "journal", s.journal.name))
	if err != nil || info.Size() > compactSize {
		t.Errorf("%v, %v: the long call's line is all that must stay", info.Size(), err)
	}
	s.Finish(slow, stuck, Outcome{Status: "ok"})
	if err := s.Flush(bg); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(filepath.Join(dir, "journal", s.journal.name)); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v: want it empty", info.Size(), err)
	}
	if n := s.Dropped(); n != 0 {
		t.Errorf("%d records dropped", n)
	}
}

func TestAHistoryThatCannotBeWrittenFailsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in-the-way")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Dir: filepath.Join(file, "state")})
	start(s, "run_1")
	i := Intent{Run: "run_1"}
	s.Finish(s.Begin(i), i, Outcome{Status: "ok"})
	if _, err := s.Put("run_1", "x", "image/png", []byte("x")); err == nil {
		t.Error("an artifact that is not kept must say so")
	}
	if _, err := s.List(bg, Filter{}); fault.KindOf(err) != fault.InternalError {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.Dropped() != 3 {
		t.Errorf("%d records counted as lost, want 3", s.Dropped())
	}
}

func TestALockedDatabaseIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	start(s, "run_1")
	if err := s.Flush(bg); err != nil {
		t.Fatal(err)
	}
	other, err := open(bg, dir, filepath.Join(dir, "history.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(`DELETE FROM audit`); err != nil {
		t.Fatal(err)
	}
	start(s, "run_2")
	if err := s.Flush(bg); err == nil {
		t.Error("the database is locked")
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if rows, err := s.List(bg, Filter{}); err != nil || len(rows) != 2 || s.Dropped() != 0 {
		t.Errorf("%+v, %v, dropped %d", rows, err, s.Dropped())
	}
}

func TestArtifactsAreIdenticalAndPrivate(t *testing.T) {
	dir := t.TempDir()
	s := open1(t, dir)
	data := bytes.Repeat([]byte{0, 1, 2, 0xff}, 1<<18)
	a, err := s.Put("run_1", "shot.png", "image/png", data)
	if err != nil {
		t.Fatal(err)
	}
	got, back, err := s.Open(bg, a.ID)
	if err != nil || !bytes.Equal(back, data) || got != a {
		t.Errorf("%+v, %d bytes, %v", got, len(back), err)
	}
	info, err := os.Stat(s.artifactPath(a.ID))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, _, err := s.Open(bg, "run_1"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a run's id finds its whole output only: %v", err)
	}
	if _, err := s.PutOutput("run_1", []byte("all of it")); err != nil {
		t.Fatal(err)
	}
	if _, back, err = s.Open(bg, "run_1"); err != nil || string(back) != "all of it" {
		t.Errorf("%q, %v", back, err)
	}
	for _, id := range []string{"../history.db", "/etc/passwd", ""} {
		if _, _, err := s.Open(bg, id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestRetentionRemovesRowsAndBytes(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	s := New(Options{Dir: dir, Now: func() time.Time { return now.Add(-40 * 24 * time.Hour) }})
	s.RunStarted(Run{ID: "run_old", Session: "S", Started: now.Add(-40 * 24 * time.Hour)})
	s.RunEnded(RunEnd{ID: "run_old", Status: "ok", Ended: now.Add(-40 * 24 * time.Hour)})
	a, err := s.Put("run_old", "x", "image/png", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	next := open1(t, dir)
	start(next, "run_new")
	if rows, err := next.List(bg, Filter{}); err != nil || len(rows) != 1 || rows[0].ID != "run_new" {
		t.Errorf("%+v, %v", rows, err)
	}
	if _, err := os.Stat(next.artifactPath(a.ID)); !os.IsNotExist(err) {
		t.Errorf("bytes: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := open1(t, t.TempDir())
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range 50 {
				id := fmt.Sprintf("run_%d_%d", g, n)
				start(s, id)
				i := Intent{Run: id, Server: "fake", Tool: "echo"}
				s.Redactor().Add(fmt.Sprintf("secret-%d-%d", g, n%3))
				s.Finish(s.Begin(i), i, Outcome{Status: "ok", Input: []byte(`{}`)})
				s.RunEnded(RunEnd{ID: id, Status: "ok", Ended: time.Now(), Result: []byte(`{}`)})
			}
		}()
	}
	wg.Wait()
	rows, err := s.List(bg, Filter{Limit: 1000, Status: "ok"})
	if err != nil || len(rows) != 400 || s.Dropped() != 0 {
		t.Errorf("%d rows, %v, dropped %d", len(rows), err, s.Dropped())
	}
}

func BenchmarkIntentAndOutcome(b *testing.B) {
	s := open1(b, b.TempDir())
	i := Intent{Run: "run_1", Session: "S", Server: "fake", Tool: "echo", Call: 1, Started: time.Now()}
	o := Outcome{Status: "ok", Input: []byte(`{"text":"hello"}`)}
	b.ReportAllocs()
	for b.Loop() {
		s.Finish(s.Begin(i), i, o)
	}
}
