package consent

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/question"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// inquired puts q and waits until it stands in the queue.
func inquired(t *testing.T, r *Router, q Inquiry) (proto.Approval, func() (string, string, error)) {
	t.Helper()
	type outcome struct {
		answer json.RawMessage
		by     string
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		answer, by, err := r.Inquire(context.Background(), q)
		done <- outcome{answer, by, err}
	}()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if rows := r.List(); len(rows) == 1 {
			return rows[0], func() (string, string, error) {
				o := <-done
				return string(o.answer), o.by, o.err
			}
		}
		if time.Now().After(end) {
			t.Fatal("it never stood in the queue")
		}
	}
}

func TestAFormStandsInTheQueueAndIsAnsweredThere(t *testing.T) {
	var mu sync.Mutex
	var told []string
	r := New(Options{Changed: func(a proto.Approval, pending bool) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, a.Kind+map[bool]string{true: "+", false: "-"}[pending])
	}})
	defer r.Watch()()
	withdrawn := make(chan string, 1)
	busy := &bridge{id: "1", question: func(ctx context.Context, _ proto.Question) (proto.Answer, error) {
		<-ctx.Done()
		withdrawn <- context.Cause(ctx).Error()
		return proto.Answer{}, ctx.Err()
	}}
	for name, bridges := range map[string][]session.Bridge{"nobody else": nil, "a host that shows it": {busy}} {
		row, ends := inquired(t, r, form(t, bridges...))
		if row.Kind != "form" || row.Server != "booking" || row.Tool != "reserve" || row.Key != "booking_elicitation" || !strings.Contains(string(row.Params), "Which day?") {
			t.Errorf("%s: %+v", name, row)
		}
		for reply, want := range map[*proto.ApprovalReply]string{
			{Decision: "approve"}:              `field "day" is missing`,
			{Decision: "always"}:               "answered once",
			{Decision: "whatever"}:             "does not exist",
			{Decision: "deny", Feedback: "no"}: "no place for feedback",
			{Decision: "deny", Content: json.RawMessage(`{"day":"Mon"}`)}:            "values go with approve",
			{Decision: "approve", Content: json.RawMessage(`[1]`)}:                   "must be an object",
			{Decision: "approve", Content: json.RawMessage(`{"day":"x"}`)}:           "at least 3 characters",
			{Decision: "approve", Content: json.RawMessage(`{"day":"Mon","n":"x"}`)}: "was not asked for",
		} {
			if err := r.Answer(row.ID, *reply, "user"); fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v: want %q, got %v", name, *reply, want, err)
			}
		}
		if err := r.Answer(row.ID, proto.ApprovalReply{Decision: "approve", Content: json.RawMessage(`{"day":"Mon"}`)}, "user"); err != nil {
			t.Error(err)
		}
		if answer, by, err := ends(); err != nil || by != "user" || answer != monday {
			t.Errorf("%s: got %s by %s, %v", name, answer, by, err)
		}
		if err := r.Answer(row.ID, proto.ApprovalReply{Decision: "approve"}, "user"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: a late answer: %v", name, err)
		}
	}
	if why := <-withdrawn; !strings.Contains(why, "settled") {
		t.Errorf("the host was told %q", why)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) < 4 || told[0] != "form+" || told[len(told)-1] != "form-" {
		t.Errorf("listeners were told %q", told)
	}
}

func TestWhatServersAskIsDeclinedFromTheQueue(t *testing.T) {
	r := New(Options{})
	defer r.Watch()()
	row, ends := inquired(t, r, form(t))
	if err := r.Answer(row.ID, proto.ApprovalReply{Decision: "deny"}, "user"); err != nil {
		t.Error(err)
	}
	if answer, _, err := ends(); err != nil || answer != `{"action":"decline"}` {
		t.Errorf("got %s, %v", answer, err)
	}
	page := form(t)
	var err error
	if page.Question, err = question.Read(question.Elicitation, json.RawMessage(`{"mode":"url","message":"m","url":"https://example.com/x"}`)); err != nil {
		t.Fatal(err)
	}
	row, ends = inquired(t, r, page)
	if row.Kind != "page" {
		t.Errorf("%+v", row)
	}
	if err := r.Answer(row.ID, proto.ApprovalReply{Decision: "approve", Content: json.RawMessage(`{"a":1}`)}, "user"); fault.KindOf(err) != fault.UsageError {
		t.Errorf("values for a page: %v", err)
	}
	if err := r.Answer(row.ID, proto.ApprovalReply{Decision: "approve"}, "user"); err != nil {
		t.Error(err)
	}
	if answer, _, err := ends(); err != nil || answer != `{"action":"accept"}` {
		t.Errorf("got %s, %v", answer, err)
	}
}

// Completions are a model's business, whoever watches; and without a watch
// nothing waits that nobody can answer.
func TestTheQueueTakesNoCompletionsAndHoldsNothingUp(t *testing.T) {
	r := New(Options{})
	if _, _, err := r.Inquire(context.Background(), form(t)); fault.KindOf(err) != fault.ApprovalRequired || !strings.Contains(err.Error(), "tenon approvals --watch") {
		t.Errorf("got %v", err)
	}
	defer r.Watch()()
	q := form(t)
	var err error
	if q.Question, err = question.Read(question.Sampling, json.RawMessage(`{"messages":[{}],"maxTokens":1}`)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Inquire(context.Background(), q); fault.KindOf(err) != fault.ApprovalRequired || strings.Contains(err.Error(), "--watch") {
		t.Errorf("got %v", err)
	}
}

func TestValuesDoNotGoWithAnApproval(t *testing.T) {
	r := New(Options{})
	defer r.Watch()()
	done := make(chan error, 1)
	go func() {
		_, err := r.Ask(context.Background(), Question{Session: "C", Root: "C", Key: "a_b", Server: "a", Tool: "b"})
		done <- err
	}()
	var rows []proto.Approval
	for end := time.Now().Add(10 * time.Second); len(rows) == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		rows = r.List()
	}
	if err := r.Answer(rows[0].ID, proto.ApprovalReply{Decision: "approve", Content: json.RawMessage(`{}`)}, "user"); fault.KindOf(err) != fault.UsageError {
		t.Errorf("got %v", err)
	}
	if err := r.Answer(rows[0].ID, proto.ApprovalReply{Decision: "approve"}, "user"); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
