package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

var origin = proto.Origin{Session: "ses_1", Message: "msg_1", Call: "call_1", Agent: "build"}

func runStart() proto.RunStart {
	return proto.RunStart{Origin: origin, Directory: "/project", Code: "1", Text: proto.TextLimits{Bytes: 1000}}
}

func TestHelloIsAnsweredWithIdentityAndTickets(t *testing.T) {
	b := newBench(t)
	p := b.dial()
	var r proto.HelloResult
	p.must(proto.MethodHello, hello(), &r)
	if r.Protocol != proto.Protocol || r.Build.Version != "1.0.0" || r.Socket != "/run/tenon/daemon.sock" {
		t.Errorf("identity: %+v", r)
	}
	if r.HostTicket == "" || r.Ticket == "" || !strings.HasPrefix(r.Session, "dir:") || len(r.Wants) != 1 {
		t.Errorf("tickets: %+v", r)
	}
	if got := b.server.Bridges(); len(got) != 1 || got[0].Directory != "/project" || got[0].PID != 4242 {
		t.Errorf("bridges: %+v", got)
	}
}

// The key of tickets is kept from one daemon to the next.
func TestAHostsTicketIsThatOfNoBridgeOfALaterDaemon(t *testing.T) {
	ids := map[string]bool{}
	for range 2 {
		connections.Store(0) // as in a new process
		var r proto.HelloResult
		newBench(t).dial().must(proto.MethodHello, hello(), &r)
		ids[r.Connection] = true
	}
	if len(ids) != 2 {
		t.Errorf("the first bridge of each daemon is %v", ids)
	}
}

func TestNothingIsServedBeforeHello(t *testing.T) {
	p := newBench(t).dial()
	if e := p.fails(proto.MethodAttach, proto.Attach{Session: "ses_1", Directory: "/"}); e.Data.Kind != string(fault.UsageError) {
		t.Errorf("got %+v", e.Data)
	}
	if err := take(t, p.closed); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("not closed: %v", err)
	}
}

func TestAFirstFrameThatIsNoMessageIsNamed(t *testing.T) {
	p := newBench(t).dial()
	p.raw("hello?")
	var closed websocket.CloseError
	if err := take(t, p.closed); !errors.As(err, &closed) || closed.Code != websocket.StatusPolicyViolation || !strings.Contains(closed.Reason, "not understood") {
		t.Errorf("closed with %v", err)
	}
}

func TestAnotherProtocolIsNamedOnBothSides(t *testing.T) {
	p := newBench(t).dial()
	p.send(proto.RPCMessage{ID: json.RawMessage("1"), Method: proto.MethodHello,
		Params: json.RawMessage(`{"protocol":99,"build":{"version":"9.9.9","commit":""},"newField":true}`)})
	m := p.reply()
	if m.Error == nil || m.Error.Data.Kind != string(fault.ProtocolMismatch) {
		t.Fatalf("got %+v", m)
	}
	for _, want := range []string{"99", "9.9.9", "1.0.0", "this side is older"} {
		if !strings.Contains(m.Error.Message, want) {
			t.Errorf("%q does not name %s", m.Error.Message, want)
		}
	}
}

func TestMistakesInMessagesAreNamed(t *testing.T) {
	p := newBench(t).open()
	for _, c := range []struct{ frame, want string }{
		{`{"jsonrpc":"2.0","id":9,"method":"session/detach","params":{"session":"ses_1"}}`, "deleted: is missing"},
		{`{"jsonrpc":"2.0","id":9,"method":"session/detach","params":{"session":"ses_1","deleted":true,"x":1}}`, "x: is not a known field"},
		{`{"jsonrpc":"2.0","id":9,"method":"session/detach"}`, "is not JSON"},
		{`{"jsonrpc":"2.0","id":9,"method":"run/strat"}`, `no method "run/strat"`},
		{`{"jsonrpc":"1.0","id":9}`, "jsonrpc: must be one of 2.0"},
		{`{"id":`, "is not JSON"},
	} {
		p.raw(c.frame)
		if m := p.reply(); m.Error == nil || !strings.Contains(m.Error.Message, c.want) {
			t.Errorf("%s: got %+v, want %q", c.frame, m.Error, c.want)
		}
	}
	p.must(proto.MethodStatusGet, proto.StatusGet{Session: "ses_1"}, &proto.SessionStatus{}) // still served
}

