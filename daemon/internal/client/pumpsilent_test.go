package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

// A host must not wait for a daemon that is stopped or hangs: neither for the answer
// to what it has asked, nor when it asks the next thing.
func TestAnMCPClientOfADaemonThatStopsIsAnswered(t *testing.T) {
	var stopped atomic.Bool
	var looked atomic.Int32
	got := make(chan string, 16)
	works := asking(t, got)
	end := make(chan struct{})
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		looked.Add(1)
		if stopped.Load() {
			select {
			case <-end:
			case <-r.Context().Done():
			}
			return
		}
		works(w, r)
	})
	t.Cleanup(func() { close(end) })
	c.AnswerWait = 200 * time.Millisecond
	toPump, in := io.Pipe()
	out, fromPump := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- c.PumpMCP(context.Background(), MCPMode{}, toPump, fromPump) }()
	lines := bufio.NewReader(out)
	refused := func(id string) string {
		t.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID    json.RawMessage
			Error struct{ Message string }
		}
		if err := json.Unmarshal(bytes.TrimSpace(line), &m); err != nil || string(m.ID) != id || !strings.HasPrefix(m.Error.Message, string(fault.DaemonUnavailable)) {
			t.Fatalf("the client hears %s", line)
		}
		return m.Error.Message
	}
	say := func(line string) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"method":"note"}`)
	<-got
	stopped.Store(true)
	before := looked.Load()
	say(`{"id":7,"method":"tools/call"}`)
	if why := refused("7"); !strings.Contains(why, "does not answer") {
		t.Error(why)
	}
	if looked.Load() == before {
		t.Error("it was not asked for a sign of life")
	}
	say(`{"id":8,"method":"tools/call"}`) // which no daemon takes
	refused("8")
	stopped.Store(false)
	say(`{"method":"note"}`) // lost with the first, since nobody is told
	say(`{"id":9,"method":"tools/call"}`)
	for line := ""; !strings.Contains(line, `"id":9`); {
		select {
		case line = <-got:
		case <-time.After(10 * time.Second):
			t.Fatal("the daemon goes on, and is not asked")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	_ = in.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = fromPump.Close()
}
