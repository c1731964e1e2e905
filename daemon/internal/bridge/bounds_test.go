package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestAFrameOverTheCapClosesTheConnection(t *testing.T) {
	p := newBench(t).open()
	start := runStart()
	start.Code = strings.Repeat("x", MaxFrame)
	p.ask(proto.MethodRunStart, start)
	if err := take(t, p.closed); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerOverTheCapBecomesAFailure(t *testing.T) {
	b := newBench(t)
	b.work.run = func(context.Context, RunRequest) (*proto.RunDone, error) {
		return &proto.RunDone{Text: strings.Repeat("x", MaxFrame), Result: proto.RunResult{ID: "run_1"}}, nil
	}
	if e := b.open().fails(proto.MethodRunStart, runStart()); e.Data.Kind != string(fault.InvalidToolOutput) {
		t.Errorf("got %+v", e.Data)
	}
}

func TestAPluginThatStopsReadingIsClosed(t *testing.T) {
	b := newBench(t)
	p := b.dial()
	p.must(proto.MethodHello, hello(), &proto.HelloResult{})
	c := only(t, b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Filled until sockets and queue hold no more: the plugin's reader is stuck
	// because nobody takes the messages it read.
	notice := proto.Notice{Level: "info", Message: strings.Repeat("x", 64<<10)}
	for range queueLength + 400 {
		go func() { _ = c.Notice(ctx, notice) }()
	}
	eventually(t, "the connection is closed", func() bool { return len(b.server.Bridges()) == 0 })
}

func TestAPanicInAHandlerStaysInItsRequest(t *testing.T) {
	b := newBench(t)
	b.work.run = func(context.Context, RunRequest) (*proto.RunDone, error) { panic("oops") }
	p := b.open()
	if e := p.fails(proto.MethodRunStart, runStart()); e.Data.Kind != string(fault.InternalError) || strings.Contains(e.Message, "oops") {
		t.Errorf("got %+v", e.Data)
	}
	p.must(proto.MethodStatusGet, proto.StatusGet{Session: "ses_1"}, &proto.SessionStatus{})
}

func TestRequestsInWorkAreBounded(t *testing.T) {
	b := newBench(t)
	b.work.run = func(ctx context.Context, _ RunRequest) (*proto.RunDone, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	p := b.open()
	for range MaxRequests + 1 {
		p.ask(proto.MethodRunStart, runStart())
	}
	if m := p.reply(); m.Error == nil || m.Error.Data.Kind != string(fault.PoolExhausted) {
		t.Errorf("got %+v", m)
	}
}
