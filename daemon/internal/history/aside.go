package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// unusable is a database file that this program can neither read nor write.
type unusable struct {
	version string // its format, or "damaged"
	err     error
}

func (u *unusable) Error() string { return u.err.Error() }
func (u *unusable) Unwrap() error { return u.err }

// damaged reports whether SQLite says that the file is none of its own, or
// broken.
func damaged(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff // without what extends the code
	return code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_CORRUPT
}

// prepare makes the tables of a new file; a file of another format, older or
// newer, is *unusable.
func prepare(ctx context.Context, db *sql.DB) error {
	var version, tables int
	err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version)
	if err == nil {
		err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables)
	}
	switch {
	case err != nil:
		return err
	case version == 0 && tables == 0:
		// Freed pages are given back bit by bit; that has to be said before there is
		// a table, and VACUUM takes it in where the file has been begun.
		if _, err = db.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM;"); err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d;", schemaVersion))
		return err
	case version != schemaVersion:
		return &unusable{strconv.Itoa(version), fmt.Errorf("it has format %d, this tenon keeps %d", version, schemaVersion)}
	}
	return nil
}

// putAside renames a database that cannot be used, with what SQLite keeps
// beside it, to PATH.old-VERSION; a number follows when that is taken.
func putAside(path, version string) (string, error) {
	aside := path + ".old-" + version
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
		aside = fmt.Sprintf("%s.old-%s.%d", path, version, n)
	}
	// The log first: it would be taken for a part of the new file.
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return aside, nil
}
