package history

import (
	"context"
	"database/sql"
	"fmt"
	"time"
	"unicode/utf8"
)

// recordKind says which part of a record is set.
type recordKind int

const (
	runStart recordKind = iota
	runEnd
	callEnd
	audit
	artifactAdd
	flush
)

// record is one thing to write.
type record struct {
	kind     recordKind
	intent   uint64 // the journal line it settles
	run      Run
	end      RunEnd
	call     Intent
	outcome  Outcome
	audit    auditEvent
	artifact artifact
	done     chan error // flush
}

type auditEvent struct {
	at                    time.Time
	actor, action, detail string
}

// write is the one goroutine that owns the database. It ends with Close.
func (s *Store) write() {
	defer close(s.stopped)
	var pending []record
	timer := time.NewTimer(batchDelay)
	timer.Stop()
	defer timer.Stop()
	clean := time.NewTicker(cleanEvery)
	defer clean.Stop()
	for {
		select {
		case r := <-s.queue:
			pending = s.take(pending, r)
			if len(pending) == 1 {
				timer.Reset(batchDelay)
			}
			if len(pending) >= batchSize {
				pending, _ = s.commit(pending)
			}
		case <-timer.C:
			if pending, _ = s.commit(pending); len(pending) > 0 {
				timer.Reset(batchDelay) // the database was not to be had: try again
			}
		case <-clean.C:
			s.clean()
		case <-s.stop:
			for {
				select {
				case r := <-s.queue:
					pending = s.take(pending, r)
					continue
				default:
				}
				break
			}
			left, _ := s.commit(pending)
			s.lose(len(left))
			return
		}
	}
}

// take notes a record and whatever else waits. Outcomes go to the journal at
// once, so that a daemon killed before the next transaction leaves the truth.
func (s *Store) take(pending []record, r record) []record {
	var lines []byte
	for {
		switch r.kind {
		case flush:
			left, err := s.commit(pending)
			pending = left
			r.done <- err
		case callEnd:
			lines = doneLine(lines, r.intent, r.outcome.Status, s.now())
			pending = append(pending, r)
		default:
			pending = append(pending, r)
		}
		if len(pending) >= batchSize {
			break
		}
		select {
		case r = <-s.queue:
			continue
		default:
		}
		break
	}
	if len(lines) > 0 && len(pending) > 0 {
		if err := s.journal.note(lines); err != nil {
			s.complain("journal", err)
		}
	}
	return pending
}

// commit writes a batch in one transaction and returns what must be tried
// again. A batch that grows beyond the queue's size is given up.
func (s *Store) commit(pending []record) ([]record, error) {
	if len(pending) == 0 {
		return nil, nil
	}
	err := s.transaction(pending)
	if err != nil {
		s.complain("database", err)
		if len(pending) < queueSize {
			return pending, err
		}
		s.lose(len(pending))
	}
	ids := make([]uint64, 0, len(pending))
	for _, r := range pending {
		if r.intent != 0 {
			ids = append(ids, r.intent)
		}
	}
	s.journal.settle(ids...)
	return nil, err
}

func (s *Store) transaction(batch []record) error {
	ctx := context.Background() // a batch is bounded by the database's busy timeout
	db, err := s.database(ctx)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	var calls *sql.Stmt                  // nearly all records are calls: their statement is parsed once
	for _, r := range batch {
		if r.kind == callEnd {
			if calls == nil {
				if calls, err = tx.PrepareContext(ctx, insertCall); err != nil {
					return fmt.Errorf("history: %w", err)
				}
				defer calls.Close()
			}
			err = s.insertCall(calls, r)
		} else {
			err = s.insert(tx, r)
		}
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

func (s *Store) insert(tx *sql.Tx, r record) error {
	switch r.kind {
	case runStart:
		_, err := tx.Exec(`INSERT OR IGNORE INTO runs (id, life, session, root, surface, engine, cwd, code, started, status)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'running')`,
			r.run.ID, s.life, r.run.Session, r.run.Root, r.run.Surface, r.run.Engine, r.run.Cwd,
			s.redact.Text(head(r.run.Code, codeBytes)), r.run.Started.UnixMilli())
		return err
	case runEnd:
		_, err := tx.Exec(`UPDATE runs SET status = ?, kind = ?, ended = ?, calls = ?, result = ? WHERE id = ?`,
			r.end.Status, r.end.Kind, r.end.Ended.UnixMilli(), r.end.Calls, s.redact.JSON(r.end.Result), r.end.ID)
		return err
	case audit:
		_, err := tx.Exec(`INSERT INTO audit (at, actor, action, detail) VALUES (?, ?, ?, ?)`,
			r.audit.at.UnixMilli(), r.audit.actor, r.audit.action, s.redact.Text(r.audit.detail))
		return err
	case artifactAdd:
		a := r.artifact
		_, err := tx.Exec(`INSERT OR IGNORE INTO artifacts (id, run, kind, name, mime, bytes, created) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			a.ID, a.run, a.kind, a.Name, a.MimeType, a.Bytes, a.created.UnixMilli())
		return err
	}
	return nil
}

const insertCall = `INSERT INTO calls (life, intent, run, n, session, server, tool, instance, started, status, kind, message, ms, input)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (s *Store) insertCall(st *sql.Stmt, r record) error {
	_, err := st.Exec(s.life, int64(r.intent), r.call.Run, r.call.Call, r.call.Session, r.call.Server, r.call.Tool, r.call.Instance,
		r.call.Started.UnixMilli(), r.outcome.Status, r.outcome.Kind, s.redact.Text(r.outcome.Message), r.outcome.MS,
		s.redact.Text(head(string(r.outcome.Input), inputBytes)))
	return err
}

// head is at most n bytes of s, cut between characters.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
