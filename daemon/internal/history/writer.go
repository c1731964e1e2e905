package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// recordKind tells apart the records that the writer treats in their own way.
type recordKind int

const (
	other recordKind = iota
	callEnd
	flush
)

// record is one thing to write. It is small, since thousands may be queued.
type record struct {
	kind   recordKind
	intent uint64 // the journal line it settles
	data   any    // Run, RunEnd, ended, auditEvent, artifact, or the channel of a flush
}

// ended is a call with its outcome.
type ended struct {
	Intent
	Outcome
}

type auditEvent struct {
	at                    time.Time
	actor, action, detail string
}

// write is the one goroutine that owns the database. It ends with Close. After
// each look at the queue it rests, so that calls in quick succession do not wake it
// each: that would cost every one of them more than its record.
func (s *Store) write() {
	defer close(s.stopped)
	var pending []record
	timer := time.NewTimer(batchDelay)
	timer.Stop()
	defer timer.Stop()
	clean := time.NewTicker(cleanEvery)
	defer clean.Stop()
	rest := time.NewTimer(restFor)
	rest.Stop()
	defer rest.Stop()
	queue := s.queue // nil while it rests
	for {
		select {
		case r := <-queue:
			none := len(pending) == 0
			pending = s.take(pending, r)
			if len(pending) >= batchSize {
				pending, _ = s.commit(pending)
			}
			if none && len(pending) > 0 {
				timer.Reset(batchDelay)
			}
			queue = nil
			rest.Reset(restFor)
		case <-rest.C:
			s.note("journal", s.journal.flush())
			queue = s.queue
		case <-s.hurry:
			queue = s.queue
		case <-timer.C:
			if pending, _ = s.commit(pending); len(pending) > 0 {
				timer.Reset(batchDelay) // the database was not to be had: try again
			}
		case <-clean.C:
			s.clean()
		case <-s.untidy:
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

// take notes a record and whatever else waits.
func (s *Store) take(pending []record, r record) []record {
	for {
		switch r.kind {
		case flush:
			left, err := s.commit(pending)
			pending = left
			r.data.(chan error) <- err
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
	return pending
}

// commit writes a batch in one transaction and returns what must be tried
// again. A batch that grows beyond the queue's size is given up.
func (s *Store) commit(pending []record) ([]record, error) {
	if len(pending) == 0 {
		return nil, nil
	}
	err := s.transaction(pending)
	if damaged(err) {
		if err = s.giveUp(err); err == nil {
			err = s.transaction(pending)
		}
	}
	s.note("database", err)
	if err != nil {
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
		if a, is := r.data.(artifact); is && err == nil && s.kept.Add(a.Bytes) > s.artifactBytes.Load() {
			s.tidySoon()
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
	switch d := r.data.(type) {
	case Run:
		return s.insertRun(tx, d)
	case RunEnd:
		return s.insertEnd(tx, d)
	case auditEvent:
		_, err := tx.Exec(`INSERT INTO audit (at, actor, action, detail) VALUES (?, ?, ?, ?)`,
			d.at.UnixMilli(), d.actor, d.action, s.redact.Text(d.detail))
		return err
	case artifact:
		_, err := tx.Exec(`INSERT OR IGNORE INTO artifacts (id, run, kind, name, mime, bytes, created) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			d.ID, d.run, d.kind, s.redact.Text(d.Name), s.redact.Text(d.MimeType), d.Bytes, d.created.UnixMilli())
		return err
	}
	return nil
}

func (s *Store) insertRun(tx *sql.Tx, d Run) error {
	options, err := json.Marshal(d.Options)
	if err != nil { // words and valid JSON always marshal
		return err
	}
	_, err = tx.Exec(`INSERT OR IGNORE INTO runs (id, life, session, root, surface, engine, cwd, code, options, started, status)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running')`,
		d.ID, s.life, d.Session, d.Root, d.Surface, d.Engine, d.Cwd, s.redact.Head(d.Code, MaxCode), s.redact.JSON(options), d.Started.UnixMilli())
	return err
}

// insertEnd ends the row of a run. Where the file that had it was removed or put
// aside meanwhile, the run is told anew.
func (s *Store) insertEnd(tx *sql.Tx, d RunEnd) error {
	for again := false; ; again = true {
		res, err := tx.Exec(`UPDATE runs SET status = ?, kind = ?, ended = ?, calls = ?, result = ? WHERE id = ?`,
			d.Status, d.Kind, d.Ended.UnixMilli(), d.Calls, s.redact.JSON(d.Result), d.ID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 || again || d.Run == nil {
			return err
		}
		if err := s.insertRun(tx, *d.Run); err != nil {
			return err
		}
	}
}

const insertCall = `INSERT INTO calls (life, intent, run, n, session, server, tool, instance, started, status, kind, message, ms, input)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (s *Store) insertCall(st *sql.Stmt, r record) error {
	d := r.data.(*ended)
	d.Intent = d.masked(s.redact)
	_, err := st.Exec(s.life, int64(r.intent), d.Run, d.Call, d.Session, d.Server, d.Tool, d.Instance,
		d.Started.UnixMilli(), d.Status, d.Kind, s.redact.Text(d.Message), d.MS, s.redact.Head(string(d.Input), inputBytes))
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
