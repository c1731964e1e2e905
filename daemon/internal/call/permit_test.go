package call

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

func TestADeniedCallNeverTakesALease(t *testing.T) {
	r := newRig(t)
	r.rule("fake_echo", "deny")
	_, err := r.call("echo", `{"text":"x"}`)
	if err == nil || err.Kind != fault.PermissionDenied || err.Server != "fake" || err.Tool != "echo" {
		t.Errorf("%+v", err)
	}
	if len(r.shelf.taken) != 0 {
		t.Error("a lease was taken")
	}
}

// without a valid ticket a caller inside an agent's shell has explicit
// allow rules only.
func TestStrangersGetExplicitAllowOnly(t *testing.T) {
	r := newRig(t)
	r.caller.Class = peer.Stranger
	r.rule("fake_echo", "allow")
	r.rule("fake_read-file", "ask")
	r.mustCall("echo", `{"text":"x"}`)
	_, err := r.call("read-file", `{}`)
	if err == nil || err.Kind != fault.PermissionDenied || !strings.Contains(err.Hint, "TENON_TICKET") {
		t.Errorf("%+v", err)
	}
}

func TestNoLeaseIsHeldWhileAHumanIsAsked(t *testing.T) {
	r := newRig(t)
	r.rule("fake_echo", "ask")
	asked := make(chan proto.Ask, 1)
	release := make(chan struct{})
	var open int
	req := r.request("echo", `{"text":"x"}`)
	req.Bridge = &bridge{id: "b1", human: true, reply: func(_ context.Context, a proto.Ask) (proto.AskReply, error) {
		r.shelf.mu.Lock()
		open = r.shelf.open
		r.shelf.mu.Unlock()
		asked <- a
		<-release
		return proto.AskReply{Reply: "once"}, nil
	}}
	done := make(chan error, 1)
	go func() {
		_, err := r.path.Call(context.Background(), req)
		done <- err
	}()
	a := <-asked
	if open != 0 || a.Origin.Session != r.session.ID || a.Key != "fake_echo" || a.Server != "fake" || a.Tool != "echo" {
		t.Errorf("%d leases in use, ask %+v", open, a)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAlwaysFromTheQueueIsRememberedForThePair(t *testing.T) {
	r := newRig(t)
	r.rule("fake_*", "ask")
	r.caller.Interactive = true
	r.mustAnswer(t, "echo", `{"text":"x"}`, proto.ApprovalReply{Decision: "always"})
	r.mustCall("echo", `{"text":"y"}`)
	if _, err := r.answered(t, "read-file", `{}`, proto.ApprovalReply{Decision: "deny", Feedback: "use echo"}); err == nil ||
		err.Kind != fault.PermissionDenied || err.Feedback != "use echo" {
		t.Errorf("%+v", err)
	}
	// A changed definition is not what was approved (TEN-14).
	r.shelf.set(upstream.Tool{Name: "echo", Description: "now also deletes", InputSchema: json.RawMessage(echoSchema)}, upstream.Tool{Name: "read-file"})
	r.mustAnswer(t, "echo", `{"text":"z"}`, proto.ApprovalReply{Decision: "approve"})
	// It is held until it is allowed for always again, and the question says why.
	done := make(chan error, 1)
	go func() {
		_, err := r.path.Call(context.Background(), r.request("echo", `{"text":"z"}`))
		done <- err
	}()
	eventually(t, "a question", func() bool { return len(r.router.List()) == 1 })
	if why := r.router.List()[0].Reason; !strings.Contains(why, `rule "fake_*": ask`) || !strings.Contains(why, "the server has changed this tool's definition since it was allowed for always") {
		t.Errorf("reason: %s", why)
	}
	if err := r.router.Answer(r.router.List()[0].ID, proto.ApprovalReply{Decision: "always"}, "test"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.mustCall("echo", `{"text":"z"}`)
}

// The recheck: a tool that changes while the call waits for its instance is
// looked at anew, and asked for again.
func TestAToolThatChangesInTheQueueIsAskedForAgain(t *testing.T) {
	r := newRig(t)
	r.mustCall("echo", `{"text":"x"}`)
	r.rule("fake_echo", "ask")
	asks := 0
	req := r.request("echo", `{"text":"x"}`)
	req.Bridge = &bridge{id: "b", human: true, reply: func(context.Context, proto.Ask) (proto.AskReply, error) {
		asks++
		return proto.AskReply{Reply: "once"}, nil
	}}
	changed := false
	r.shelf.onTake = func() {
		if !changed {
			changed = true
			r.shelf.set(upstream.Tool{Name: "echo", Description: "changed", InputSchema: json.RawMessage(echoSchema)})
		}
	}
	if _, err := r.path.Call(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	if asks != 2 || r.conn.calls.Load() != 2 {
		t.Errorf("%d asks, %d calls; want 2 and 2 (one before)", asks, r.conn.calls.Load())
	}
}

func TestRulesTightenAtTheNextCallAndInTheQueue(t *testing.T) {
	r := newRig(t)
	r.mustCall("echo", `{"text":"x"}`)
	tight := *r.view
	tight.Hash = "h2"
	tight.Permissions.Rules = []config.Rule{{Pattern: "fake_echo", Action: "deny"}}
	r.shelf.onTake = func() { r.current = &tight }
	if _, err := r.call("echo", `{"text":"x"}`); err == nil || err.Kind != fault.PermissionDenied {
		t.Errorf("tightened while it waited: %+v", err)
	}
	if _, err := r.call("echo", `{"text":"x"}`); err == nil || err.Kind != fault.PermissionDenied {
		t.Errorf("tightened before: %+v", err)
	}
	// The newest view never loosens what the pinned one says.
	r.shelf.onTake = nil
	r.view.Permissions.Rules = []config.Rule{{Pattern: "fake_echo", Action: "deny"}}
	loose := *r.view
	loose.Hash, loose.Permissions.Rules = "h3", nil
	r.current = &loose
	if _, err := r.call("echo", `{"text":"x"}`); err == nil || err.Kind != fault.PermissionDenied {
		t.Errorf("loosened: %+v", err)
	}
}

func TestAnEditOfTheConfigurationCostsNoPlaceInTheQueue(t *testing.T) {
	r := newRig(t)
	r.mustCall("echo", `{"text":"x"}`)
	before, edits := len(r.shelf.taken), 0
	r.shelf.onTake = func() { // somebody saves while each call waits
		edits++
		edited := *r.view
		edited.Hash = fmt.Sprintf("edit-%d", edits)
		r.current = &edited
	}
	for range 3 {
		r.mustCall("echo", `{"text":"x"}`)
	}
	if n := len(r.shelf.taken) - before; n != 3 {
		t.Errorf("three calls took an instance %d times", n)
	}
}

// two pairs, one key.
func TestPairsThatShareAKeyAreToldApart(t *testing.T) {
	r := newRig(t)
	server := func(name string) *config.Server {
		return &config.Server{Name: name, Scope: config.Shared, Enabled: true, Inherit: true, CallTimeout: time.Minute}
	}
	r.view.Servers = map[string]*config.Server{"foo": server("foo"), "foo_bar": server("foo_bar")}
	r.path.o.Catalog.Learn("def-foo", "x1", 1, []upstream.Tool{{Name: "bar_baz"}, {Name: "other"}})
	r.path.o.Catalog.Learn("def-foo_bar", "x2", 1, []upstream.Tool{{Name: "baz"}})
	r.shelf.set(upstream.Tool{Name: "bar_baz"}, upstream.Tool{Name: "baz"}, upstream.Tool{Name: "other"})
	try := func(server, tool string) fault.Kind {
		req := r.request(tool, `{}`)
		req.Server = server
		_, err := r.path.Call(context.Background(), req)
		return fault.KindOf(err)
	}
	r.rule("foo_bar/baz", "deny")
	if try("foo", "bar_baz") != "" || try("foo_bar", "baz") != fault.PermissionDenied {
		t.Error("a rule that names the pair hits the pair")
	}
	r.view.Permissions.Rules = nil
	r.rule("foo_*", "deny")
	r.rule("foo_bar_*", "allow")
	if try("foo", "bar_baz") != fault.PermissionDenied || try("foo_bar", "baz") != fault.PermissionDenied {
		t.Error("where the key cannot tell them apart the stricter rule wins")
	}
	if got := r.path.Collisions(context.Background(), r.request("", "")); len(got) != 1 || got[0].Key != "foo_bar_baz" {
		t.Errorf("collisions %+v", got)
	}
}

// answered calls a tool that must be asked for, and answers at the queue.
func (r *rig) answered(t *testing.T, tool, args string, reply proto.ApprovalReply) (*Result, *fault.Error) {
	t.Helper()
	type outcome struct {
		res *Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := r.path.Call(context.Background(), r.request(tool, args))
		done <- outcome{res, err}
	}()
	eventually(t, "a question for "+tool, func() bool { return len(r.router.List()) == 1 })
	if err := r.router.Answer(r.router.List()[0].ID, reply, "test"); err != nil {
		t.Fatal(err)
	}
	o := <-done
	return o.res, fault.From(o.err)
}

func (r *rig) mustAnswer(t *testing.T, tool, args string, reply proto.ApprovalReply) {
	t.Helper()
	if _, err := r.answered(t, tool, args, reply); err != nil {
		t.Fatalf("%+v", err)
	}
}

func TestTheReasonOfARunsEndBelongsToAllItsCalls(t *testing.T) {
	r := newRig(t)
	r.rule("fake_echo", "ask")
	reason := fault.New(fault.TimeoutExceeded, "the run is over")
	ctx, cancel := context.WithCancelCause(context.Background())
	req := r.request("echo", `{"text":"x"}`)
	req.Bridge = &bridge{id: "b", human: true, reply: func(ctx context.Context, _ proto.Ask) (proto.AskReply, error) {
		cancel(reason)
		<-ctx.Done()
		return proto.AskReply{}, context.Cause(ctx)
	}}
	_, err := r.path.Call(ctx, req)
	if got := fault.From(err); got == nil || got.Kind != fault.TimeoutExceeded || got.Server != "fake" {
		t.Errorf("%+v", err)
	}
	if reason.Server != "" || reason.Tool != "" {
		t.Errorf("the call put its own name on what all others of the run are given: %+v", reason)
	}
}
