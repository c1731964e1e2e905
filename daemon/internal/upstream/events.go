package upstream

import (
	"bytes"
	"io"
	"strconv"
	"time"
)

// maxRetry is the longest that a server may put off a resumption.
const maxRetry = 5 * time.Minute

// event is one server-sent event.
type event struct {
	name string
	data []byte // the receiver's to keep
}

// events reads a stream of server-sent events, each up to a cap, and remembers
// what resuming needs. Field names are those of the HTML standard.
type events struct {
	limit  int64
	each   func(e event)
	beyond func(head, tail []byte)

	last  string        // id of the last event that had one
	retry time.Duration // what the server wants before a resumption
	name  string
	data  []byte
	some  bool // the event has a data line
	over  bool // the event is beyond the cap
}

// run reads until the stream ends and returns why. An event without its blank
// line is incomplete and dropped, as the standard says.
func (e *events) run(r io.Reader) error {
	e.name, e.data, e.some, e.over = "", nil, false, false
	// A line is a little longer than the message in it.
	return newLineReader(r, e.limit+int64(len("data: \r")), e).run()
}

func (e *events) line(b []byte, _ bool) {
	b = bytes.TrimSuffix(b, []byte("\r"))
	if len(b) == 0 {
		e.dispatch()
		return
	}
	field, value, _ := bytes.Cut(b, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		e.add(value)
	case "event":
		e.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.last = string(value)
		}
	case "retry":
		if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
			e.retry = time.Duration(min(ms, int(maxRetry/time.Millisecond))) * time.Millisecond
		}
	}
}

func (e *events) add(value []byte) {
	if e.over {
		return
	}
	if e.some {
		e.data = append(e.data, '\n')
	}
	if int64(len(e.data)+len(value)) > e.limit {
		e.over = true
		e.beyond(e.data[:min(len(e.data), edgeBytes)], value[max(0, len(value)-edgeBytes):])
		e.data = nil
		return
	}
	e.data = append(e.data, value...)
	e.some = true
}

// tooLong makes events a lineSink.
func (e *events) tooLong(head, tail []byte, _ int64) {
	if data, ok := bytes.CutPrefix(head, []byte("data:")); ok && !e.over {
		e.over = true
		e.beyond(data, tail)
	}
}

func (e *events) dispatch() {
	ev := event{e.name, e.data}
	some := e.some && !e.over
	e.name, e.data, e.some, e.over = "", nil, false, false
	if some && len(ev.data) > 0 {
		e.each(ev)
	}
}