func TestARunCarriesItsSessionAndRules(t *testing.T) {
	b := newBench(t)
	b.work.run = func(_ context.Context, r RunRequest) (*proto.RunDone, error) {
		if r.Caller.Session.ID != "ses_1" || r.Caller.Class != peer.Agent || r.Caller.Dir != "/project" {
			return nil, fmt.Errorf("caller %+v", r.Caller)
		}
		if rules := r.Caller.Session.Rules(); rules == nil || rules.Version != "v2" {
			return nil, fmt.Errorf("rules %+v", rules)
		}
		r.OnFrame(proto.Frame{Seq: 1, Type: "start", Run: "run_1"})
		return &proto.RunDone{Text: "1", Result: proto.RunResult{ID: "run_1", Session: "ses_1", OK: true, Value: json.RawMessage("1")}}, nil
	}
	p := b.open()
	start := runStart()
	start.Rules = &proto.RuleList{Version: "v2", Agent: "build", Confirmed: true}
	var done proto.RunDone
	p.must(proto.MethodRunStart, start, &done)
	if done.Text != "1" || !done.Result.OK {
		t.Errorf("got %+v", done)
	}
	var frame proto.Frame
	p.next(proto.MethodRunEvent, &frame)
	if frame.Call != start.Origin.Call || frame.Call == "" {
		t.Errorf("the frame names the call %q, want %q", frame.Call, start.Origin.Call)
	}
}

func TestTheTextOfARunIsNotEscapedForWebPages(t *testing.T) {
	b := newBench(t)
	b.work.run = func(context.Context, RunRequest) (*proto.RunDone, error) {
		return &proto.RunDone{Text: "<b>&", Result: proto.RunResult{ID: "run_1", Value: json.RawMessage(`"<b>&"`)}}, nil
	}
	p := b.open()
	p.ask(proto.MethodRunStart, runStart())
	if m := p.reply(); strings.Count(string(m.Result), `"<b>&"`) != 2 {
		t.Errorf("got %s", m.Result)
	}
}

// What a host tells of a session when it is asked carries the host's own
// environment, so that its servers are those of an attached one.
func TestAResolvedSessionHasTheHostsEnvironment(t *testing.T) {
	b := newBench(t)
	p := b.dial()
	p.must(proto.MethodHello, hello(), &proto.HelloResult{})
	s, err := b.sessions.Provisional("ses_9", "opencode-v1", "")
	if err != nil {
		t.Fatal(err)
	}
	ensured := make(chan error, 1)
	go func() { ensured <- b.sessions.Ensure(context.Background(), s) }()
	p.answer(p.next(proto.MethodResolve, &proto.Resolve{}), proto.Resolved{Known: true, Directory: "/project"})
	if err := take(t, ensured); err != nil {
		t.Fatal(err)
	}
	if got := s.Env()["LANG"]; got != "C" {
		t.Errorf("environment %v", s.Env())
	}
}

func TestASessionThatWasNotAttachedIsRefused(t *testing.T) {
	b := newBench(t)
	p := b.open()
	start := runStart()
	start.Origin.Session = "ses_other"
	if e := p.fails(proto.MethodRunStart, start); e.Data.Kind != string(fault.NotFound) || e.Data.Hint == "" {
		t.Errorf("got %+v", e.Data)
	}
	second := b.dial() // another bridge cannot borrow it either
	second.must(proto.MethodHello, hello(), &proto.HelloResult{})
	if e := second.fails(proto.MethodRunStart, runStart()); e.Data.Kind != string(fault.NotFound) {
		t.Errorf("got %+v", e.Data)
	}
}

