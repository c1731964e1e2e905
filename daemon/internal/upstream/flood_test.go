package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server that logs as fast as it can costs no more than a second's worth of its
// messages, and one line says what is missing. Its answers come as always.
func TestAServerThatFloodsItsLogIsBoundedAndToldOf(t *testing.T) {
	e := &ear{}
	s := stdioSpec(t)
	s.Observer = e
	c := dial(t, s)
	line := func(text string) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%q}}`, text)
	}
	const extra = 5000
	begun := time.Now()
	for i := range logRate + extra {
		c.receive(line(fmt.Sprint(i)), false, 0)
	}
	told := func() (n int, missed []string) {
		_, _, logs := e.heard()
		for _, l := range logs {
			if strings.Contains(l, "were left out") {
				missed = append(missed, l)
			}
		}
		return len(logs) - len(missed), missed
	}
	seconds := int(time.Since(begun)/time.Second) + 1 // on a machine that is slow
	if n, _ := told(); n < logRate || n > (seconds+1)*logRate {
		t.Errorf("%d of %d messages are told in %d s", n, logRate+extra, seconds)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		n, missed := told()
		total := n
		for _, l := range missed {
			var left int
			_, _ = fmt.Sscanf(l, "warning: %d log messages", &left)
			total += left
		}
		if total == logRate+extra && len(missed) > 0 && len(missed) <= seconds+1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d told, then %q", n, missed)
		}
	}
	if !strings.Contains(strings.Join(noticesOf(e), "\n"), "were left out") {
		t.Error("who listens to the server is not told")
	}
}

func noticesOf(e *ear) (out []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.notices {
		out = append(out, string(n.Params))
	}
	return out
}

// Whoever has called hears of it before the answer: afterwards nobody listens.
func TestACallerHearsWhatWasLeftOutBeforeItsAnswer(t *testing.T) {
	s := stdioSpec(t)
	c := dial(t, s)
	c.flood.mu.Lock()
	c.flood.since, c.flood.taken = time.Now().Add(time.Hour), logRate // no second ends meanwhile
	c.flood.mu.Unlock()
	var mu sync.Mutex
	var heard []string
	_, err := c.Call(context.Background(), Call{
		Tool: "log", Arguments: json.RawMessage(`{"text":"one too many"}`), Timeout: 10 * time.Second, Owner: "a",
		Log: func(l Log) { mu.Lock(); heard = append(heard, string(l.Data)); mu.Unlock() },
	})
	mu.Lock()
	defer mu.Unlock()
	if err != nil || len(heard) != 1 || !strings.Contains(heard[0], "1 log messages of this server were left out") {
		t.Errorf("%q, %v", heard, err)
	}
}
