package upstream

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

// says answers every question with the same result and notes what was asked.
type says struct {
	human
	asked  []string
	waited bool
}

func answering(result string) *says {
	q := &says{}
	q.human = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		q.asked = append(q.asked, method+" "+string(params))
		return json.RawMessage(result), nil
	}
	return q
}

func (q *says) Waiting(wait func()) { q.waited = true; wait() }

func TestACallGoesOnWhenThePageWasVisited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	c := dial(t, stdioSpec(t, "--journal", path))
	q := answering(`{"action":"accept"}`)
	if got := text(t, c, Call{Tool: "visit", Arguments: args(`{"ms":30}`), Questions: q, Patience: time.Minute}); got != "visited" {
		t.Errorf("got %s", got)
	}
	if len(q.asked) != 1 || !strings.Contains(q.asked[0], "https://example.com/sign-in") || !q.waited {
		t.Errorf("asked %q", q.asked)
	}
	if calls := methods(journal(t, path), "tools/call"); len(calls) != 2 || calls[0]["id"] == calls[1]["id"] {
		t.Errorf("calls %v", calls)
	}
}

// The reader may be ahead of the call that is to wait.
func TestAPageThatIsDoneBeforeItIsWaitedForCounts(t *testing.T) {
	c := newConn(Spec{Name: "fake"})
	for i := range 2 * maxVisits {
		c.visited("page-" + itoa(i))
	}
	done, forget := c.awaitVisit("page-" + itoa(2*maxVisits-1))
	defer forget()
	<-done
	if len(c.early) >= maxVisits {
		t.Errorf("%d are remembered", len(c.early))
	}
	later, forget := c.awaitVisit("page-x")
	select {
	case <-later:
		t.Error("a page that nobody has done counts")
	default:
	}
	forget()
	if len(c.visits) != 0 {
		t.Error("a wait was not forgotten")
	}
}

func TestAPageThatIsNotVisitedEndsTheCallWithoutRepeatingIt(t *testing.T) {
	for name, one := range map[string]struct {
		call Call
		want string
	}{
		"nobody to ask": {Call{}, "nobody can be asked"},
		"declined":      {Call{Questions: answering(`{"action":"decline"}`), Patience: time.Minute}, "did not want"},
		"never said":    {Call{Questions: answering(`{"action":"accept"}`), Patience: 50 * time.Millisecond}, "did not say within"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal")
			c := dial(t, stdioSpec(t, "--journal", path))
			one.call.Tool, one.call.Arguments = "visit", args(`{"ms":-1}`)
			_, err := try(c, one.call)
			wantKind(t, err, fault.ToolFailure, one.want)
			if calls := methods(journal(t, path), "tools/call"); len(calls) != 1 {
				t.Errorf("called %d times", len(calls))
			}
		})
	}
}

// modern is a server of the newest protocol, whose questions are results.
func modern(t *testing.T, flags ...string) Conn {
	t.Helper()
	c := dial(t, stdioSpec(t, append([]string{"--version", discoverVersion}, flags...)...))
	if v := c.Info().Protocol; v != discoverVersion {
		t.Fatalf("speaks %s", v)
	}
	return c
}

func TestAResultThatNeedsInputIsAnsweredAndTheCallGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	c := modern(t, "--journal", path)
	c.SetRoots([]string{"/srv/x"})
	q := answering("{\"action\":\"accept\",\n\"content\":{\"ok\":true}}")
	if got := text(t, c, Call{Tool: "elicit", Arguments: args(`{"text":"sure?"}`), Questions: q}); got != `{"action":"accept", "content":{"ok":true}}` {
		t.Errorf("got %s", got)
	}
	if len(q.asked) != 1 || !strings.HasPrefix(q.asked[0], `elicitation/create {"message":"sure?"`) {
		t.Errorf("asked %q", q.asked)
	}
	if got := text(t, c, Call{Tool: "ask-roots"}); !strings.Contains(got, "file:///srv/x") {
		t.Errorf("roots: %s", got)
	}
	calls := methods(journal(t, path), "tools/call")
	last := calls[1]["params"].(map[string]any)
	if calls[0]["id"] == calls[1]["id"] || last["requestState"] != "as it was" || last["name"] != "elicit" {
		t.Errorf("the second round was %v", calls[1])
	}
	capabilities, err := json.Marshal(last["_meta"].(map[string]any)["io.modelcontextprotocol/clientCapabilities"])
	if err != nil || !strings.Contains(string(capabilities), `"sampling":{}`) {
		t.Errorf("declared %s, %v", capabilities, err)
	}
}

func TestAResultThatNobodyAnswersIsDeclined(t *testing.T) {
	c := modern(t)
	if got := text(t, c, Call{Tool: "elicit"}); got != `{"action":"decline"}` {
		t.Errorf("got %s", got)
	}
	_, err := try(c, Call{Tool: "sample"})
	wantKind(t, err, fault.ToolFailure, "sampling/createMessage", "declined")
	_, err = try(c, Call{Tool: "ask", Arguments: args(`{"method":"tools/list"}`)})
	wantKind(t, err, fault.InvalidToolOutput, "tools/list")
}

func TestAHumansTimeBetweenRoundsIsNotTheTools(t *testing.T) {
	c := modern(t)
	slow := human(func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		if !pause(ctx, 1200*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
		return json.RawMessage(`{"action":"accept"}`), nil
	})
	if got := text(t, c, Call{Tool: "elicit", Questions: slow, Timeout: time.Second, Wall: time.Second}); got != `{"action":"accept"}` {
		t.Errorf("got %s", got)
	}
}

func TestTheEndOfTheCallerEndsAQuestionBetweenRounds(t *testing.T) {
	c := modern(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := c.Call(ctx, Call{Tool: "elicit", Questions: human(
		func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			cancel(fault.New(fault.Cancelled, "the caller hung up"))
			<-ctx.Done()
			return nil, ctx.Err()
		})})
	wantKind(t, err, fault.Cancelled, "the caller hung up")
}

// A server that asks for ever, or wants to be tried again for ever, is left.
func TestRoundsAreBounded(t *testing.T) {
	c := newConn(Spec{Name: "fake"})
	w := &rounds{c: c}
	c.wire = w
	meta := `,"x":1`
	c.meta.Store(&meta)
	for result, want := range map[string]string{
		`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`: "10 times",
		`{"resultType":"input_required","requestState":"s"}`:                            "asked later",
		`{"resultType":"input_required"}`:                                               "not which",
	} {
		w.result = result
		_, err := c.Call(context.Background(), Call{Tool: "t"})
		wantKind(t, err, fault.InvalidToolOutput, want)
	}
	w.result = `{"content":[{"type":"text","text":"\"input_required\""}]}`
	if got := text(t, c, Call{Tool: "t"}); got != `"input_required"` {
		t.Errorf("got %s", got)
	}
}

// rounds is a wire that answers every request with one result.
type rounds struct {
	unwired
	c      *conn
	result string
}

func (w *rounds) send(_ []byte, id int64) error {
	if id != 0 {
		w.c.settle(id, []byte(w.result), nil)
	}
	return nil
}
