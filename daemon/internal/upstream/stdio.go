package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
)

const (
	// drainAfterExit is how long output that is already in the pipe is read
	// after the process ended. A grandchild may hold the pipe open for ever.
	drainAfterExit = 200 * time.Millisecond
	// exitAfterEOF is how long a process that closed its output may take to
	// end, so that its exit code can be told.
	exitAfterEOF = 500 * time.Millisecond
)

// stdio is the wire to a process of ours.
type stdio struct {
	c     *conn
	proc  *proctree.Proc
	out   *outbox
	errs  *os.File
	tail  *tail
	quiet chan struct{} // closed when stderr is read to its end

	turn   chan struct{} // one place; full when nobody reads
	called chan struct{} // one place; ends the yielding
	in     *inbox
	lines  *lineReader // the holder of the turn's
	exited atomic.Bool // stdout has a deadline, since the process is gone
}

// newStdio starts the process and begins to read.
func newStdio(c *conn, rec *proctree.Record) error {
	s := c.spec
	p, err := rec.Start(proctree.Options{Command: s.Command, Env: s.Env, Dir: s.Cwd, Label: "server " + s.Name})
	if err != nil {
		return withFate(c.unavailable("server %s did not start: %w", s.Name, err).
			WithHint("check command and cwd of the server"), fateNotSent)
	}
	w := &stdio{c: c, proc: p, quiet: make(chan struct{}), tail: &tail{mask: c.mask.fixed},
		turn: make(chan struct{}, 1), called: make(chan struct{}, 1)}
	if s.Observer != nil {
		w.tail.hear = s.Observer.Stderr
	}
	if err := w.open(); err != nil {
		stopped := p.Stop(context.Background(), proctree.Steps{}) // its steps bound it
		return withFate(c.unavailable("server %s did not start: %w", s.Name, errors.Join(err, stopped)), fateNotSent)
	}
	w.lines = newLineReader(w.in, c.limit, w)
	w.turn <- struct{}{}
	c.wire = w
	c.work.Go(w.read)
	c.work.Go(func() {
		defer close(w.quiet)
		_ = newLineReader(w.errs, stderrLine, w.tail).run() // ends with the pipe
	})
	c.work.Go(w.watch)
	return nil
}

// open takes the process's pipes, which proctree made since no files were named.
func (w *stdio) open() (err error) {
	w.errs = w.proc.Stderr.(*os.File)
	if w.out, err = newOutbox(w.proc.Stdin.(*os.File)); err != nil {
		return errors.Join(err, w.proc.Stdout.Close(), w.errs.Close())
	}
	w.proc.Stdin = w.out // for the stopping of it
	if w.in, err = newInbox(w.proc.Stdout.(*os.File)); err != nil {
		return errors.Join(err, w.errs.Close())
	}
	return nil
}

func (w *stdio) line(b []byte, owned bool)          { w.c.receive(b, owned, 0) }
func (w *stdio) tooLong(head, tail []byte, _ int64) { w.c.unreadable(head, tail, 0) }

// Whoever holds the turn reads stdout. That is the wire's own goroutine, but
// while one call follows another it leaves the turn to the callers: a caller
// that reads its answer itself saves the change of goroutine, which costs as
// much as the pipe does (BenchmarkFloor). A caller reads for a moment only, so
// that cancelling and limits need not interrupt a read.
const (
	lingerFor = 5 * time.Millisecond // a caller's reading
	yieldFor  = 5 * time.Millisecond // how long the turn is left to callers after an answer
)

// linger reads for the caller of p, if it is alone.
func (w *stdio) linger(p *pending) {
	select {
	case <-w.turn:
	default:
		return
	}
	if id, _ := w.c.single(); id == p.id {
		for end := time.Now().Add(lingerFor); len(p.done) == 0; {
			if w.lines.stepWithin(w.in, time.Until(end)) != nil {
				break // the end, too, is for the wire's goroutine to see
			}
		}
	}
	w.turn <- struct{}{}
	if w.c.inFlight() > 0 || len(p.done) == 0 {
		w.wake()
	}
}

func (w *stdio) wake() {
	select {
	case w.called <- struct{}{}:
	default:
	}
}

// pump reads until the stream ends and returns why.
func (w *stdio) pump() error {
	yield := time.NewTimer(yieldFor)
	defer yield.Stop()
	for {
		<-w.turn
		before := w.c.answers.Load()
		err := w.lines.step()
		alone := w.c.answers.Load() != before && w.c.inFlight() == 0
		if alone {
			w.in.leave()
		}
		w.turn <- struct{}{}
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || w.exited.Load()) {
			w.lines.flush()
			return err
		}
		if alone {
			w.yield(yield)
		}
	}
}

// yield leaves the turn to callers as long as they read answers.
func (w *stdio) yield(timer *time.Timer) {
	for {
		before := w.c.answers.Load()
		timer.Reset(yieldFor)
		select {
		case <-w.called:
			return
		case <-w.c.done:
			return
		case <-timer.C:
			if w.c.answers.Load() == before {
				return
			}
		}
	}
}

// read pumps stdout to its end and then ends the connection.
func (w *stdio) read() {
	err := w.pump()
	timer := time.NewTimer(exitAfterEOF)
	defer timer.Stop()
	select {
	case <-w.proc.Done():
		// The last words are in the pipe by now, or nobody will say them.
		select {
		case <-w.quiet:
		case <-timer.C:
		}
		w.c.fail(w.c.unavailable("server %s ended: %s%s", w.c.spec.Name, w.proc.ExitState(), w.c.lastWords()).
			WithHint("the server's own output says more: tenon ls --json, or run its command in a terminal"))
	case <-timer.C:
		w.c.fail(w.c.unavailable("server %s closed its output (%w)%s", w.c.spec.Name, err, w.c.lastWords()))
	case <-w.c.done:
	}
}

// watch limits the reading once the process is gone.
func (w *stdio) watch() {
	<-w.proc.Done()
	deadline := time.Now().Add(drainAfterExit)
	w.exited.Store(true)
	w.in.expire(deadline)
	_ = w.errs.SetReadDeadline(deadline) // fails only when closed already
}

func (w *stdio) send(b []byte, _ int64) error { return w.out.send(b) }

func (w *stdio) deliver(_ context.Context, b []byte) error { return w.out.send(b) }

func (w *stdio) forget(int64) {}

func (w *stdio) ready(string) {}

func (w *stdio) pid() int { return w.proc.PID() }

func (w *stdio) stderr() string { return w.tail.last(stderrLines) }

func (w *stdio) close(ctx context.Context) error {
	err := w.proc.Stop(ctx, proctree.Steps{})
	w.in.close()
	_ = w.errs.Close()
	w.out.wait()
	if err != nil {
		return fault.New(fault.InternalError, "server %s: %w", w.c.spec.Name, err)
	}
	return nil
}

// size prints a number of bytes the way the configuration writes it.
func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
