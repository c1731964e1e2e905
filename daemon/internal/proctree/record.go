package proctree

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// entry is one line of the record. A group begins before its process exists,
// so that a death between the two leaves at least its marker to look for.
type entry struct {
	Op    string `json:"op"` // begin, started, ended
	Token string `json:"token"`
	Label string `json:"label,omitempty"`
	Boot  string `json:"boot,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`
}

// Record is the file of started groups and the thread that starts them. It is
// append-only and not synced: it must survive our own death, not the machine's,
// since no process outlives that.
type Record struct {
	path  string
	spawn chan func()
	done  chan struct{} // closed when the thread has ended

	mu     sync.Mutex
	file   *os.File
	left   map[string]entry // groups of a predecessor, by token
	live   map[string]entry // our own
	closed bool
}

// OpenRecord opens or creates the record at path (mode 0600) and reads what a
// predecessor left in it. The caller holds the daemon's lock: two records on
// one file are not supported. A damaged line is skipped: a kill may have cut it.
func OpenRecord(path string) (*Record, error) {
	left, err := readRecord(path)
	if err != nil {
		return nil, fmt.Errorf("record of process groups: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record of process groups: %w", err)
	}
	r := &Record{
		path: path, file: f, left: left, live: map[string]entry{},
		spawn: make(chan func()), done: make(chan struct{}),
	}
	go r.thread() // ended by Close
	return r, nil
}

// thread runs every start on one OS thread that lives as long as the record.
// Linux sends the parent-death signal when the thread dies that started the
// child, and Go ends threads as it likes. It is never unlocked, so the thread
// ends with this function, and with it children that were not stopped.
func (r *Record) thread() {
	runtime.LockOSThread()
	defer close(r.done)
	for f := range r.spawn {
		f()
	}
}

// Close ends the starting thread and closes the file. Groups still alive are
// killed where the system sends a parent-death signal; stop them before. Their
// entries stay for the next [Record.Sweep]. A second Close does nothing.
func (r *Record) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.spawn)
	r.mu.Unlock()
	<-r.done
	return r.file.Close()
}

var errClosed = errors.New("record of process groups is closed")

// onThread runs f on the starting thread and waits for it.
func (r *Record) onThread(f func()) error {
	ran := make(chan struct{})
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return errClosed
	}
	// Sent under the lock, because Close closes the channel under it. The
	// thread never takes the lock.
	r.spawn <- func() { defer close(ran); f() }
	r.mu.Unlock()
	<-ran
	return nil
}

// append writes one line in one write, so that a kill cuts at most the last.
func (r *Record) append(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Op {
	case "ended":
		delete(r.live, e.Token)
		if len(r.live) == 0 && len(r.left) == 0 && !r.closed {
			return r.file.Truncate(0) // nothing to remember: keeps the file from growing
		}
	default:
		old := r.live[e.Token]
		e.Label, e.Boot = cmp.Or(e.Label, old.Label), cmp.Or(e.Boot, old.Boot)
		r.live[e.Token] = e
	}
	if r.closed {
		return errClosed
	}
	_, err = r.file.Write(append(line, '\n'))
	return err
}

// rewrite replaces the file by what is alive, after a sweep.
func (r *Record) rewrite() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	tmp, err := os.CreateTemp(filepath.Dir(r.path), ".groups-*")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(tmp)
	for _, group := range []map[string]entry{r.left, r.live} {
		for _, e := range group {
			line, err := json.Marshal(e)
			if err != nil {
				return errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
			}
			_, _ = w.Write(append(line, '\n')) // bufio keeps the error for Flush
		}
	}
	if err := errors.Join(w.Flush(), tmp.Close(), os.Rename(tmp.Name(), r.path)); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_ = r.file.Close() // the replaced file: nothing of it is wanted
	r.file = f
	return nil
}

func readRecord(path string) (map[string]entry, error) {
	left := map[string]entry{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return left, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Token != "" {
			switch old := left[e.Token]; e.Op {
			case "ended":
				delete(left, e.Token)
			default:
				e.Label, e.Boot = cmp.Or(e.Label, old.Label), cmp.Or(e.Boot, old.Boot)
				left[e.Token] = e
			}
		}
		if errors.Is(err, io.EOF) {
			return left, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// newToken makes the value of a group's marker.
func newToken() string { return rand.Text() }
