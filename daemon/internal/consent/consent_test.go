package consent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bridge is a plugin in memory.
type bridge struct {
	id    string
	human bool
	ask   func(ctx context.Context, a proto.Ask) (proto.AskReply, error)
	// question is for servers' questions.
	question func(ctx context.Context, q proto.Question) (proto.Answer, error)

	mu      sync.Mutex
	asked   []proto.Ask
	notices []string
}

func (b *bridge) ID() string        { return b.id }
func (b *bridge) PID() int          { return 1 }
func (b *bridge) Host() string      { return "opencode-v1" }
func (b *bridge) Interactive() bool { return b.human }
func (b *bridge) Directory() string { return "/project" }
func (b *bridge) Event(proto.Frame) {}
func (b *bridge) Ask(ctx context.Context, a proto.Ask) (proto.AskReply, error) {
	b.mu.Lock()
	b.asked = append(b.asked, a)
	b.mu.Unlock()
	return b.ask(ctx, a)
}
func (b *bridge) Question(ctx context.Context, q proto.Question) (proto.Answer, error) {
	return b.question(ctx, q)
}
func (b *bridge) Resolve(context.Context, string) (proto.Resolved, error) {
	return proto.Resolved{}, nil
}
func (b *bridge) Notice(_ context.Context, n proto.Notice) error {
	b.mu.Lock()
	b.notices = append(b.notices, n.Message)
	b.mu.Unlock()
	return nil
}

// A host that has said it has a user, and then cannot show the question, is passed
// over like one without: nobody waits for an answer that cannot come.
func TestABridgeThatTurnsOutToHaveNobodyIsNotWaitedFor(t *testing.T) {
	b := &bridge{id: "mcp", human: true}
	b.ask = func(context.Context, proto.Ask) (proto.AskReply, error) {
		b.human = false
		return proto.AskReply{}, errors.New("the client answered the form with an error")
	}
	began := time.Now()
	_, err := New(Options{}).Ask(t.Context(), Question{Key: "k", Bridges: []session.Bridge{b}, Timeout: time.Hour})
	if fault.KindOf(err) != fault.ApprovalRequired || time.Since(began) > 30*time.Second {
		t.Errorf("%v", err)
	}
	if _, notices := b.seen(); notices != 0 {
		t.Errorf("%d notices to nobody", notices)
	}
}

func (b *bridge) seen() (asks, notices int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asked), len(b.notices)
}

func replies(reply proto.AskReply, err error) func(context.Context, proto.Ask) (proto.AskReply, error) {
	return func(context.Context, proto.Ask) (proto.AskReply, error) { return reply, err }
}

// silent never answers; it notes when its question is taken back.
func silent(withdrawn chan<- error) func(context.Context, proto.Ask) (proto.AskReply, error) {
	return func(ctx context.Context, _ proto.Ask) (proto.AskReply, error) {
		<-ctx.Done()
		withdrawn <- context.Cause(ctx)
		return proto.AskReply{}, ctx.Err()
	}
}

func about(bridges ...session.Bridge) Question {
	return Question{Session: "C", Root: "P", Bridges: bridges, Run: "run_1", Key: "fake_echo", Server: "fake", Tool: "echo", Reason: `rule "fake_*": ask`}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not reached: %s", what)
		}
		time.Sleep(time.Millisecond) // the interval of the poll
	}
}

type outcome struct {
	a   Answer
	err *fault.Error
}

func ask(r *Router, ctx context.Context, q Question) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		a, err := r.Ask(ctx, q)
		out <- outcome{a, fault.From(err)}
	}()
	return out
}

func TestTheBridgeThatStartedTheRunAnswers(t *testing.T) {
	for reply, want := range map[string]fault.Kind{"once": "", "always": "", "reject": fault.PermissionDenied} {
		other := &bridge{id: "other", human: true}
		b := &bridge{id: "b", human: true, ask: replies(proto.AskReply{Reply: reply, Feedback: map[bool]string{true: "not now"}[reply == "reject"]}, nil)}
		o := <-ask(New(Options{}), context.Background(), about(b, other))
		if reply == "reject" {
			if o.err == nil || o.err.Kind != want || o.err.Feedback != "not now" || !strings.Contains(o.err.Message, "not now") {
				t.Errorf("%+v", o.err)
			}
			continue
		}
		if o.err != nil || o.a.By != "b" || o.a.Always != (reply == "always") {
			t.Errorf("%s: %+v %+v", reply, o.a, o.err)
		}
		if n, _ := other.seen(); n != 0 {
			t.Error("nobody else is asked")
		}
	}
	b := &bridge{id: "b", ask: replies(proto.AskReply{Reply: "reject", Denied: true}, nil)}
	if o := <-ask(New(Options{}), context.Background(), about(b)); o.err == nil || !strings.Contains(o.err.Message, "rule of the host") {
		t.Errorf("%+v", o.err)
	}
}