func TestCancelReachesTheRunWithItsReason(t *testing.T) {
	b := newBench(t)
	started := make(chan struct{})
	b.work.run = func(ctx context.Context, _ RunRequest) (*proto.RunDone, error) {
		close(started)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	p := b.open()
	id := p.ask(proto.MethodRunStart, runStart())
	take(t, started)
	p.tell(proto.MethodCancelRequest, proto.CancelRequest{ID: id, Reason: "user"})
	m := p.reply()
	if m.Error == nil || m.Error.Data.Kind != string(fault.Cancelled) || m.Error.Message != "user" {
		t.Errorf("got %+v", m.Error)
	}
	// v1 cancels what has succeeded, too: it must change nothing.
	p.tell(proto.MethodCancelRequest, proto.CancelRequest{ID: id})
	p.must(proto.MethodStatusGet, proto.StatusGet{Session: "ses_1"}, &proto.SessionStatus{})
}

func TestACancelRightBehindItsRequestIsNotLost(t *testing.T) {
	b := newBench(t)
	b.work.run = func(ctx context.Context, _ RunRequest) (*proto.RunDone, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	p := b.open()
	for range 50 {
		id := p.ask(proto.MethodRunStart, runStart())
		p.tell(proto.MethodCancelRequest, proto.CancelRequest{ID: id, Reason: "user"})
		if m := p.reply(); m.Error == nil || m.Error.Data.Kind != string(fault.Cancelled) {
			t.Fatalf("got %+v", m)
		}
	}
}

func TestRequestsRunBesideEachOtherAndTheReaderGoesOn(t *testing.T) {
	b := newBench(t)
	b.work.run = func(ctx context.Context, r RunRequest) (*proto.RunDone, error) {
		reply, err := r.Bridge.Ask(ctx, proto.Ask{ID: "ask_" + r.Start.Code, Origin: origin, Key: "srv_echo", Server: "srv", Tool: "echo"})
		if err != nil {
			return nil, err
		}
		return &proto.RunDone{Text: reply.Reply, Result: proto.RunResult{ID: "run_1"}}, nil
	}
	p := b.open()
	asks := make([]proto.RPCMessage, 3)
	for i := range asks {
		start := runStart()
		start.Code = fmt.Sprint(i)
		p.ask(proto.MethodRunStart, start)
		var a proto.Ask
		asks[i] = p.next(proto.MethodAsk, &a)
		p.tell(proto.MethodAskShown, proto.AskShown{ID: a.ID})
	}
	for i := len(asks) - 1; i >= 0; i-- { // answered in another order
		p.answer(asks[i], proto.AskReply{Reply: "once"})
		if m := p.reply(); m.Error != nil {
			t.Fatalf("%+v", m.Error)
		}
	}
}

func TestALostBridgeEndsItsRunsAndQuestionsWithThatReason(t *testing.T) {
	b := newBench(t)
	ended := make(chan error, 2)
	b.work.run = func(ctx context.Context, r RunRequest) (*proto.RunDone, error) {
		go func() {
			<-ctx.Done()
			ended <- context.Cause(ctx)
		}()
		_, err := r.Bridge.Ask(ctx, proto.Ask{ID: "ask_1", Origin: origin})
		ended <- err
		return nil, err
	}
	p := b.open()
	p.ask(proto.MethodRunStart, runStart())
	p.next(proto.MethodAsk, &proto.Ask{})
	p.ws.CloseNow() // the host was killed
	for range 2 {
		if err := take(t, ended); fault.KindOf(err) != fault.Cancelled || !strings.Contains(err.Error(), "bridge lost") {
			t.Errorf("got %v", err)
		}
	}
	eventually(t, "the bridge is gone", func() bool { return len(b.server.Bridges()) == 0 && len(b.sessions.Bridges()) == 0 })
	if _, ok := b.sessions.Get("ses_1"); !ok {
		t.Error("its session lost its grace")
	}
}

func TestAnotherConnectionReattachesTheSession(t *testing.T) {
	b := newBench(t)
	b.work.run = func(context.Context, RunRequest) (*proto.RunDone, error) {
		return &proto.RunDone{Result: proto.RunResult{ID: "run_1"}}, nil
	}
	first := b.open()
	first.ws.Close(websocket.StatusNormalClosure, "")
	eventually(t, "the first bridge is gone", func() bool { return len(b.server.Bridges()) == 0 })
	b.open().must(proto.MethodRunStart, runStart(), &proto.RunDone{})
}

func TestAWebPageCannotOpenABridge(t *testing.T) {
	b := newBench(t)
	_, response, err := websocket.Dial(context.Background(), b.url, &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"https://example.org"}},
	})
	if err == nil || response == nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("got %v %v", response, err)
	}
}

