package history

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logged is a store that logs into the buffer.
func logged(t *testing.T, dir string) (*Store, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	s := New(Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, &log
}

// keeps checks that a store records and shows runs, and has warned once.
func keeps(t *testing.T, s *Store, log *bytes.Buffer, id string) {
	t.Helper()
	start(s, id)
	if rows, err := s.List(bg, Filter{}); err != nil || len(rows) != 1 || rows[0].ID != id || s.Dropped() != 0 {
		t.Errorf("%+v, %v, dropped %d", rows, err, s.Dropped())
	}
	if n := strings.Count(log.String(), "history starts anew"); n != 1 {
		t.Errorf("%d warnings: %s", n, log)
	}
}

func TestAFileOfAnotherFormatIsPutAside(t *testing.T) {
	for name, c := range map[string]struct{ change, aside string }{
		"older":    {`DROP TABLE audit; PRAGMA user_version = 1`, "history.db.old-1"},
		"newer":    {`CREATE TABLE later (x); PRAGMA user_version = 99`, "history.db.old-99"},
		"not ours": {`PRAGMA user_version = 0`, "history.db.old-0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, err := open(bg, dir, filepath.Join(dir, "history.db"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(`INSERT INTO runs (id, life, session, started, status) VALUES ('old', 'l', 's', 1, 'ok'); ` + c.change); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			s, log := logged(t, dir)
			keeps(t, s, log, "new")
			if raw, err := os.ReadFile(filepath.Join(dir, c.aside)); err != nil || !bytes.Contains(raw, []byte("old")) {
				t.Errorf("%s: %d bytes, %v", c.aside, len(raw), err)
			}
		})
	}
}

func TestADamagedFileIsPutAsideAndNoneIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	for i, want := range []string{"history.db.old-damaged", "history.db.old-damaged.2"} {
		text := fmt.Sprintf("no database %d", i)
		for _, old := range []string{"-wal", "-shm"} {
			if err := os.RemoveAll(path + old); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte(text), 500), 0o600); err != nil {
			t.Fatal(err)
		}
		s, log := logged(t, dir)
		keeps(t, s, log, fmt.Sprintf("run_%d", i))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if raw, err := os.ReadFile(filepath.Join(dir, want)); err != nil || !strings.HasPrefix(string(raw), text) {
			t.Errorf("%s: %.20q, %v", want, raw, err)
		}
	}
}

// The damage of a page shows only when it is used.
func TestDamageThatShowsLateIsPutAsideToo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	db, err := open(bg, dir, path)
	if err != nil {
		t.Fatal(err)
	}
	var page int64
	if err := db.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = 'calls'`).Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(bytes.Repeat([]byte{0xee}, 4096), (page-1)*4096); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	s, log := logged(t, dir)
	i := Intent{Run: "run_1", Call: 1}
	s.Finish(s.Begin(i), i, Outcome{Status: "ok"})
	keeps(t, s, log, "run_1")
	if calls, err := s.calls(bg, s.db, "run_1"); err != nil || len(calls) != 1 {
		t.Errorf("the call in hand: %+v, %v", calls, err)
	}
}

// A file is told by its version alone, so another schema needs another one.
func TestAnotherSchemaHasAnotherVersion(t *testing.T) {
	got := fmt.Sprintf("%d %x", schemaVersion, sha256.Sum256([]byte(schema)))[:14]
	if want := "3 f262fac8ecb8"; got != want {
		t.Errorf("schema %q, want %q: raise schemaVersion, then write the new pair here", got, want)
	}
}
