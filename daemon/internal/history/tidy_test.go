package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

// waitFor polls a condition that the writer brings about.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestTheOldestArtifactsMakeRoomForTheNewest(t *testing.T) {
	dir := t.TempDir()
	began := time.Now()
	var seconds atomic.Int64 // each look at the clock is later than the one before
	s := New(Options{Dir: dir, ArtifactBytes: 1000, Now: func() time.Time { return began.Add(time.Duration(seconds.Add(1)) * time.Second) }})
	defer s.Close()
	var ids []string
	for n := range 12 {
		a, err := s.Put("run_1", fmt.Sprint(n), "image/png", make([]byte, 100))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID)
		if err := s.Flush(bg); err != nil { // one clock, and one order, for all of them
			t.Fatal(err)
		}
	}
	there := func(id string) bool { _, err := os.Stat(s.artifactPath(id)); return err == nil }
	waitFor(t, "the oldest are gone", func() bool { return !there(ids[0]) && !there(ids[1]) })
	if !there(ids[11]) || !there(ids[5]) {
		t.Error("newer ones are gone as well")
	}
	waitFor(t, "no row without its bytes", func() bool {
		_, _, err := s.Open(bg, ids[0])
		return fault.KindOf(err) == fault.NotFound
	})
	if _, data, err := s.Open(bg, ids[11]); err != nil || len(data) != 100 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestBytesThatAKilledDaemonLeftAreRemoved(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "artifacts")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	old, young, foreign := filepath.Join(folder, "art_1"), filepath.Join(folder, "art_2"), filepath.Join(folder, "README")
	for _, path := range []string{old, young, foreign} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * strayAge)
	for _, path := range []string{old, foreign} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	s := open1(t, dir)
	if _, err := s.List(bg, Filter{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{old: false, young: true, foreign: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
}

// A changed history.retention holds at once.
func TestAShorterRetentionHoldsAtOnce(t *testing.T) {
	s := open1(t, t.TempDir())
	long := time.Now().Add(-48 * time.Hour)
	s.RunStarted(Run{ID: "run_1", Session: "S", Started: long})
	s.RunEnded(RunEnd{ID: "run_1", Status: "ok", Ended: long})
	if rows, err := s.List(bg, Filter{}); err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	s.SetRetention(24 * time.Hour)
	waitFor(t, "the run is forgotten", func() bool {
		rows, err := s.List(bg, Filter{})
		return err == nil && len(rows) == 0
	})
}

// Changed bounds hold at once.
func TestSmallerBoundsHoldAtOnce(t *testing.T) {
	s := open1(t, t.TempDir())
	for n := range 20 {
		if _, err := s.Put("run_1", fmt.Sprint(n), "image/png", make([]byte, 10_000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(bg); err != nil || s.Sizes().Artifacts != 200_000 {
		t.Fatalf("%+v, %v", s.Sizes(), err)
	}
	s.SetBounds(DefaultDatabaseBytes, 50_000)
	waitFor(t, "the oldest are gone", func() bool { return s.Sizes().Artifacts <= 50_000 })
}

func TestTheOldestRunsGoWhenTheDatabaseIsTooLarge(t *testing.T) {
	dir := t.TempDir()
	s := New(Options{Dir: dir})
	began := time.Now().Add(-time.Hour)
	for n := range 200 {
		id := fmt.Sprintf("run_%03d", n)
		s.RunStarted(Run{ID: id, Session: "S", Started: began.Add(time.Duration(n) * time.Second)})
		i := Intent{Run: id, Session: "S", Server: "fake", Tool: "echo", Started: began}
		s.Finish(s.Begin(i), i, Outcome{Status: "ok"})
		s.RunEnded(RunEnd{ID: id, Status: "ok", Ended: time.Now(), Result: []byte(`{"stdout":"` + strings.Repeat("x", 10_000) + `"}`)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const limit = 600_000
	s = New(Options{Dir: dir, DatabaseBytes: limit})
	defer s.Close()
	rows, err := s.List(bg, Filter{Limit: 1000})
	if err != nil || len(rows) == 0 || len(rows) > 100 || rows[0].ID != "run_199" {
		t.Fatalf("%d runs are left, %v", len(rows), err)
	}
	calls, err := column[int](bg, s.db, `SELECT count(*) FROM calls`)
	if err != nil || calls[0] != len(rows) {
		t.Errorf("%d calls of %d runs, %v", calls, len(rows), err)
	}
	pages, err := column[int64](bg, s.db, `SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)`)
	if err != nil || pages[0] > limit+100_000 {
		t.Errorf("the file keeps %d bytes, %v", pages, err)
	}
}
