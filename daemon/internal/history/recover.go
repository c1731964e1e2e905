package history

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// recover takes in the journals that dead daemons left: calls without an
// outcome get the status unknown, since nobody can say whether they took
// effect; runs without an end are lost, the others ended as the journal says,
// though their results are gone. Only one daemon runs per state directory, so
// every journal but our own is left over.
func (s *Store) recover(ctx context.Context, db *sql.DB) error {
	files, err := os.ReadDir(s.journal.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("history: %w", err)
	}
	var unknown int64
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	var done []string
	for _, f := range files {
		if f.Name() == s.journal.name || !strings.HasSuffix(f.Name(), ".log") {
			continue
		}
		path := filepath.Join(s.journal.dir, f.Name())
		if !f.Type().IsRegular() { // a folder, or a pipe that would be waited for
			s.log.Warn("this is no journal of history: it is left alone", "file", path)
			continue
		}
		// What cannot be read must not keep what happens from now on out of history.
		n, err := s.takeIn(ctx, tx, path, strings.TrimSuffix(f.Name(), ".log"))
		if errors.Is(err, fs.ErrPermission) {
			s.log.Warn("a former daemon's journal cannot be read: it is left for the next", "file", path, "error", err)
			continue
		} else if err != nil {
			return fmt.Errorf("history: journal %s: %w", f.Name(), err)
		}
		unknown += n
		done = append(done, path)
	}
	lost, err := tx.ExecContext(ctx, `UPDATE runs SET status = 'lost', ended = ?,
		calls = (SELECT count(*) FROM calls WHERE calls.run = runs.id) WHERE status = 'running' AND life <> ?`,
		s.now().UnixMilli(), s.life)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	s.found.calls.Add(unknown)
	s.found.runs.Add(affected(lost))
	for _, path := range done {
		_ = os.Remove(path)
	}
	return nil
}

// takeIn takes one journal into the database, and counts the calls whose outcome
// nobody knows.
func (s *Store) takeIn(ctx context.Context, tx *sql.Tx, path, life string) (unknown int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	intents, status, unread := readJournal(f)
	// Parsed once: thousands may be left, and whoever asks for history waits.
	run, err := tx.PrepareContext(ctx, `INSERT OR IGNORE INTO runs (id, life, session, surface, engine, cwd, started, status)
		VALUES (?, ?, ?, ?, ?, ?, ?, 'running')`)
	if err != nil {
		return 0, err
	}
	defer run.Close()
	call, err := tx.PrepareContext(ctx, `INSERT INTO calls (life, intent, run, n, session, server, tool, instance, started, status)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
		WHERE NOT EXISTS (SELECT 1 FROM calls WHERE run = ?3 AND life = ?1 AND intent = ?2)`)
	if err != nil {
		return 0, err
	}
	defer call.Close()
	end, err := tx.PrepareContext(ctx, `UPDATE runs SET status = ?, kind = ?, ended = ?, calls = ? WHERE id = ? AND status = 'running'`)
	if err != nil {
		return 0, err
	}
	defer end.Close()
	var ends []entry
	for id, e := range intents {
		switch e.Type {
		case "end":
			ends = append(ends, e) // once their runs are there
		case "run":
			_, err = run.ExecContext(ctx, e.Run, life, e.Session, e.Surface, e.Engine, e.Cwd, e.At)
		default:
			outcome := status[id]
			if outcome == "" {
				outcome = "unknown"
			}
			var taken sql.Result
			taken, err = call.ExecContext(ctx, life, int64(id), e.Run, e.Call, e.Session, e.Server, e.Tool, e.Instance, e.At, outcome)
			if err == nil && outcome == "unknown" {
				unknown += affected(taken)
			}
		}
		if err != nil {
			return 0, err
		}
	}
	for _, e := range ends {
		if _, err := end.ExecContext(ctx, e.Status, e.Kind, e.At, e.Calls, e.Run); err != nil {
			return 0, err
		}
	}
	if unread > 0 {
		s.unread.Add(unread)
		s.log.Warn("lines of a former daemon's journal are no records: what they said is not in history", "file", path, "lost", unread)
	}
	if len(intents) > 0 {
		s.log.Warn("a former daemon ended in the middle of its work", "records", len(intents), "outcomes", len(status))
	}
	return unknown, nil
}

// readJournal reads what had begun, by its number, and the outcomes that are known.
// What is no record is skipped, and counted in unread unless a death or a full disk
// explains it: a last line without an end, an empty one, the first part of one.
func readJournal(r io.Reader) (intents map[uint64]entry, status map[uint64]string, unread int64) {
	intents, status = map[uint64]entry{}, map[uint64]string{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e entry
		var broken error
		if json.Unmarshal(line, &e) != nil { // what it set before the fault does not count
			e = entry{}
			broken = json.NewDecoder(bytes.NewReader(bytes.TrimSpace(line))).Decode(new(entry))
		}
		switch e.Type {
		case "done":
			status[e.ID] = e.Status
		case "run", "call", "end":
			intents[e.ID] = e
		default:
			if err == nil && !errors.Is(broken, io.ErrUnexpectedEOF) && !errors.Is(broken, io.EOF) {
				unread++
			}
		}
		if err != nil {
			return intents, status, unread
		}
	}
}
