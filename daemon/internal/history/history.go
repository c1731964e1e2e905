// Package history keeps what happened: runs, calls, audit events and
// artifacts. Nothing in it is on the way of a call except one append to a
// journal file, which survives the death of the daemon; everything else is
// written in batches by one goroutine, redacted on its own copy. A history that
// cannot be written never fails a call: it counts what it lost and says so.
package history

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tenon/proto"
)

// Options configure a Store. Only Dir is required.
type Options struct {
	Dir       string        // state directory: history.db, artifacts/, journal/
	Retention time.Duration // 0: DefaultRetention; negative: for ever
	// ArtifactBytes bounds artifacts and whole outputs together: the oldest go
	// first. 0: DefaultArtifactBytes.
	ArtifactBytes int64
	// DatabaseBytes bounds what the database holds: above it the oldest runs go
	// with their calls. 0: DefaultDatabaseBytes.
	DatabaseBytes int64
	// Redactor is what masks secrets here, and elsewhere too; nil: one of its own.
	Redactor *Redactor
	Log      *slog.Logger // nil: discarded
	Now      func() time.Time
}

// DefaultRetention is how long runs, calls, artifacts and audit events stay.
const DefaultRetention = 30 * 24 * time.Hour

// DefaultArtifactBytes is how many bytes of artifacts are kept.
const DefaultArtifactBytes = 1 << 30

// MaxCode is how many bytes of a program are kept.
const MaxCode = 256 << 10

// DefaultDatabaseBytes is how many bytes of runs, calls and audit events are kept.
const DefaultDatabaseBytes = 512 << 20

// Limits of what is kept in memory and on disk.
const (
	queueSize   = 8192                   // records waiting for the writer; more are dropped and counted
	batchSize   = 512                    // records of one transaction
	batchDelay  = 250 * time.Millisecond // a record waits at most this long for others
	restFor     = 10 * time.Millisecond  // between two looks of the writer at the queue; outcomes are in the journal then
	cleanEvery  = 6 * time.Hour          // between two looks for what retention removes
	inputBytes  = 4 << 10                // of a call's arguments that are kept
	headBytes   = 200                    // of a program that a list shows
	compactSize = 4 << 20                // journal bytes above which closed intents are dropped from it
)

// Store is the history of one daemon. It is safe for concurrent use; files are
// made at the first record or question, not before.
type Store struct {
	dir           string
	retention     atomic.Int64 // a time.Duration
	artifactBytes atomic.Int64
	databaseBytes atomic.Int64
	log           *slog.Logger
	now           func() time.Time
	life          string // distinguishes this daemon's rows from those of a dead one
	redact        *Redactor
	journal       journal

	queue   chan record
	hurry   chan struct{} // to the writer: do not rest; capacity 1
	untidy  chan struct{} // to the writer: tidy up; capacity 1
	start   sync.Once
	stop    chan struct{}
	stopped chan struct{}
	closing atomic.Bool

	openOnce sync.Mutex // guards db, file and the attempt to open it
	db       *sql.DB
	file     fs.FileInfo // of db, as it was opened
	looked   time.Time   // guarded by openOnce: when rows were last looked at for their age
	settled  time.Time   // guarded by openOnce: no row is too old before

	kept     atomic.Int64 // bytes of the artifacts that the database knows
	dropped  atomic.Int64
	found    struct{ calls, runs atomic.Int64 } // see Recovered
	unread   atomic.Int64                       // lines of former daemons' journals that are no records
	leapt    atomic.Pointer[leapt]              // the last leap of the clock; nil: there was none
	troubles troubles
	lastSaid atomic.Int64 // unix seconds of the last complaint in the log
}

// Run is the start of a run.
type Run struct {
	ID, Session, Root, Surface, Engine, Cwd, Code string
	Options                                       proto.RunOptions
	Started                                       time.Time
}

// RunEnd is the end of a run. Result is the RunResult as it was returned. Run is
// its start, for a history that does not know it any more; nil: it is not told again.
type RunEnd struct {
	ID, Status, Kind string // Status: ok, failed, cancelled
	Ended            time.Time
	Calls            int
	Result           []byte
	Run              *Run
}

// Intent is a call about to be made.
type Intent struct {
	Run, Session, Server, Tool, Instance string
	Call                                 int64 // number within the run
	Started                              time.Time
}

// masked is the intent without secrets: its names are words of a program where no
// server knows them.
func (i Intent) masked(r *Redactor) Intent {
	i.Server, i.Tool = r.Text(i.Server), r.Text(i.Tool)
	return i
}

// Outcome is how a call ended.
type Outcome struct {
	Status  string // ok, error, denied, cancelled, unknown
	Kind    string // of the failure
	Message string
	MS      float64
	Input   []byte // arguments as sent; a bounded, redacted copy is kept
}

