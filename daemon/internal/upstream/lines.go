package upstream

import (
	"bytes"
	"io"
	"time"
)

const (
	readBuffer = 64 << 10 // one read; most lines fit
	edgeBytes  = 4 << 10  // kept of each end of a line beyond the cap
)

// lineSink takes what a lineReader finds.
type lineSink interface {
	// line gets one line without its end. The bytes are the sink's to keep
	// when owned, else they are overwritten after the call.
	line(b []byte, owned bool)
	// tooLong gets the first and the last bytes of a line beyond the cap.
	tooLong(head, tail []byte, size int64)
}

// lineReader splits a stream into lines of any length up to a cap. It never
// holds more than the cap, and of a longer line only its two ends.
type lineReader struct {
	r    io.Reader
	max  int64
	sink lineSink

	buf  []byte // one read
	long []byte // a line that began in an earlier read
	head []byte // of a line beyond the cap; nil when not skipping
	tail []byte
	size int64 // bytes of that line so far
}

func newLineReader(r io.Reader, limit int64, sink lineSink) *lineReader {
	return &lineReader{r: r, max: limit, sink: sink, buf: make([]byte, readBuffer)}
}

// run reads until the stream ends and returns why. A last line without an end
// is delivered too.
func (l *lineReader) run() error {
	for {
		if err := l.step(); err != nil {
			l.flush()
			return err
		}
	}
}

// step does one read and delivers the lines that it completes. After an error
// that is not the end, such as a deadline, it may be called again.
func (l *lineReader) step() error {
	n, err := l.r.Read(l.buf)
	l.feed(l.buf[:n])
	return err
}

// stepWithin is step for who waits for a moment only.
func (l *lineReader) stepWithin(in *inbox, d time.Duration) error {
	n, err := in.within(l.buf, d)
	l.feed(l.buf[:n])
	return err
}

// flush delivers a last line without an end.
func (l *lineReader) flush() {
	if len(l.long) > 0 || l.head != nil {
		l.end(nil)
	}
}

func (l *lineReader) feed(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.hold(b)
			return
		}
		l.end(b[:i])
		b = b[i+1:]
	}
}

// hold keeps the part of a line whose end is not here yet.
func (l *lineReader) hold(b []byte) {
	if l.head == nil && int64(len(l.long)+len(b)) <= l.max {
		l.grow(len(b))
		l.long = append(l.long, b...)
		return
	}
	l.skip(b)
}

// grow makes room for n more bytes of a line. Append alone would double past
// the cap, and a quarter more of 64 MiB is much to hold for nothing.
func (l *lineReader) grow(n int) {
	need := len(l.long) + n
	if need <= cap(l.long) {
		return
	}
	bigger := make([]byte, len(l.long), max(need, int(min(int64(2*cap(l.long)), l.max))))
	copy(bigger, l.long)
	l.long = bigger
}

// skip forgets a part of a line beyond the cap but its ends.
func (l *lineReader) skip(b []byte) {
	if l.head == nil {
		l.head = append([]byte{}, l.long[:min(len(l.long), edgeBytes)]...) // never nil: it marks the skipping
		l.head = append(l.head, b[:min(len(b), edgeBytes-len(l.head))]...)
		l.tail = bytes.Clone(l.long[max(0, len(l.long)-edgeBytes):])
		l.size = int64(len(l.long))
		l.long = nil
	}
	l.size += int64(len(b))
	l.tail = append(l.tail, b[max(0, len(b)-edgeBytes):]...)
	if extra := len(l.tail) - edgeBytes; extra > 0 {
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
}

// end delivers the line whose last part is b.
func (l *lineReader) end(b []byte) {
	if l.head == nil && len(l.long) == 0 && int64(len(b)) <= l.max {
		l.sink.line(b, false)
		return
	}
	l.hold(b)
	if l.head != nil {
		l.sink.tooLong(l.head, l.tail, l.size)
		l.head, l.tail, l.size = nil, nil, 0
		return
	}
	whole := l.long
	l.long = nil
	l.sink.line(whole, true)
}
