package guest

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// silent is a host that answers when its context ends, and keeps what it hears.
type silent struct {
	engine.Host
	inside atomic.Int64
	names  chan string
	logs   []engine.LogRecord
}

func (h *silent) Search(ctx context.Context, _ []byte) ([]byte, error) {
	h.inside.Add(1)
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *silent) Call(_ context.Context, server, tool string, _ []byte, _ engine.CallOptions) (engine.CallValue, error) {
	h.names <- server + "." + tool
	return engine.CallValue{Value: []byte("1")}, nil
}

func (h *silent) Log(r engine.LogRecord) { h.logs = append(h.logs, r) }

// A program that searches without end and awaits nothing holds a bounded number
// of goroutines, and no more memory than its own limit.
func TestSearchesThatNobodyAwaitsAreBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := &silent{}
	c := NewCalls(ctx, engine.Limits{Concurrency: 2, Memory: 1 << 20})
	made := int64(0)
	for made < 1<<20 && c.Search(h, made, []byte("{}")) {
		made++
	}
	if most := int64(1<<20/queueOverhead + searchPlaces); made > most || made < most/2 {
		t.Errorf("%d searches were taken, at most %d fit", made, most)
	}
	// A tool's call has places of its own.
	h.names = make(chan string, 1)
	if !c.Call(h, NewNames(nil), 100, Ask{ID: -1, Space: "s", Tool: "t", Args: []byte("{}")}) || <-h.names != "s.t" {
		t.Error("searches held up a call")
	}
	cancel()
	c.wg.Wait()
	if h.inside.Load() > searchPlaces {
		t.Errorf("%d searches at a time", h.inside.Load())
	}
}

// What a program writes past the prelude is its own affair, and costs it nothing
// that others have.
func TestForgedCallsKeepTheBooks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := &silent{names: make(chan string, 9)}
	c := NewCalls(ctx, engine.Limits{Concurrency: 1, Memory: 1 << 20})
	ask := Ask{ID: 7, Space: strings.Repeat("ü", 1<<20), Tool: strings.Repeat("t", 1<<20), Args: []byte("{}")}
	for range 3 { // the same id
		c.Call(h, NewNames(nil), 100, ask)
	}
	c.Answered((<-c.Answers()).ID)
	ask.ID = 8
	c.Call(h, NewNames(nil), 100, ask) // the place is free again
	c.Answered((<-c.Answers()).ID)
	if made := len(h.names); made != 2 || c.tools.inFlight != 0 || c.Waiting() != 0 {
		t.Errorf("%d calls, %d in flight, %d waiting", made, c.tools.inFlight, c.Waiting())
	}
	if name := <-h.names; len(name) > 2*maxName+20 {
		t.Errorf("a name of %d bytes", len(name))
	}
	cancel()
	c.wg.Wait()
}

// What waits for a place keeps its arguments, which are counted, and not the
// words that name it.
func TestLongNamesAreNotKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := &silent{}
	c := NewCalls(ctx, engine.Limits{Concurrency: 1, Memory: 1 << 20})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for id := range int64(searchPlaces) {
		c.Search(h, -id-1, []byte("{}"))
	}
	before := heap()
	for id := range int64(100) {
		long := strings.Repeat(string(rune('a'+id%26)), 1<<20)
		c.Call(h, NewNames(nil), 100, Ask{ID: 3 * id, Space: long, Tool: long, Args: []byte("{}"), Timeout: func() (time.Duration, error) { return Timeout(long, true, 0) }})
		c.Describe(h, 3*id+1, long)
		c.Add(3*id+2, "", true, 0, func(context.Context) (engine.CallValue, error) { <-ctx.Done(); return engine.CallValue{}, nil })
		c.Call(h, NewNames(nil), 100, Ask{ID: 1000 + id, Space: long, Tool: long, Args: []byte("{}")})
	}
	if after := heap(); after > before+8<<20 {
		t.Errorf("%d MiB are kept", (after-before)>>20)
	}
	cancel()
	c.wg.Wait()
}

func TestForgedLogsStayJSON(t *testing.T) {
	h := &silent{}
	k := Keeper{Limits: WithDefaults(engine.Limits{}), Script: &script.Program{}, Host: h, Out: &engine.Outcome{}}
	k.Log("loud", "m", "{not json", "")
	k.Log("warn", "m", `{"a":1}`, "")
	text, err := json.Marshal(k.Out.Logs)
	if err != nil || k.Out.Logs[0].Level != "info" || k.Out.Logs[0].Attrs != nil || string(k.Out.Logs[1].Attrs) != `{"a":1}` {
		t.Errorf("%v: %s", err, text)
	}
}