func TestAStoppingDaemonSaysSo(t *testing.T) {
	b := newBench(t)
	p := b.open()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.server.Close(ctx, "the daemon is stopping"); err != nil {
		t.Fatal(err)
	}
	if err := take(t, p.closed); websocket.CloseStatus(err) != websocket.StatusGoingAway || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("got %v", err)
	}
}

func TestOutcomesOfTheHostsOwnToolsArePassedOn(t *testing.T) {
	b := newBench(t)
	p := b.open()
	p.tell(proto.MethodToolOutcome, proto.ToolOutcome{Origin: origin, Tool: "bash", Status: "ok"})
	eventually(t, "the outcome arrives", func() bool {
		b.work.mu.Lock()
		defer b.work.mu.Unlock()
		return len(b.work.outcomes) == 1
	})
}

// only is the one open bridge, as other rooms see it.
func only(t *testing.T, b *bench) session.Bridge {
	t.Helper()
	bridges := b.sessions.Bridges()
	if len(bridges) != 1 {
		t.Fatalf("%d bridges", len(bridges))
	}
	return bridges[0]
}

func TestTheCatalogueIsThatOfTheSessionAndChangesAreTold(t *testing.T) {
	b := newBench(t)
	p := b.dial()
	p.must(proto.MethodHello, hello(), &proto.HelloResult{})
	b.server.CatalogChanged()
	p.next(proto.MethodCatalogChanged, &proto.Done{})

	p.must(proto.MethodAttach, proto.Attach{Session: "ses_1", Directory: "/project"}, &proto.AttachResult{})
	var got proto.Catalog
	p.must(proto.MethodCatalogGet, proto.CatalogQuery{Session: "ses_1", Budget: 7}, &got)
	if got.Text != "ses_1" || got.Tokens != 7 {
		t.Errorf("catalogue: %+v", got)
	}
	var types proto.Types
	p.must(proto.MethodCatalogTypes, proto.TypesQuery{Paths: []string{"fs"}}, &types)
	if types.Text != "nobody fs" {
		t.Errorf("types: %+v", types)
	}
	if e := p.fails(proto.MethodCatalogGet, proto.CatalogQuery{Session: "ses_other"}); e.Data.Kind != string(fault.NotFound) {
		t.Errorf("another bridge's session: %+v", e.Data)
	}
}

// A daemon that has waited for what runs closes the moment it is done, when the
// answer may be anywhere between the handler and the socket.
func TestAClosingBridgeSendsTheAnswersItOwes(t *testing.T) {
	for range 50 {
		b := newBench(t)
		done := make(chan struct{})
		b.work.run = func(context.Context, RunRequest) (*proto.RunDone, error) {
			defer close(done)
			return &proto.RunDone{Text: "1", Result: proto.RunResult{ID: "run_1", OK: true, Value: json.RawMessage("1")}}, nil
		}
		p := b.open()
		p.ask(proto.MethodRunStart, runStart())
		<-done
		if err := b.server.Close(context.Background(), "the daemon is stopping"); err != nil {
			t.Fatal(err)
		}
		if m := p.reply(); m.Error != nil {
			t.Fatalf("got %+v", m.Error)
		}
	}
}
