package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestAQuestionIsWithdrawnWithItsRunAndALateAnswerDropped(t *testing.T) {
	b := newBench(t)
	b.work.run = func(ctx context.Context, r RunRequest) (*proto.RunDone, error) {
		_, err := r.Bridge.Ask(ctx, proto.Ask{ID: "ask_1", Origin: origin, Key: "srv_echo", Server: "srv", Tool: "echo"})
		return nil, err
	}
	p := b.open()
	id := p.ask(proto.MethodRunStart, runStart())
	ask := p.next(proto.MethodAsk, &proto.Ask{})
	p.tell(proto.MethodAskShown, proto.AskShown{ID: "ask_1"})
	p.tell(proto.MethodCancelRequest, proto.CancelRequest{ID: id, Reason: "user"})
	var cancel proto.CancelRequest
	p.next(proto.MethodCancelRequest, &cancel)
	if string(cancel.ID) != string(ask.ID) {
		t.Errorf("cancelled %s, want %s", cancel.ID, ask.ID)
	}
	var w proto.Withdraw
	withdrawn := p.next(proto.MethodWithdraw, &w)
	if w.ID != "ask_1" || w.Reason != "user" {
		t.Errorf("got %+v", w)
	}
	p.answer(withdrawn, proto.Done{})
	if m := p.reply(); m.Error == nil || m.Error.Data.Kind != string(fault.Cancelled) {
		t.Errorf("got %+v", m)
	}
	p.answer(ask, proto.AskReply{Reply: "once"}) // late
	p.must(proto.MethodStatusGet, proto.StatusGet{Session: "ses_1"}, &proto.SessionStatus{})
}

func TestAServersQuestionReachesTheHostAndItsAnswerComesBack(t *testing.T) {
	b := newBench(t)
	p := b.open()
	type outcome struct {
		answer proto.Answer
		err    error
	}
	done := make(chan outcome, 1)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	put := func(id string) {
		a, err := only(t, b).Question(ctx, proto.Question{
			ID: id, Origin: origin, Server: "srv", Tool: "book", Kind: "elicitation", Params: json.RawMessage(`{"message":"Which day?"}`),
		})
		done <- outcome{a, err}
	}

	go put("ask_1")
	var q proto.Question
	asked := p.next(proto.MethodQuestion, &q)
	p.tell(proto.MethodAskShown, proto.AskShown{ID: "ask_1"})
	p.answer(asked, proto.Answer{Result: json.RawMessage(`{"action":"decline"}`)})
	if got := take(t, done); got.err != nil || string(got.answer.Result) != `{"action":"decline"}` || string(q.Params) != `{"message":"Which day?"}` {
		t.Errorf("got %+v for %+v", got, q)
	}

	go put("ask_2")
	p.next(proto.MethodQuestion, &q)
	p.tell(proto.MethodAskShown, proto.AskShown{ID: "ask_2"})
	cancel(errors.New("the server took it back"))
	p.next(proto.MethodCancelRequest, &proto.CancelRequest{})
	var w proto.Withdraw
	p.answer(p.next(proto.MethodWithdraw, &w), proto.Done{})
	if got := take(t, done); got.err == nil || w.ID != "ask_2" || w.Reason != "the server took it back" {
		t.Errorf("got %+v and %+v", got, w)
	}
}

func TestAHostThatDoesNotShowAQuestionIsGivenUp(t *testing.T) {
	b := newBench(t)
	p := b.open()
	failed := make(chan error, 1)
	go func() {
		_, err := only(t, b).Ask(context.Background(), proto.Ask{ID: "ask_1", Origin: origin})
		failed <- err
	}()
	p.next(proto.MethodAsk, &proto.Ask{})
	if err := take(t, failed); fault.KindOf(err) != fault.ApprovalRequired {
		t.Errorf("got %v", err)
	}
	p.next(proto.MethodCancelRequest, &proto.CancelRequest{})
	p.answer(p.next(proto.MethodWithdraw, &proto.Withdraw{}), proto.Done{})
}
