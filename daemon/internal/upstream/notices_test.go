package upstream

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

func request(t *testing.T, c *conn, method, params string) (json.RawMessage, error) {
	t.Helper()
	return c.Call(context.Background(), Call{Tool: method, Method: method, Arguments: json.RawMessage(params), Timeout: 10 * time.Second})
}

func TestRequestsOtherThanCallsTakeTheSameWay(t *testing.T) {
	c := dial(t, stdioSpec(t, "--material"))
	raw, err := request(t, c, "resources/read", "{\n \"uri\": \"demo://text\"\n}")
	if err != nil || !strings.Contains(string(raw), `"hello"`) {
		t.Errorf("read: %s %v", raw, err)
	}
	if raw, err := request(t, c, "prompts/list", ""); err != nil || !strings.Contains(string(raw), "greet") {
		t.Errorf("list: %s %v", raw, err)
	}
	if _, err := request(t, c, "resources/read", `{"uri":"demo://nowhere"}`); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no such resource: %v", err)
	}
	if _, err := request(t, c, "prompts/get", `{"name":"greet"}`); fault.KindOf(err) != fault.InvalidToolInput {
		t.Errorf("a missing argument: %v", err)
	}
	if _, err := request(t, c, "nothing/here", `{}`); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "nothing/here") {
		t.Errorf("no such method: %v", err)
	}
}

func TestWhatAServerLogsBelongsToWhoseCallIsInFlight(t *testing.T) {
	e := &ear{}
	s := stdioSpec(t, "--material")
	s.Observer = e
	c := dial(t, s)
	var mu sync.Mutex
	var mine []string
	call := func(owner, tool, args string, log func(Log)) {
		t.Helper()
		if _, err := c.Call(context.Background(), Call{Tool: tool, Arguments: json.RawMessage(args), Timeout: 10 * time.Second, Owner: owner, Log: log}); err != nil {
			t.Error(err)
		}
	}
	hear := func(l Log) { mu.Lock(); mine = append(mine, string(l.Data)); mu.Unlock() }
	call("a", "log", `{"text":"one"}`, hear)
	mu.Lock()
	if len(mine) != 1 || mine[0] != `"one"` { // before its call has returned
		t.Errorf("heard %v", mine)
	}
	mu.Unlock()
	// Nobody listens: the observer hears whose it is.
	call("b", "log", `{"text":"two"}`, nil)
	// Two owners at work: it is nobody's.
	var slow sync.WaitGroup
	slow.Go(func() { call("a", "sleep", `{"ms":1500}`, nil) })
	for end := time.Now().Add(10 * time.Second); c.inFlight() == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	call("b", "log", `{"text":"three"}`, hear)
	slow.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.notices) != 1 || e.notices[0].Owner != "b" || !strings.Contains(string(e.notices[0].Params), "two") {
		t.Errorf("notices %+v", e.notices)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(mine) != 1 {
		t.Errorf("somebody else's log was told: %v", mine)
	}
	if len(e.logs) != 3 {
		t.Errorf("the records have %v", e.logs)
	}
}
