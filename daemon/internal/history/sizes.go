package history

import (
	"database/sql"
	"os"
	"path/filepath"
)

// Sizes are bytes on disk.
type Sizes struct{ Database, Artifacts, Journal int64 }

// Sizes looks how much is kept. Artifacts are 0 until the database was opened.
func (s *Store) Sizes() Sizes {
	out := Sizes{Artifacts: s.kept.Load()}
	for _, name := range []string{"history.db", "history.db-wal"} {
		out.Database += fileSize(s.path(name))
	}
	journals, _ := os.ReadDir(s.journal.dir) // none yet
	for _, f := range journals {
		out.Journal += fileSize(filepath.Join(s.journal.dir, f.Name()))
	}
	return out
}

func fileSize(path string) int64 {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	return st.Size()
}

// Waiting counts records that are still to be written.
func (s *Store) Waiting() int { return len(s.queue) }

// Recovered counts what former daemons left in their journals when they died:
// calls whose outcome nobody knows, and runs without an end.
func (s *Store) Recovered() (calls, runs int64) { return s.found.calls.Load(), s.found.runs.Load() }

// affected is how many rows a statement changed; SQLite always knows.
func affected(r sql.Result) int64 {
	n, err := r.RowsAffected()
	if err != nil {
		return 0
	}
	return n
}