func TestTheNextIsAskedWhenOneCannotShowIt(t *testing.T) {
	deaf := &bridge{id: "deaf", human: true, ask: replies(proto.AskReply{}, errors.New("did not show the question"))}
	busy := &bridge{id: "busy", human: true, ask: replies(proto.AskReply{Reply: "unavailable"}, nil)}
	good := &bridge{id: "good", human: true, ask: replies(proto.AskReply{Reply: "once"}, nil)}
	if o := <-ask(New(Options{}), context.Background(), about(deaf, busy, good)); o.err != nil || o.a.By != "good" {
		t.Errorf("%+v %+v", o.a, o.err)
	}
}

// what a shell's run needs waits in the queue, with a notice.
func TestShellRunsWaitInTheQueueWithANotice(t *testing.T) {
	r := New(Options{})
	b := &bridge{id: "b", human: true, ask: replies(proto.AskReply{Reply: "unavailable"}, nil)}
	done := ask(r, context.Background(), about(b))
	eventually(t, "a notice", func() bool { _, n := b.seen(); return n == 1 })
	list := r.List()
	if len(list) != 1 || list[0].Key != "fake_echo" || list[0].Session != "C" || list[0].Root != "P" || list[0].Reason == "" || list[0].Deadline == "" {
		t.Fatalf("%+v", list)
	}
	if !strings.Contains(b.notices[0], "tenon approve "+list[0].ID) {
		t.Errorf("notice %q", b.notices[0])
	}
	if err := r.Answer(list[0].ID, proto.ApprovalReply{Decision: "maybe"}, "u"); fault.KindOf(err) != fault.UsageError {
		t.Errorf("%v", err)
	}
	if err := r.Answer(list[0].ID, proto.ApprovalReply{Decision: "always"}, "u"); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.err != nil || !o.a.Always || o.a.By != "u" {
		t.Errorf("%+v %+v", o.a, o.err)
	}
	if err := r.Answer(list[0].ID, proto.ApprovalReply{Decision: "deny"}, "u"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a late answer: %v", err)
	}
	if len(r.List()) != 0 {
		t.Error("a settled question is not pending")
	}
}

