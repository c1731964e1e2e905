package upstream

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

var jsonSeeds = []string{
	`{}`, ` {"a":1} `, `{"jsonrpc":"2.0","id":1000001,"result":{"content":[]}}`, `{"a":"\u00e9\n\"","b":[1,-2.5e+3,true,false,null]}`,
	`{"a":01}`, `{"a":}`, `{"a":1,}`, `[1,2,]`, `"x`, `"\x"`, `"\u12g4"`, `tru`, `-`, `1.`, `1e`, "\"\x01\"", `{"a" : [ ] }`, ``, `{`, `{"id"`,
	strings.Repeat("[", 12000), strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
}

func checkScan(t *testing.T, b []byte) {
	t.Helper()
	i := skipSpace(b, 0)
	end := scanValue(b, i, 0)
	got := end >= 0 && skipSpace(b, end) == len(b)
	if want := json.Valid(b); got != want {
		t.Errorf("%.80q: scanned as JSON %v, encoding/json says %v", b, got, want)
	}
}

func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range jsonSeeds {
		checkScan(t, []byte(s))
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(checkScan)
}

func FuzzSniff(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m message
		var want map[string]json.RawMessage
		err := json.Unmarshal(b, &want)
		if ok := sniff(b, &m); ok != (err == nil && want != nil) {
			t.Errorf("%.80q: sniffed %v, encoding/json says %v", b, ok, err)
		}
		_, _ = guessID(b, b)
		_, _ = number(m.id)
	})
}

func TestSniffTakesMessagesApart(t *testing.T) {
	var m message
	if !sniff([]byte(` {"jsonrpc":"2.0","result":{"id":9,"method":"x"},"error":null,"id":"12"}`), &m) || !m.response() {
		t.Fatalf("not a response: %+v", m)
	}
	if n, ok := number(m.id); !ok || n != 12 || string(m.result) != `{"id":9,"method":"x"}` {
		t.Errorf("id %s, result %s", m.id, m.result)
	}
	if !sniff([]byte(`{"level":"info","msg":"x"}`), &m) || m.response() || m.request() || m.notice() {
		t.Error("a log line was taken for a message")
	}
	if !sniff([]byte(`{"method":"GET","id":1}`), &m) || m.request() {
		t.Error("JSON without a version was taken for a request")
	}
}

func TestGuessOfAnIDInAnUnreadableMessage(t *testing.T) {
	for _, tc := range []struct {
		head, tail string
		want       int64
		ok         bool
	}{
		{`{"jsonrpc":"2.0","id":1000007,"result":{"x":"aaa`, `aaa"}}`, 1000007, true},
		{`{"result":{"x":"aaa`, `aaa"},"jsonrpc":"2.0","id": 1000008 }`, 1000008, true},
		{`{"result":{"id":1,"x":"aaa`, `aaa"},"id":"1000009","jsonrpc":"2.0"}`, 1000009, true},
		{`{"jsonrpc":"2.0","id":10000`, ``, 0, false},
		{`noise "id":3`, `more noise`, 0, false},
	} {
		if n, ok := guessID([]byte(tc.head), []byte(tc.tail)); n != tc.want || ok != tc.ok {
			t.Errorf("%s…%s: %d, %v", tc.head, tc.tail, n, ok)
		}
	}
}

// collector keeps lines as a sink.
type collector struct {
	lines []string
	long  []int64
	heads []string
	tails []string
}

func (c *collector) line(b []byte, _ bool) { c.lines = append(c.lines, string(b)) }
func (c *collector) tooLong(head, tail []byte, size int64) {
	c.long = append(c.long, size)
	c.heads = append(c.heads, string(head))
	c.tails = append(c.tails, string(tail))
}

