package history

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"
)

const (
	// strayAge is how old a file without a row must be to be taken for one that
	// a killed daemon left: a young one may be about to get its row.
	strayAge = time.Hour
	// roomShare is the share of the limit that is left free, as 1/roomShare,
	// when artifacts are removed for their size: so that not each new one
	// makes another one go.
	roomShare = 10
	// leap is how far the clock may have moved from one look to the next, which is
	// cleanEvery later at most, until it is taken for one that was set and may be
	// set right again: nothing is too old for it before the look that follows, after
	// settleTime.
	leap       = 24 * time.Hour
	settleTime = 15 * time.Minute
)

// SetRetention applies a changed configuration; see Options.Retention.
func (s *Store) SetRetention(d time.Duration) {
	if d == 0 {
		d = DefaultRetention
	}
	s.retention.Store(int64(d))
	s.tidySoon()
}

// SetBounds applies a changed configuration; see Options.DatabaseBytes and
// Options.ArtifactBytes.
func (s *Store) SetBounds(database, artifacts int64) {
	s.databaseBytes.Store(database)
	s.artifactBytes.Store(artifacts)
	s.tidySoon()
}

// tidySoon has the writer tidy up, if there is one.
func (s *Store) tidySoon() {
	select {
	case s.untidy <- struct{}{}:
	default: // it is on its way
	}
}

// clean tidies up if the database is open.
func (s *Store) clean() {
	s.openOnce.Lock()
	defer s.openOnce.Unlock()
	if s.db != nil {
		s.tidy(context.Background(), s.db)
	}
}

// tidy removes what is too old, then the oldest runs above the database's limit,
// the oldest artifacts above that of their bytes, and files that belong to no
// row; freed space goes back to the disk. The caller holds openOnce.
func (s *Store) tidy(ctx context.Context, db *sql.DB) {
	err := errors.Join(s.removeOld(ctx, db), s.removeExcess(ctx, db), s.removeSurplus(ctx, db), s.removeStrays(ctx, db))
	if _, e := db.ExecContext(ctx, "PRAGMA incremental_vacuum"); e != nil {
		err = errors.Join(err, e)
	}
	s.note("retention", err)
}

// removeOld deletes what is older than the retention. The caller holds openOnce.
func (s *Store) removeOld(ctx context.Context, db *sql.DB) error {
	retention := time.Duration(s.retention.Load())
	if retention < 0 {
		return nil
	}
	now := s.now().Round(0) // what the clock shows, not what has passed
	last := s.looked
	s.looked = now
	if time.Until(s.settled) > 0 { // which the clock's being set does not change
		return nil
	}
	if !last.IsZero() && now.Sub(last) > leap {
		s.settled = time.Now().Add(settleTime)
		s.leapt.Store(&leapt{from: last, to: now, until: s.settled})
		s.log.Warn("the clock has moved far: nothing is removed from history for its age yet", "from", last, "to", now, "again", settleTime)
		time.AfterFunc(settleTime, s.tidySoon)
		return nil
	}
	before := now.Add(-retention).UnixMilli()
	old, err := column[string](ctx, db, `SELECT id FROM artifacts WHERE created < ?`, before)
	if err != nil {
		return err
	}
	s.removeFiles(old)
	for _, q := range []string{
		`DELETE FROM artifacts WHERE created < ?`, `DELETE FROM calls WHERE started < ?`,
		`DELETE FROM runs WHERE started < ? AND status <> 'running'`, `DELETE FROM audit WHERE at < ?`,
	} {
		if _, e := db.ExecContext(ctx, q, before); e != nil {
			err = errors.Join(err, e)
		}
	}
	return err
}

// removeExcess deletes the oldest runs with their calls, a tenth of them at a
// time, while the database holds more bytes than the limit.
func (s *Store) removeExcess(ctx context.Context, db *sql.DB) error {
	removed := int64(0)
	for {
		used, err := column[int64](ctx, db, `SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) -
			(SELECT freelist_count FROM pragma_freelist_count) * (SELECT page_size FROM pragma_page_size)`)
		if err != nil {
			return err
		}
		if used[0] <= s.databaseBytes.Load() {
			break
		}
		old, err := column[string](ctx, db, `SELECT id FROM runs WHERE status <> 'running' ORDER BY started
			LIMIT (SELECT count(*) / 10 + 1 FROM runs)`)
		if err != nil {
			return err
		}
		if len(old) == 0 {
			break
		}
		for _, id := range old {
			for _, q := range []string{`DELETE FROM calls WHERE run = ?`, `DELETE FROM runs WHERE id = ?`} {
				if _, err := db.ExecContext(ctx, q, id); err != nil {
					return err
				}
			}
		}
		removed += int64(len(old))
	}
	if removed > 0 {
		s.log.Info("the oldest runs were removed: together they had too many bytes", "runs", removed, "limit", s.databaseBytes.Load())
	}
	return nil
}

// removeSurplus deletes the oldest artifacts when all together have more bytes
// than the limit.
func (s *Store) removeSurplus(ctx context.Context, db *sql.DB) error {
	total, err := column[int64](ctx, db, `SELECT coalesce(sum(bytes), 0) FROM artifacts`)
	if err != nil {
		return err
	}
	s.kept.Store(total[0])
	limit := s.artifactBytes.Load()
	if total[0] <= limit {
		return nil
	}
	goal := limit - limit/roomShare
	surplus, err := column[string](ctx, db, `SELECT id FROM (SELECT id, created,
		sum(bytes) OVER (ORDER BY created DESC, id DESC) AS upto FROM artifacts) WHERE upto > ? ORDER BY created`, goal)
	if err != nil {
		return err
	}
	for _, id := range surplus {
		if _, err := db.ExecContext(ctx, `DELETE FROM artifacts WHERE id = ?`, id); err != nil {
			return err
		}
	}
	s.removeFiles(surplus)
	s.log.Info("the oldest artifacts were removed: together they had too many bytes", "artifacts", len(surplus), "limit", limit)
	left, err := column[int64](ctx, db, `SELECT coalesce(sum(bytes), 0) FROM artifacts`)
	if err != nil {
		return err
	}
	s.kept.Store(left[0])
	return nil
}

// removeStrays deletes files that no row knows: a daemon that was killed wrote
// them.
func (s *Store) removeStrays(ctx context.Context, db *sql.DB) error {
	files, err := os.ReadDir(s.path("artifacts"))
	if err != nil || len(files) == 0 {
		return nil // none were made yet
	}
	ids, err := column[string](ctx, db, `SELECT id FROM artifacts`)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	for _, f := range files {
		ours := strings.HasPrefix(f.Name(), "art_") || strings.HasPrefix(f.Name(), ".new-")
		if !ours || known[f.Name()] {
			continue
		}
		if info, err := f.Info(); err == nil && s.now().Sub(info.ModTime()) > strayAge {
			s.removeFiles([]string{f.Name()})
		}
	}
	return nil
}

func (s *Store) removeFiles(ids []string) {
	for _, id := range ids {
		_ = os.Remove(s.artifactPath(id)) // gone is what it should be
	}
}

// column reads the one column of a query.
func column[T any](ctx context.Context, db *sql.DB, query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var out []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		out = append(out, v)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}
