package process

import (
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// capture keeps the head of what a process writes to one stream, and passes it
// all on to a listener.
type capture struct {
	from  io.ReadCloser
	limit int64
	to    io.Writer
	done  chan struct{}

	mu      sync.Mutex
	kept    []byte // guarded by mu
	dropped int64  // guarded by mu
}

func newCapture(from io.ReadCloser, limit int64, to io.Writer) *capture {
	c := &capture{from: from, limit: limit, to: to, done: make(chan struct{})}
	go c.copy() // ends with the stream, which text closes
	return c
}

func (c *capture) copy() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.from.Read(buf)
		c.mu.Lock()
		keep := min(int64(n), max(0, c.limit-int64(len(c.kept))))
		c.kept = append(c.kept, buf[:keep]...)
		c.dropped += int64(n) - keep
		c.mu.Unlock()
		if c.to != nil && n > 0 {
			if _, err := c.to.Write(buf[:n]); err != nil {
				c.to = nil // nobody looks any more; the program goes on
			}
		}
		if err != nil {
			return
		}
	}
}

// cutMark ends a text of which the rest was dropped. What masks secrets knows by
// it that one may be cut through before it.
const cutMark = "…"

// text is what was kept, once the process has ended, with cutMark where that is
// not all; a stream that something outside its tree holds open is closed.
func (c *capture) text() string {
	t := time.NewTimer(lastWords)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
	}
	_ = c.from.Close()
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, mark := c.kept, ""
	if c.dropped > 0 {
		mark = cutMark
		for range utf8.UTFMax - 1 { // what is left of a character that was cut through
			if r, size := utf8.DecodeLastRune(kept); r == utf8.RuneError && size == 1 {
				kept = kept[:len(kept)-1]
			}
		}
	}
	return strings.ToValidUTF8(string(kept), "\ufffd") + mark
}

func (c *capture) lost() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}
