package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

//
func TestRootsAreAnsweredAtAnyTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	c := dial(t, stdioSpec(t, "--ask", "initialize", "--journal", path))
	if got := text(t, c, Call{Tool: "ask-roots"}); got != `{"roots":[]}` {
		t.Errorf("no roots: %s", got)
	}
	c.SetRoots([]string{"/home/u/a b", "/srv/x"})
	c.SetRoots([]string{"/home/u/a b", "/srv/x"})
	want := `{"roots":[{"uri":"file:///home/u/a%20b","name":"a b"},{"uri":"file:///srv/x","name":"x"}]}`
	if got := text(t, c, Call{Tool: "ask-roots"}); got != want {
		t.Errorf("roots: %s", got)
	}
	if n := len(methods(journal(t, path), "notifications/roots/list_changed")); n != 1 {
		t.Errorf("told of the change %d times", n)
	}
	text(t, dial(t, stdioSpec(t, "--ask", "call")), Call{Tool: "echo"})

	early := filepath.Join(t.TempDir(), "journal")
	spec := stdioSpec(t, "--ask", "initialize", "--journal", early)
	spec.Roots = []string{"/srv/x"}
	text(t, dial(t, spec), Call{Tool: "echo"})
	raw, err := os.ReadFile(early)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "file:///srv/x") || strings.Contains(string(raw), "list_changed") {
		t.Errorf("during the handshake: %s", raw)
	}
}

//
func TestQuestionGoesToTheOnlyCallInFlight(t *testing.T) {
	c := dial(t, stdioSpec(t))
	var asked string
	got := text(t, c, Call{Tool: "elicit", Arguments: args(`{"text":"sure?"}`), Questions: human(
		func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			asked = method + string(params)
			return json.RawMessage("{\"action\":\"accept\",\n\"content\":{\"ok\":true}}"), nil
		})})
	if got != `{"action":"accept", "content":{"ok":true}}` || !strings.HasPrefix(asked, `elicitation/create{"message":"sure?"`) {
		t.Errorf("asked %s, server got %s", asked, got)
	}
}

//
func TestQuestionWithoutAnybodyIsDeclinedAtOnce(t *testing.T) {
	e := &ear{}
	s := stdioSpec(t)
	s.Observer = e
	c := dial(t, s)
	began := time.Now()
	if got := text(t, c, Call{Tool: "elicit"}); got != `{"action":"decline"}` {
		t.Errorf("nobody to ask: %s", got)
	}
	declined := make(chan string, 8)
	never := told{human(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		t.Error("asked one of two calls")
		return nil, nil
	}), declined}
	other := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := c.Call(ctx, Call{Tool: "sleep", Arguments: args(`{"ms":60000}`), Questions: never})
		other <- err
	}()
	eventually(t, "the other call is in flight", func() bool { id, _ := c.single(); return id != 0 })
	if got := text(t, c, Call{Tool: "elicit", Questions: never}); got != `{"action":"decline"}` {
		t.Errorf("two calls: %s", got)
	}
	if got := text(t, c, Call{Tool: "ask", Arguments: args(`{"method":"sampling/createMessage","params":{}}`)}); !strings.Contains(got, "declined") {
		t.Errorf("sampling: %s", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	cancel()
	<-other
	if _, _, logs := e.heard(); len(logs) != 3 || !strings.Contains(logs[1], "concurrency") {
		t.Errorf("logs %q", logs)
	}
	if told := <-declined; !strings.Contains(told, "elicitation/create several calls") {
		t.Errorf("the calls were told %q", told)
	}
}

// CODE-12, R-18: a human's time is not the tool's.
func TestClocksStandStillDuringAQuestion(t *testing.T) {
	c := dial(t, stdioSpec(t))
	slow := human(func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		select {
		case <-time.After(2 * time.Second):
			return json.RawMessage(`{"action":"accept"}`), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	got := text(t, c, Call{Tool: "elicit", Questions: slow, Timeout: time.Second, Wall: 1500 * time.Millisecond})
	if got != `{"action":"accept"}` {
		t.Errorf("got %s", got)
	}
}

func TestFailedAnswerDeclines(t *testing.T) {
	c := dial(t, stdioSpec(t))
	for _, h := range []human{
		func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, fault.New(fault.ApprovalRequired, "nobody there")
		},
		func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`nonsense`), nil
		},
		func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("boom")
		},
	} {
		if got := text(t, c, Call{Tool: "elicit", Questions: h}); got != `{"action":"decline"}` {
			t.Errorf("got %s", got)
		}
	}
}

func TestQuestionEndsWithTheConnection(t *testing.T) {
	c := dial(t, stdioSpec(t))
	asked := make(chan struct{})
	ended := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Call(context.Background(), Call{Tool: "elicit", Questions: human(
			func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				close(asked)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return nil, ctx.Err()
			})})
	}()
	<-asked
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the question did not end")
	}
	<-done
}

func TestQuestionEndsWithItsCall(t *testing.T) {
	c := dial(t, stdioSpec(t))
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := c.Call(ctx, Call{Tool: "elicit", Questions: human(
		func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			cancel()
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, ctx.Err()
		})})
	wantKind(t, err, fault.Cancelled)
	if err := <-ended; !errors.Is(err, errCallOver) {
		t.Errorf("ended by %v", err)
	}
}

// told is a human whose call hears of questions that were declined.
type told struct {
	human
	declined chan string
}

func (q told) Declined(method, why string) { q.declined <- method + " " + why }

func TestOtherRequestsDoNotMakeAQuestionAmbiguous(t *testing.T) {
	c := dial(t, stdioSpec(t))
	listing := newPending(5, nil) // as of a tools/list that takes its time
	c.mu.Lock()
	c.calls[5] = listing
	c.mu.Unlock()
	got := text(t, c, Call{Tool: "elicit", Questions: human(
		func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"action":"accept"}`), nil
		})})
	if got != `{"action":"accept"}` {
		t.Errorf("got %s", got)
	}
	c.take(5)
	listing.free()
}

func TestAServerIsToldWhatItMayAsk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	dial(t, stdioSpec(t, "--journal", path))
	hello := methods(journal(t, path), "initialize")
	raw, err := json.Marshal(hello[0]["params"].(map[string]any)["capabilities"])
	if err != nil {
		t.Fatal(err)
	}
	if got := string(raw); got != `{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"sampling":{}}` {
		t.Errorf("declared %s", got)
	}
}

func TestAWrongQuestionIsRefusedAndAWithdrawnOneEnds(t *testing.T) {
	c := dial(t, stdioSpec(t))
	got := text(t, c, Call{Tool: "ask", Arguments: args(`{"method":"elicitation/create","params":{"mode":"voice"}}`), Questions: human(
		func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, fault.New(fault.InvalidToolInput, "no such mode")
		})})
	if !strings.Contains(got, "-32602") || !strings.Contains(got, "no such mode") {
		t.Errorf("got %s", got)
	}
	ended := make(chan error, 1)
	got = text(t, c, Call{Tool: "elicit", Arguments: args(`{"ms":20}`), Questions: human(
		func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, ctx.Err()
		})})
	if got != "taken back" || !errors.Is(<-ended, errWithdrawn) {
		t.Errorf("got %s", got)
	}
}
