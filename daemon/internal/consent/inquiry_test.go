package consent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/question"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func form(t *testing.T, bridges ...session.Bridge) Inquiry {
	t.Helper()
	q, err := question.Read(question.Elicitation, json.RawMessage(
		`{"message":"Which day?","requestedSchema":{"type":"object","properties":{"day":{"type":"string","minLength":3}},"required":["day"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return Inquiry{Session: "C", Root: "P", Bridges: bridges, Run: "run_1", Server: "booking", Tool: "reserve", Question: q}
}

func replied(result, unavailable string) func(context.Context, proto.Question) (proto.Answer, error) {
	return func(context.Context, proto.Question) (proto.Answer, error) {
		return proto.Answer{Result: json.RawMessage(result), Unavailable: unavailable}, nil
	}
}

const monday = `{"action":"accept","content":{"day":"Mon"}}`

func TestAServersQuestionGoesFromOneBridgeToTheNext(t *testing.T) {
	r := New(Options{})
	broken := &bridge{id: "1", question: func(context.Context, proto.Question) (proto.Answer, error) {
		return proto.Answer{}, errors.New("gone")
	}}
	unable := &bridge{id: "2", question: replied("", "this host has no forms")}
	wrong := &bridge{id: "3", question: replied(`{"action":"accept","content":{"day":7}}`, "")}
	able := &bridge{id: "4", question: replied(monday, "")}
	answer, by, err := r.Inquire(context.Background(), form(t, broken, unable, wrong, able))
	if err != nil || by != "4" || string(answer) != monday {
		t.Errorf("got %s by %s, %v", answer, by, err)
	}

	began := time.Now()
	_, _, err = r.Inquire(context.Background(), form(t, unable, wrong))
	if fault.KindOf(err) != fault.ApprovalRequired || !strings.Contains(err.Error(), "this host has no forms") ||
		!strings.Contains(err.Error(), `field "day" must be a text`) {
		t.Errorf("got %v", err)
	}
	_, _, err = r.Inquire(context.Background(), form(t))
	if fault.KindOf(err) != fault.ApprovalRequired || !strings.Contains(err.Error(), "no host and no terminal") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("nobody to ask took %v", took)
	}
	if n := len(r.Inquiries()); n != 0 {
		t.Errorf("%d are left", n)
	}
}

func TestTheTerminalAnswersLastAndMayTryAgain(t *testing.T) {
	r := New(Options{})
	q := form(t, &bridge{id: "1", question: replied("", "this host has no forms")})
	q.Terminal = true
	shown, over := make(chan proto.Question, 1), make(chan proto.Withdraw, 1)
	q.Shown = func(w proto.Question) { shown <- w }
	q.Over = func(w proto.Withdraw) { over <- w }
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
	w := <-shown
	if w.Kind != "elicitation" || w.Run != "run_1" || !strings.Contains(string(w.Params), "Which day?") {
		t.Errorf("shown %+v", w)
	}
	if all := r.Inquiries(); len(all) != 1 || all[0].ID != w.ID || all[0].Session != "C" {
		t.Errorf("pending %+v", all)
	}
	err := r.Reply(w.ID, proto.Answer{Result: json.RawMessage(`{"action":"accept","content":{"day":"x"}}`)}, "user")
	if fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), "at least 3 characters") {
		t.Errorf("a wrong answer: %v", err)
	}
	if err := r.Reply(w.ID, proto.Answer{Result: json.RawMessage(monday)}, "user"); err != nil {
		t.Error(err)
	}
	if got := <-done; got.err != nil || got.by != "user" || string(got.answer) != monday {
		t.Errorf("got %+v", got)
	}
	if w := <-over; w.ID == "" {
		t.Error("the end was not told")
	}
	if err := r.Reply(w.ID, proto.Answer{Result: json.RawMessage(monday)}, "user"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a late answer: %v", err)
	}
}

func TestAQuestionThatTheTerminalGivesUpIsDeclined(t *testing.T) {
	r := New(Options{})
	q := form(t)
	q.Terminal = true
	q.Shown = func(w proto.Question) {
		if err := r.Reply(w.ID, proto.Answer{Unavailable: "nobody types"}, "user"); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := r.Inquire(context.Background(), q); fault.KindOf(err) != fault.ApprovalRequired || !strings.Contains(err.Error(), "nobody types") {
		t.Errorf("got %v", err)
	}
}

func TestAQuestionIsTakenBackWhenNobodyNeedsItAnyMore(t *testing.T) {
	for name, end := range map[string]func(cancel context.CancelCauseFunc, q *Inquiry){
		"the run was cancelled": func(cancel context.CancelCauseFunc, _ *Inquiry) {
			cancel(fault.New(fault.Cancelled, "the run was cancelled"))
		},
		"the session ended": func(_ context.CancelCauseFunc, q *Inquiry) {
			ended := make(chan struct{})
			close(ended)
			q.Ended = ended
		},
		"nobody answered within": func(_ context.CancelCauseFunc, q *Inquiry) { q.Timeout = 10 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			withdrawn := make(chan string, 1)
			q := form(t, &bridge{id: "1", question: func(ctx context.Context, _ proto.Question) (proto.Answer, error) {
				<-ctx.Done()
				withdrawn <- context.Cause(ctx).Error()
				return proto.Answer{}, ctx.Err()
			}})
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			end(cancel, &q)
			_, _, err := New(Options{}).Inquire(ctx, q)
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v", err)
			}
			if why := <-withdrawn; !strings.Contains(why, name) {
				t.Errorf("the host was told %q", why)
			}
			if IsLate(err) != (q.Timeout > 0) {
				t.Errorf("late is wrong for %v", err)
			}
		})
	}
}

func TestATerminalIsNotAskedForACompletion(t *testing.T) {
	q := form(t)
	var err error
	q.Question, err = question.Read(question.Sampling, json.RawMessage(`{"messages":[{}],"maxTokens":1}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Terminal = true
	if _, _, err := New(Options{}).Inquire(context.Background(), q); fault.KindOf(err) != fault.ApprovalRequired || !strings.Contains(err.Error(), "no model") {
		t.Errorf("got %v", err)
	}
}
