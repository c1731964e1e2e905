package run

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestATimeLimitCountsEverythingButHumans(t *testing.T) {
	r := newRig(t)
	limit := int64(400)
	answered := make(chan struct{})
	r.path.call = func(ctx context.Context, c call.Request) (*call.Result, error) {
		c.OnWait(call.WaitHuman, true)
		<-answered
		c.OnWait(call.WaitHuman, false)
		return &call.Result{Value: json.RawMessage(`1`)}, ctx.Err()
	}
	time.AfterFunc(1200*time.Millisecond, func() { close(answered) })
	res := r.exec(proto.ExecRequest{TimeoutMS: &limit}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		_, err := h.Call(ctx, "fake", "echo", nil, engine.CallOptions{})
		return &engine.Outcome{Err: fault.From(err), Value: json.RawMessage("1")}
	})
	if !res.OK || res.Timing.Human < 1000 || res.Timing.Total < res.Timing.Human {
		t.Errorf("%+v %+v", res.Error, res.Timing)
	}
	res = r.exec(proto.ExecRequest{TimeoutMS: &limit}, func(ctx context.Context, _ engine.Program, _ engine.Host) *engine.Outcome {
		<-ctx.Done()
		return &engine.Outcome{Err: fault.From(ctx.Err())}
	})
	if res.Error == nil || res.Error.Kind != "TimeoutExceeded" || !strings.Contains(res.Error.Message, "400ms") {
		t.Errorf("%+v", res.Error)
	}
}

// A tool whose server asks somebody counts as waiting for the answer, on the
// human's clock.
func TestAServersQuestionIsHumanTime(t *testing.T) {
	fired := make(chan struct{})
	c := newClocks(make(chan struct{}, 1), 50*time.Millisecond, func() { close(fired) })
	defer c.stop()
	c.note(call.WaitTool, true)
	c.note(call.WaitTool, false)
	c.note(call.WaitAnswer, true)
	if got := c.waiting(); got != "answer" {
		t.Errorf("waits for %q", got)
	}
	select {
	case <-fired:
		t.Fatal("the limit must stand still")
	case <-time.After(200 * time.Millisecond):
	}
	if got := c.timing(); got.Human < 150 || got.Tools > got.Human {
		t.Errorf("timing %+v", got)
	}
	c.note(call.WaitTool, true)
	c.note(call.WaitAnswer, false)
	if got := c.waiting(); got != "tool" {
		t.Errorf("waits for %q", got)
	}
	<-fired
}

func TestTheClockGoesOnAfterAHuman(t *testing.T) {
	fired := make(chan struct{})
	c := newClocks(make(chan struct{}, 1), 50*time.Millisecond, func() { close(fired) })
	defer c.stop()
	c.note(call.WaitHuman, true)
	c.note(call.WaitHuman, true)
	c.note(call.WaitHuman, false)
	select {
	case <-fired:
		t.Fatal("it must stand still while one of two is still asked")
	case <-time.After(200 * time.Millisecond):
	}
	c.note(call.WaitHuman, false)
	select {
	case <-fired:
	case <-time.After(30 * time.Second):
		t.Fatal("it must go on")
	}
}

func TestOnlySoManyProgramsComputeAtATime(t *testing.T) {
	r := newRig(t) // two tokens
	holding := make(chan struct{}, 3)
	proceed := make(chan struct{})
	r.run = func(ctx context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
		if err := p.Clock.Resume(ctx); err != nil {
			return &engine.Outcome{Err: fault.From(err)}
		}
		holding <- struct{}{}
		<-proceed
		return value("1") // with the token: the run's end gives it back
	}
	a, b := r.start(proto.ExecRequest{}), r.start(proto.ExecRequest{})
	<-holding
	<-holding
	third := r.start(proto.ExecRequest{})
	deadline := time.Now().Add(30 * time.Second)
	for third.Info().Waiting != "queue" {
		if time.Now().After(deadline) {
			t.Fatalf("the third waits for %q", third.Info().Waiting)
		}
		time.Sleep(time.Millisecond) // the interval of the poll
	}
	close(proceed)
	for _, one := range []*Run{a, b, third} {
		if res := one.Wait(); !res.OK || one != third && res.Timing.Compute <= 0 { // the third has nothing left to compute
			t.Errorf("%+v %+v", res.Error, res.Timing)
		}
	}
	if third.Wait().Timing.Queue <= 0 {
		t.Error("waiting for a token is queue time")
	}
}
