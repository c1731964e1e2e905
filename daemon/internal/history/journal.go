package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// journal is a file of intents: one line for each run and call that has begun
// and is not yet in the database. The next daemon reads what a killed one left.
// It holds names and times only, never arguments.
type journal struct {
	dir, name string

	mu    sync.Mutex
	f     *os.File
	size  int64
	seq   uint64
	open  map[uint64][]byte // lines whose outcome is not in the database yet
	later []byte            // lines that go with the next write
	torn  bool              // the file ends in the middle of a line
	short bool              // a line that is open is not in the file
}

// entry is one line, as the next daemon reads it.
type entry struct {
	ID       uint64 `json:"id"`
	Type     string `json:"type"` // run, call, done, end
	Run      string `json:"run,omitempty"`
	Session  string `json:"session,omitempty"`
	Server   string `json:"server,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Instance string `json:"instance,omitempty"`
	Surface  string `json:"surface,omitempty"`
	Engine   string `json:"engine,omitempty"`
	Cwd      string `json:"cwd,omitempty"`
	Call     int64  `json:"call,omitempty"`
	At       int64  `json:"at"` // unix milliseconds
	Status   string `json:"status,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Calls    int    `json:"calls,omitempty"`
}

// append writes one line with one write, after what was put off, and returns its
// number. The line counts as open until settle, even when it could not be written.
func (j *journal) append(line func([]byte, uint64) []byte) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	id := j.seq
	text := line(make([]byte, 0, 320), id)
	j.open[id] = text
	if len(j.later) == 0 {
		return id, j.write(text)
	}
	j.later = append(j.later, text...)
	return id, j.catchUp()
}

// done says how the call of an open line ended. That is written before any line
// which follows, so that the end of a run stands behind the ends of its calls, and
// costs no write of its own; catchUp writes what nothing followed.
func (j *journal) done(id uint64, status string, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := len(j.later)
	j.later = doneLine(j.later, id, status, at)
	if line, ok := j.open[id]; ok { // for compact, which must not forget it
		j.open[id] = append(line, j.later[before:]...)
	}
}

// flush writes what was put off.
func (j *journal) flush() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.catchUp()
}

// catchUp writes what was put off; the caller holds mu.
func (j *journal) catchUp() error {
	if len(j.later) == 0 {
		return nil
	}
	err := j.write(j.later)
	j.later = j.later[:0]
	return err
}

// write appends to the file; the caller holds mu. What a full disk has cut short
// is ended by the line end that the next write begins with, and is written again
// with the first write that succeeds, or by settle, if it still counts then.
func (j *journal) write(text []byte) error {
	if err := j.create(); err != nil {
		j.short = true
		return err
	}
	if j.torn {
		text = append([]byte{'\n'}, text...)
	}
	n, err := j.f.Write(text)
	j.size += int64(n)
	if err != nil {
		j.short = true
	}
	if n > 0 {
		j.torn = n < len(text)
	}
	if err == nil && j.short { // there is room again, for what is missing as well
		j.compact()
	}
	return err
}

func (j *journal) create() error {
	if j.f != nil {
		return nil
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(j.path(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	j.f = f
	return err
}

func (j *journal) path() string { return filepath.Join(j.dir, j.name) }

// settle says that the database now holds what the lines announced; 0 is none.
// An empty journal is cut to nothing. It is rewritten without what is settled
// when it is long, when lines are missing in it, and when somebody removed it.
func (j *journal) settle(ids ...uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range ids {
		delete(j.open, id)
	}
	if len(j.open) == 0 {
		j.later, j.short = j.later[:0], false
	}
	if j.f == nil && !j.short {
		return
	}
	switch {
	case len(j.open) == 0 && j.size > 0:
		if j.f.Truncate(0) == nil {
			j.size, j.torn = 0, false
		}
	case j.size > compactSize, j.short, len(j.open) > 0 && j.removed():
		j.compact()
	}
}

// removed reports whether the file has lost its name; the caller holds mu.
func (j *journal) removed() bool {
	mine, err := j.f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(j.path())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(mine, there)
}

// compact rewrites the file with the open lines only; the caller holds mu. On
// any failure the old file stays, which is only long.
func (j *journal) compact() {
	var keep bytes.Buffer
	for _, line := range j.open {
		keep.Write(line)
	}
	if int64(keep.Len()) > compactSize/2 && !j.short {
		return
	}
	if os.MkdirAll(j.dir, 0o700) != nil {
		return
	}
	f, err := os.OpenFile(j.path()+".new", os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	if _, err = f.Write(keep.Bytes()); err == nil {
		err = os.Rename(j.path()+".new", j.path())
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(j.path() + ".new")
		return
	}
	if j.f != nil {
		_ = j.f.Close()
	}
	j.f, j.size, j.later, j.torn, j.short = f, int64(keep.Len()), j.later[:0], false, false
}

// close removes an empty file and leaves any other for the next daemon.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return
	}
	_ = j.catchUp() // a history that cannot be written was complained of already
	_ = j.f.Close()
	if j.size == 0 {
		_ = os.Remove(j.path())
	}
	j.f = nil
}

// line is the intent as it stands in the file. It is written by hand since it
// is on the way of every call.
func (i Intent) line(b []byte, id uint64) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"type":"call","at":`...)
	b = strconv.AppendInt(b, i.Started.UnixMilli(), 10)
	b = append(b, `,"call":`...)
	b = strconv.AppendInt(b, i.Call, 10)
	b = member(b, "run", i.Run)
	b = member(b, "session", i.Session)
	b = member(b, "server", i.Server)
	b = member(b, "tool", i.Tool)
	b = member(b, "instance", i.Instance)
	return append(b, '}', '\n')
}

func (r Run) line(b []byte, id uint64) []byte {
	text, err := json.Marshal(entry{
		ID: id, Type: "run", Run: r.ID, Session: r.Session, Surface: r.Surface,
		Engine: r.Engine, Cwd: r.Cwd, At: r.Started.UnixMilli(),
	})
	if err != nil { // plain strings always marshal
		return b
	}
	return append(append(b, text...), '\n')
}

// line is the end of a run without its result, which only the database has.
func (e RunEnd) line(b []byte, id uint64) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"type":"end","at":`...)
	b = strconv.AppendInt(b, e.Ended.UnixMilli(), 10)
	b = append(b, `,"calls":`...)
	b = strconv.AppendInt(b, int64(e.Calls), 10)
	b = member(b, "run", e.ID)
	b = member(b, "status", e.Status)
	b = member(b, "kind", e.Kind)
	return append(b, '}', '\n')
}

func doneLine(b []byte, id uint64, status string, at time.Time) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"type":"done","at":`...)
	b = strconv.AppendInt(b, at.UnixMilli(), 10)
	b = member(b, "status", status)
	return append(b, '}', '\n')
}

// member appends one string member of an object; plain ASCII costs no
// allocation.
func member(b []byte, name, value string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	for i := 0; i < len(value); i++ {
		if c := value[i]; c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
			text, err := json.Marshal(value)
			if err != nil {
				return append(b, `""`...)
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, value...)
	return append(b, '"')
}
