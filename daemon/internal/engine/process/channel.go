package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"tenon/daemon/internal/engine/guest"
)

// A message of a program, in bytes, is bounded by its memory, which its values
// are in as well; it is read into ours. A small memory bounds it less: what a
// program may return and emit is not to fail for that.
const (
	leastMessage = 33 << 20 // twice the output that is kept
	mostMessage  = 256 << 20
)

var errMessage = errors.New("a message of the program is longer than its memory")

// channel is the two pipes between a run and its process. What is written waits
// in a queue, so that a program that computes never holds up the loop.
type channel struct {
	in  chan message  // closed at the end of what the process says
	err error         // after in is closed: why, nil for its end
	r   *os.File      // ours
	w   *os.File      // ours
	out chan []byte   // to the writer
	end chan struct{} // closed by close
	max int           // bytes of one message of the process

	their [2]*os.File
	wg    sync.WaitGroup
	once  sync.Once
}

// message is one of the process's: an operation and its arguments.
type message []json.RawMessage

// newChannel makes the pipes; files are the process's ends, in the order of its
// descriptors from 3 on.
func newChannel(memory int64) (c *channel, err error) {
	c = &channel{in: make(chan message), out: make(chan []byte), end: make(chan struct{}), max: int(min(max(memory, leastMessage), mostMessage))}
	if c.their[0], c.w, err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.r, c.their[1], err = os.Pipe(); err != nil {
		_ = c.their[0].Close()
		_ = c.w.Close()
		return nil, err
	}
	return c, nil
}

func (c *channel) files() []*os.File { return c.their[:] }

// handOver closes the process's ends here and begins to read and write; close
// pairs with it.
func (c *channel) handOver() {
	c.closeTheirs()
	c.wg.Add(2)
	go c.read()
	go c.write()
}

func (c *channel) closeTheirs() {
	for _, f := range c.their {
		_ = f.Close()
	}
}

func (c *channel) close() {
	c.once.Do(func() {
		close(c.end)
		_ = c.r.Close()
		_ = c.w.Close()
	})
	c.wg.Wait()
}

func (c *channel) read() {
	defer c.wg.Done()
	defer close(c.in)
	r := bufio.NewReaderSize(c.r, 64<<10)
	for {
		line, err := readLine(r, c.max)
		if err != nil {
			if err != io.EOF && !errors.Is(err, os.ErrClosed) {
				c.err = err
			}
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil || len(m) == 0 {
			continue // written by the program itself, past the prelude
		}
		select {
		case c.in <- m:
		case <-c.end:
			return
		}
	}
}

// readLine reads up to a newline, a long line into memory of its own.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == nil && whole == nil {
			return part, nil
		}
		whole = append(whole, part...)
		switch {
		case len(whole) > limit:
			return nil, errMessage
		case err == nil:
			return whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (c *channel) write() {
	defer c.wg.Done()
	for {
		select {
		case line := <-c.out:
			if _, err := c.w.Write(line); err != nil {
				line = nil // the process is gone: its end says why
			}
		case <-c.end:
			return
		}
	}
}

func (m message) op() int { return int(m.number(-1)) }

// raw is argument i, nil when it was left out.
func (m message) raw(i int) json.RawMessage {
	if i+1 >= len(m) || i+1 < 0 || bytes.Equal(m[i+1], []byte("null")) {
		return nil
	}
	return m[i+1]
}

func (m message) has(i int) bool { return m.raw(i) != nil }

func (m message) isText(i int) bool { raw := m.raw(i); return len(raw) > 0 && raw[0] == '"' }

func (m message) text(i int) string {
	var s string
	if m.isText(i) && json.Unmarshal(m.raw(i), &s) != nil {
		return ""
	}
	return s
}

func (m message) number(i int) float64 {
	var n float64
	if raw := m.raw(i); raw != nil && json.Unmarshal(raw, &n) != nil {
		return -1
	}
	return n
}

func (m message) truth(i int) bool { return bytes.Equal(m.raw(i), []byte("true")) }

// line is v as a message to the process.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b) // ends with a newline
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// answer is a call's answer as a message.
func answer(a guest.Answer, depth int) ([]byte, error) {
	state, text, raw, err := a.Read(depth)
	if err != nil {
		return nil, err
	}
	parts := []any{a.ID, state, nil, nil}
	if len(text) > 0 {
		parts[2] = string(text)
	}
	if len(raw) > 0 {
		parts[3] = string(raw)
	}
	return line(parts)
}
