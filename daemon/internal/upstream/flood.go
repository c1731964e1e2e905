package upstream

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// logRate is how many log messages of one connection are passed on in a second
// (docs/upstreams.md): beyond that, a server that floods costs the reading of its
// lines, and one line says how many were left out.
const logRate = 1000

// flood counts the log messages of a connection.
type flood struct {
	missed atomic.Int64 // left out, and not told yet

	mu    sync.Mutex
	since time.Time   // guarded by mu: when the second that is counted began
	taken int         // guarded by mu: in that second
	timer *time.Timer // guarded by mu: tells of what was left out when the second is over
	ended bool        // guarded by mu
}

// take reports whether a message that comes now is passed on. If not, tell is called
// once the second is over.
func (f *flood) take(now time.Time, tell func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.since) >= time.Second {
		f.since, f.taken = now, 0
	}
	if f.taken < logRate {
		f.taken++
		return true
	}
	if f.missed.Add(1) == 1 && !f.ended {
		if wait := f.since.Add(time.Second).Sub(now); f.timer == nil {
			f.timer = time.AfterFunc(wait, tell)
		} else {
			f.timer.Reset(wait)
		}
	}
	return false
}

// stop ends the wait of what was not told.
func (f *flood) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	if f.timer != nil {
		f.timer.Stop()
	}
}

// logged passes a log message on, to whoever listens and to the records of the
// instance, unless it is one too many.
func (c *conn) logged(m *message, tie int64) {
	ok := c.flood.take(time.Now(), func() { c.tellMissed(0) })
	if !ok {
		return
	}
	c.tellMissed(tie) // of the second before
	c.notice(m, tie)
	c.keepLog(m.params)
}

// keepLog puts a log message into the records of the instance.
func (c *conn) keepLog(params json.RawMessage) {
	var l struct {
		Level string `json:"level"`
		Data  any    `json:"data"`
	}
	if c.spec.Observer != nil && json.Unmarshal(params, &l) == nil {
		c.spec.Observer.ServerLog(l.Level, c.mask.Replace(logText(l.Data)))
	}
}

// tellMissed says how many log messages were left out, where they would have been
// told; nothing, if none were. It is called when a second is over, and before an
// answer, whose caller listens no longer.
func (c *conn) tellMissed(tie int64) {
	n := c.flood.missed.Swap(0)
	if n == 0 {
		return
	}
	params := json.RawMessage(fmt.Sprintf(`{"level":"warning","logger":"tenon","data":"%d log messages of this server were left out: more than %d came in a second"}`, n, logRate))
	method := json.RawMessage(`"` + NoticeLog + `"`)
	c.notice(&message{method: method, params: params}, tie)
	c.keepLog(params)
}