// nothing hangs where nobody is.
func TestNobodyThereEndsAtOnce(t *testing.T) {
	r := New(Options{})
	began := time.Now()
	o := <-ask(r, context.Background(), about())
	if o.err == nil || o.err.Kind != fault.ApprovalRequired || o.err.Server != "fake" || !strings.Contains(o.err.Hint, "fake_echo") {
		t.Errorf("%+v", o.err)
	}
	// A headless host answers by itself or not at all.
	withdrawn := make(chan error, 1)
	o = <-ask(r, context.Background(), about(&bridge{id: "b", ask: silent(withdrawn)}))
	if o.err == nil || o.err.Kind != fault.ApprovalRequired || <-withdrawn == nil {
		t.Errorf("%+v", o.err)
	}
	o = <-ask(r, context.Background(), about(&bridge{id: "b", ask: replies(proto.AskReply{Reply: "unavailable"}, nil)}))
	if o.err == nil || o.err.Kind != fault.ApprovalRequired {
		t.Errorf("%+v", o.err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestATerminalOrAWatcherCountsAsSomebody(t *testing.T) {
	r := New(Options{})
	q := about()
	q.Interactive = true
	var shown []proto.Ask
	q.Shown = func(a proto.Ask) { shown = append(shown, a) }
	done := ask(r, context.Background(), q)
	eventually(t, "a question", func() bool { return len(r.List()) == 1 })
	if err := r.Answer(r.List()[0].ID, proto.ApprovalReply{Decision: "approve"}, "tty"); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.err != nil || o.a.Always || len(shown) != 1 || shown[0].Key != "fake_echo" {
		t.Errorf("%+v %+v %+v", o.a, o.err, shown)
	}
	stop := r.Watch()
	done = ask(r, context.Background(), about())
	eventually(t, "a question for the watcher", func() bool { return len(r.List()) == 1 })
	if err := r.Answer(r.List()[0].ID, proto.ApprovalReply{Decision: "deny"}, "w"); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o.err == nil || o.err.Kind != fault.PermissionDenied {
		t.Errorf("%+v", o.err)
	}
	stop()
	stop()
	if o := <-ask(r, context.Background(), about()); o.err == nil || o.err.Kind != fault.ApprovalRequired {
		t.Errorf("nobody watches any more: %+v", o.err)
	}
}

func TestNoAnswerInTime(t *testing.T) {
	withdrawn := make(chan error, 1)
	q := about(&bridge{id: "b", human: true, ask: silent(withdrawn)})
	q.Timeout = 50 * time.Millisecond
	o := <-ask(New(Options{}), context.Background(), q)
	if o.err == nil || o.err.Kind != fault.ApprovalRequired || !strings.Contains(o.err.Message, "50ms") {
		t.Errorf("%+v", o.err)
	}
	if err := <-withdrawn; err == nil {
		t.Error("it must be taken back")
	}
}

func TestCancelTakesTheQuestionBack(t *testing.T) {
	r := New(Options{})
	withdrawn := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(context.Background())
	b := &bridge{id: "b", human: true, ask: silent(withdrawn)}
	done := ask(r, ctx, about(b))
	eventually(t, "asked", func() bool { n, _ := b.seen(); return n == 1 })
	cancel(fault.New(fault.Cancelled, "user"))
	if o := <-done; o.err == nil || o.err.Kind != fault.Cancelled || o.err.Message != "user" {
		t.Errorf("%+v", o.err)
	}
	if err := <-withdrawn; err == nil || err.Error() != "user" {
		t.Errorf("withdrawn with %v", err)
	}
	if len(r.List()) != 0 {
		t.Error("still pending")
	}
}

// closing the session ends the question.
func TestTheEndOfASessionEndsItsQuestions(t *testing.T) {
	r := New(Options{})
	stay := about()
	stay.Session, stay.Root, stay.Interactive = "X", "X", true
	staying := ask(r, context.Background(), stay)
	for _, id := range []string{"C", "P"} {
		q := about()
		q.Interactive = true
		done := ask(r, context.Background(), q)
		eventually(t, "both pending", func() bool { return len(r.List()) == 2 })
		r.EndSession(id, "deleted")
		if o := <-done; o.err == nil || o.err.Kind != fault.Cancelled {
			t.Errorf("%s: %+v", id, o.err)
		}
	}
	q := about()
	q.Interactive = true
	ended := make(chan struct{})
	q.Ended = ended
	done := ask(r, context.Background(), q)
	eventually(t, "both pending", func() bool { return len(r.List()) == 2 })
	close(ended)
	if o := <-done; o.err == nil || o.err.Kind != fault.Cancelled {
		t.Errorf("%+v", o.err)
	}
	r.EndSession("X", "test over")
	<-staying
}

func TestManyQuestionsAreAnsweredInAnyOrder(t *testing.T) {
	r := New(Options{})
	const n = 20
	var waits []<-chan outcome
	for range n {
		q := about()
		q.Interactive = true
		waits = append(waits, ask(r, context.Background(), q))
	}
	eventually(t, "all pending", func() bool { return len(r.List()) == n })
	list := r.List()
	var wg sync.WaitGroup
	for i := len(list) - 1; i >= 0; i-- {
		for range 3 { // three answers race; one counts
			wg.Add(1)
			go func() {
				defer wg.Done()
				err := r.Answer(list[i].ID, proto.ApprovalReply{Decision: "approve"}, "u")
				if err != nil && fault.KindOf(err) != fault.NotFound {
					t.Error(err)
				}
			}()
		}
	}
	wg.Wait()
	for _, w := range waits {
		if o := <-w; o.err != nil {
			t.Errorf("%+v", o.err)
		}
	}
}

func TestChangesAreTold(t *testing.T) {
	var mu sync.Mutex
	var told []bool
	r := New(Options{Changed: func(a proto.Approval, pending bool) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, pending)
	}})
	<-ask(r, context.Background(), about(&bridge{id: "b", human: true, ask: replies(proto.AskReply{Reply: "once"}, nil)}))
	mu.Lock()
	defer mu.Unlock()
	if len(told) < 2 || !told[0] || told[len(told)-1] {
		t.Errorf("told %v", told)
	}
}
