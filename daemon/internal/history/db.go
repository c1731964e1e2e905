package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver, in Go; it needs no C compiler and no library
)

// schemaVersion is the file's user_version. It goes up with every change of the
// schema: a file of another version is put aside, and history starts anew.
const schemaVersion = 3

// Calls have one index only, since nearly every record is one: whether a call
// is there already (life, intent) is asked by way of its run, and only for what
// a dead daemon left.
const schema = `
CREATE TABLE IF NOT EXISTS runs (
	id TEXT PRIMARY KEY, life TEXT NOT NULL, session TEXT NOT NULL, root TEXT NOT NULL DEFAULT '',
	surface TEXT NOT NULL DEFAULT '', engine TEXT NOT NULL DEFAULT '', cwd TEXT NOT NULL DEFAULT '',
	code TEXT NOT NULL DEFAULT '', options TEXT NOT NULL DEFAULT '{}', started INTEGER NOT NULL, ended INTEGER, status TEXT NOT NULL,
	kind TEXT NOT NULL DEFAULT '', calls INTEGER NOT NULL DEFAULT 0, result TEXT) STRICT;
CREATE INDEX IF NOT EXISTS runs_started ON runs (started);
CREATE INDEX IF NOT EXISTS runs_session ON runs (session, started);
CREATE TABLE IF NOT EXISTS calls (
	life TEXT NOT NULL, intent INTEGER NOT NULL, run TEXT NOT NULL, n INTEGER NOT NULL, session TEXT NOT NULL,
	server TEXT NOT NULL, tool TEXT NOT NULL, instance TEXT NOT NULL DEFAULT '', started INTEGER NOT NULL,
	status TEXT NOT NULL, kind TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '',
	ms REAL NOT NULL DEFAULT 0, input TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX IF NOT EXISTS calls_run ON calls (run, n);
CREATE TABLE IF NOT EXISTS audit (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL,
	action TEXT NOT NULL, detail TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE IF NOT EXISTS artifacts (
	id TEXT PRIMARY KEY, run TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL DEFAULT '',
	mime TEXT NOT NULL DEFAULT '', bytes INTEGER NOT NULL, created INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS artifacts_run ON artifacts (run, kind);
`

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// database opens the file at first use and takes in what a dead daemon left.
func (s *Store) database(ctx context.Context) (*sql.DB, error) {
	s.openOnce.Lock()
	defer s.openOnce.Unlock()
	if s.db != nil {
		if !s.removed() {
			return s.db, nil
		}
		s.log.Warn("history starts anew: its file was removed", "file", s.path("history.db"))
		_ = s.db.Close() // nobody could read what it holds
		s.db = nil
	}
	// A caller who leaves must not undo what was taken in so far.
	ctx = context.WithoutCancel(ctx)
	db, err := s.usable(ctx)
	var u *unusable
	if errors.As(err, &u) {
		if err = s.startAnew(u); err == nil {
			db, err = s.usable(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	s.db = db
	s.file, _ = os.Stat(s.path("history.db")) // nil: it is not looked for
	s.tidy(ctx, db)
	return db, nil
}

// removed reports whether the open file has lost its name: SQLite goes on writing
// where nobody will ever read. The caller holds openOnce.
func (s *Store) removed() bool {
	there, err := os.Stat(s.path("history.db"))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return s.file != nil && !os.SameFile(s.file, there)
}

// usable opens the file and takes in what a dead daemon left; *unusable when
// the file will never do.
func (s *Store) usable(ctx context.Context) (*sql.DB, error) {
	db, err := open(ctx, s.dir, s.path("history.db"))
	if err == nil {
		if err = s.recover(ctx, db); err != nil {
			_ = db.Close()
		}
	}
	if damaged(err) {
		err = &unusable{"damaged", err}
	}
	if err != nil {
		return nil, err
	}
	return db, nil
}

// startAnew puts the file aside.
func (s *Store) startAnew(u *unusable) error {
	aside, err := putAside(s.path("history.db"), u.version)
	if err != nil {
		return fmt.Errorf("history: %w; putting the file aside: %w", u, err)
	}
	s.log.Warn("history starts anew: its file could not be used", "reason", u.err, "kept", aside)
	return nil
}

// giveUp puts aside a file whose damage shows only now; the next record makes a
// new one.
func (s *Store) giveUp(reason error) error {
	s.openOnce.Lock()
	defer s.openOnce.Unlock()
	if s.db == nil {
		return nil
	}
	_ = s.db.Close() // nothing more can be saved
	s.db = nil
	return s.startAnew(&unusable{"damaged", reason})
}

func open(ctx context.Context, dir, path string) (*sql.DB, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &unusable{"not-a-file", fmt.Errorf("%s is not a regular file", path)}
	}
	// SQLite gives the files beside it (-wal, -shm) the mode of this one.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+(&escaped{path}).String()+
		"?_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	db.SetMaxOpenConns(1) // one writer, and reads are rare: no lock errors among ourselves
	if err := prepare(ctx, db); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("history: %w", err)
	}
	return db, nil
}

// escaped is a path inside a file: address.
type escaped struct{ path string }

func (e *escaped) String() string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(e.path)
}

// stamp is a time as the API writes it; 0 is empty.
func stamp(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
}
