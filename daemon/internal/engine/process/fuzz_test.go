package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

// FuzzLines: a message is a line whatever the reads, and one beyond the limit ends
// the channel.
func FuzzLines(f *testing.F) {
	f.Add([]byte("[1]\n[2,\"a\"]\n"), 16)
	f.Add(bytes.Repeat([]byte("a"), 100), 20)
	f.Add([]byte("\n\n"), 0)
	f.Fuzz(func(t *testing.T, said []byte, limit int) {
		limit = min(max(limit, 16), 1<<16)
		r := bufio.NewReaderSize(bytes.NewReader(said), 16)
		var got []byte
		for {
			line, err := readLine(r, limit)
			if err == nil {
				if bytes.IndexByte(line, '\n') != len(line)-1 || len(line) > limit+16 {
					t.Fatalf("a line: %q", line)
				}
				got = append(got, line...)
				continue
			}
			whole := said[:bytes.LastIndexByte(said, '\n')+1]
			if err == io.EOF && !bytes.Equal(got, whole) || !bytes.HasPrefix(whole, got) {
				t.Fatalf("%v: %q of %q", err, got, said)
			}
			return
		}
	})
}

// FuzzMessage: a program may write any line to its channel. It is taken for what
// the prelude would have said, within the run's limits, or for nothing.
func FuzzMessage(f *testing.F) {
	for _, op := range []int{guest.OpCall, guest.OpSearch, guest.OpDescribe, guest.OpResource, guest.OpRun, guest.OpArtifact, guest.OpLog, guest.OpEmit, guest.OpWarn, guest.OpDone, guest.OpFail, opReady, opDrained, opRejected, opHandled, opUnfit} {
		for _, rest := range [][]any{{}, {1, "s", "t", `{"a":1}`, true, "5s"}, {"info", "m", `{"a":1}`, "at program:1:1"}, {`{"a":1}`, `[["s","t"]]`}, {1e300, nil, []int{1}}} {
			raw, err := json.Marshal(append([]any{op}, rest...))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m message
		if json.Unmarshal(raw, &m) != nil || len(m) == 0 {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		limits := guest.WithDefaults(engine.Limits{Memory: 1 << 20, Capture: 4 << 10, Logs: 3, Depth: 20})
		compiled := &script.Program{}
		out := &engine.Outcome{}
		h := &deaf{}
		r := newRun(ctx, nil, Job{Program: engine.Program{Limits: limits}, Compiled: compiled}, h, out)
		for range 5 {
			_ = r.message(m)
		}
		cancel()
		r.calls.Drain()
		if len(out.Logs) > limits.Logs || h.emitted > 5*len(raw) {
			t.Fatalf("%d logs, %d bytes emitted", len(out.Logs), h.emitted)
		}
		if out.Value != nil && !json.Valid(out.Value) {
			t.Fatalf("value %q", out.Value)
		}
		for _, l := range out.Logs {
			if l.Attrs != nil && !json.Valid(l.Attrs) {
				t.Fatalf("attributes %q", l.Attrs)
			}
		}
		for _, e := range out.Emits {
			if !json.Valid(e) {
				t.Fatalf("emitted %q", e)
			}
		}
		if r.failure != nil {
			_, _ = guest.Program{Name: "p", Script: compiled}.Thrown(r.failure, false)
		}
	})
}

// deaf is a host that refuses whatever it is asked.
type deaf struct {
	engine.Host
	emitted int
}

var errDeaf = fault.New(fault.UnknownTool, "there is none")

func (d *deaf) Call(context.Context, string, string, []byte, engine.CallOptions) (engine.CallValue, error) {
	return engine.CallValue{}, errDeaf
}
func (d *deaf) Search(context.Context, []byte) ([]byte, error)            { return nil, errDeaf }
func (d *deaf) Describe(context.Context, string) ([]byte, error)          { return nil, errDeaf }
func (d *deaf) Resource(context.Context, string, []byte) ([]byte, error)  { return nil, errDeaf }
func (d *deaf) RunScript(context.Context, string, []byte) ([]byte, error) { return nil, errDeaf }
func (d *deaf) Artifact(context.Context, engine.Artifact) ([]byte, error) { return nil, errDeaf }
func (d *deaf) Log(engine.LogRecord)                                      {}
func (d *deaf) Emit(value []byte)                                         { d.emitted += len(value) }

// FuzzTimeout: a wait that a program asks for is not below zero, whatever number it is.
func FuzzTimeout(f *testing.F) {
	f.Add("5s", true, 0.0)
	f.Add("", false, 1e300)
	f.Add("-1h", true, -5.0)
	f.Fuzz(func(t *testing.T, text string, isText bool, ms float64) {
		if d, err := guest.Timeout(text, isText, ms); err == nil && d < 0 {
			t.Fatalf("%q, %v: %v", text, ms, d)
		}
		if d := guest.Milliseconds(ms); d < 0 || d > 1<<62*time.Nanosecond {
			t.Fatalf("%v is %v", ms, d)
		}
	})
}