// New makes a store; it touches no file.
func New(o Options) *Store {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	if o.ArtifactBytes == 0 {
		o.ArtifactBytes = DefaultArtifactBytes
	}
	if o.DatabaseBytes == 0 {
		o.DatabaseBytes = DefaultDatabaseBytes
	}
	if o.Redactor == nil {
		o.Redactor = &Redactor{}
	}
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	s := &Store{
		dir: o.Dir, log: o.Log, now: o.Now,
		life: hex.EncodeToString(id[:]), redact: o.Redactor,
		queue: make(chan record, queueSize), hurry: make(chan struct{}, 1), untidy: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	s.retention.Store(int64(o.Retention))
	s.artifactBytes.Store(o.ArtifactBytes)
	s.databaseBytes.Store(o.DatabaseBytes)
	s.journal = journal{dir: s.path("journal"), name: s.life + ".log", open: map[uint64][]byte{}}
	return s
}

// Redactor is what masks secrets in this history; tell it every secret before
// it can appear in a record.
func (s *Store) Redactor() *Redactor { return s.redact }

// Dropped counts records that could not be kept.
func (s *Store) Dropped() int64 { return s.dropped.Load() }

// RunStarted records the start of a run.
func (s *Store) RunStarted(r Run) {
	id := s.append(func(buf []byte, id uint64) []byte { return r.line(buf, id) })
	s.put(record{intent: id, data: r})
}

// RunEnded records its end. That it ended, and how, is in the journal when it
// returns: call it before the result is told to anybody, and a daemon killed
// after that does not take for lost what was delivered.
func (s *Store) RunEnded(e RunEnd) {
	id := s.append(func(buf []byte, id uint64) []byte { return e.line(buf, id) })
	s.put(record{intent: id, data: e})
}

// Begin records the intent of a call before it is sent, so that a daemon killed
// in between leaves a trace. The number pairs it with Finish.
func (s *Store) Begin(i Intent) uint64 {
	i = i.masked(s.redact)
	return s.append(func(buf []byte, id uint64) []byte { return i.line(buf, id) })
}

// Finish records the outcome of the call that Begin announced. It is in the
// journal before the end of its run is.
func (s *Store) Finish(id uint64, i Intent, o Outcome) {
	s.journal.done(id, o.Status, s.now())
	s.put(record{kind: callEnd, intent: id, data: &ended{i, o}})
}

// Audit records a decision about permissions or the daemon's life.
func (s *Store) Audit(actor, action, detail string) {
	s.put(record{data: auditEvent{at: s.now(), actor: actor, action: action, detail: detail}})
}

func (s *Store) append(line func([]byte, uint64) []byte) uint64 {
	id, err := s.journal.append(line)
	s.note("journal", err)
	return id
}

// put hands a record to the writer; it never blocks.
func (s *Store) put(r record) {
	if s.closing.Load() {
		s.lose(1)
		return
	}
	s.start.Do(func() { go s.write() })
	select {
	case s.queue <- r:
		if len(s.queue) >= queueSize/2 {
			s.hasten()
		}
	default:
		s.lose(1)
		s.journal.settle(r.intent)
	}
}

// hasten ends the writer's rest.
func (s *Store) hasten() {
	select {
	case s.hurry <- struct{}{}:
	default:
	}
}

// lose counts records that are not kept.
func (s *Store) lose(n int) { s.dropped.Add(int64(n)) }

// complain says at most once a minute that history cannot be written.
func (s *Store) complain(what string, err error) {
	now := s.now().Unix()
	last := s.lastSaid.Load()
	since := now - last // below 0: the clock was put back, which silences nothing
	if since >= 0 && since < 60 || !s.lastSaid.CompareAndSwap(last, now) {
		return
	}
	s.log.Error("history is not being kept; calls go on", "part", what, "error", err, "lost", s.dropped.Load())
}

// Flush waits until everything recorded so far is in the database.
func (s *Store) Flush(ctx context.Context) error {
	if s.closing.Load() {
		return nil
	}
	s.start.Do(func() { go s.write() })
	done := make(chan error, 1)
	select {
	case s.queue <- record{kind: flush, data: done}:
		s.hasten()
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		return nil
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		return nil
	}
}

// Close writes what is left and closes the files.
func (s *Store) Close() error {
	if !s.closing.CompareAndSwap(false, true) {
		<-s.stopped
		return nil
	}
	s.start.Do(func() { go s.write() })
	close(s.stop)
	<-s.stopped
	s.openOnce.Lock()
	defer s.openOnce.Unlock()
	s.journal.close()
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}