func TestLinesOfAnyLengthUpToTheCap(t *testing.T) {
	limit := int64(200 << 10)
	for _, n := range []int{0, 1, 65535, 65536, 65537, 131072, int(limit), int(limit) + 1, int(limit) + 65536} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": iotest.DataErrReader, "halves": iotest.HalfReader} {
			c := &collector{}
			text := "a" + strings.Repeat("x", n) + "z"
			err := newLineReader(wrap(strings.NewReader("first\n"+text+"\nlast")), limit, c).run()
			if err != io.EOF {
				t.Fatal(err)
			}
			fits := int64(len(text)) <= limit
			if fits && (len(c.lines) != 3 || c.lines[1] != text) || !fits && (len(c.lines) != 2 || len(c.long) != 1) {
				t.Errorf("%d bytes, %s: %d lines, too long %v", n, name, len(c.lines), c.long)
				continue
			}
			if c.lines[0] != "first" || c.lines[len(c.lines)-1] != "last" {
				t.Errorf("%d bytes, %s: neighbours damaged", n, name)
			}
			if !fits && (c.long[0] != int64(len(text)) || c.heads[0][0] != 'a' || !strings.HasSuffix(c.tails[0], "z") || len(c.tails[0]) > edgeBytes) {
				t.Errorf("%d bytes, %s: size %v, ends %.3q %d", n, name, c.long, c.heads[0], len(c.tails[0]))
			}
		}
	}
}

// endless gives n bytes of one line, then a short line.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	if e.n <= 0 {
		return copy(b, "\nok\n"), io.EOF
	}
	for i := range b {
		b[i] = 'x'
	}
	e.n -= len(b)
	return len(b), nil
}

//
func TestMemoryIsBoundedWhileSkipping(t *testing.T) {
	var before, after runtime.MemStats
	c := &collector{}
	runtime.ReadMemStats(&before)
	if err := newLineReader(&endless{256 << 20}, 1<<20, c).run(); err != io.EOF {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
		t.Errorf("allocated %d bytes for a line of 256 MiB", got)
	}
	if len(c.long) != 1 || len(c.lines) != 1 || c.lines[0] != "ok" {
		t.Errorf("long %v, lines %q", c.long, c.lines)
	}
}

//
func TestTheCapBoundsTheBufferOfALineAndSkippingFreesIt(t *testing.T) {
	const limit = 20 << 20 // where append alone would hold 24 MiB
	l := newLineReader(nil, limit, &collector{})
	chunk := bytes.Repeat([]byte("x"), readBuffer)
	var most int
	for fed := 0; fed < 2*limit; fed += len(chunk) {
		l.feed(chunk)
		most = max(most, cap(l.long))
		if l.head != nil && cap(l.long)+cap(l.head)+cap(l.tail) > 1<<20 {
			t.Fatalf("%d bytes are held while skipping", cap(l.long)+cap(l.head)+cap(l.tail))
		}
	}
	if l.head == nil || most > limit+1<<20 {
		t.Errorf("skipping %v, at most %d bytes were held under a cap of %d", l.head != nil, most, limit)
	}
	l.feed([]byte("\nok\n"))
	if cap(l.long)+cap(l.head)+cap(l.tail) > 1<<20 || l.sink.(*collector).lines[0] != "ok" {
		t.Errorf("%d bytes are held afterwards", cap(l.long)+cap(l.head)+cap(l.tail))
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), 2, 1)
	f.Add([]byte(strings.Repeat("x", 9000)+"\ny"), 100, 7)
	f.Fuzz(func(t *testing.T, data []byte, limit, chunk int) {
		limit, chunk = max(1, limit%10000), max(1, chunk%5000)
		c := &collector{}
		r := newLineReader(bytes.NewReader(data), int64(limit), c)
		r.buf = make([]byte, chunk)
		_ = r.run()
		want := bytes.Split(data, []byte("\n"))
		if n := len(want); len(want[n-1]) == 0 {
			want = want[:n-1]
		}
		var fit, long int
		for _, w := range want {
			if len(w) > limit {
				long++
				continue
			}
			if fit >= len(c.lines) || c.lines[fit] != string(w) {
				t.Fatalf("line %d is wrong", fit)
			}
			fit++
		}
		if fit != len(c.lines) || long != len(c.long) {
			t.Errorf("%d lines and %d long, want %d and %d", len(c.lines), len(c.long), fit, long)
		}
	})
}
