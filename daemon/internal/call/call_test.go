package call

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestArgumentsReachTheWireAsAnObject(t *testing.T) {
	r := newRig(t)
	var sent []string
	r.conn.answer = func(_ context.Context, c upstream.Call) (json.RawMessage, error) {
		sent = append(sent, c.Tool+" "+string(c.Arguments))
		return json.RawMessage(`{"content":[]}`), nil
	}
	r.mustCall("read-file", "")
	r.mustCall("read_file", " {} ")
	r.mustCall("echo", `{"text":"x","extra":null,"__proto__":1,"big":12345678901234567890}`)
	want := []string{"read-file {}", "read-file {} ", `echo {"text":"x","extra":null,"__proto__":1,"big":12345678901234567890}`}
	if strings.Join(sent, "|") != strings.Join(want, "|") {
		t.Errorf("sent %q, want %q", sent, want)
	}
	for _, bad := range []string{"5", "[1]", `"x"`} {
		if _, err := r.call("echo", bad); err == nil || err.Kind != fault.InvalidToolInput {
			t.Errorf("arguments %s: %v", bad, err)
		}
	}
}

func TestUnknownNamesComeWithTheNearest(t *testing.T) {
	r := newRig(t)
	_, err := r.call("ecko", `{}`)
	if err == nil || err.Kind != fault.UnknownTool || !strings.Contains(err.Hint, "tools.fake.echo") {
		t.Errorf("tool: %+v", err)
	}
	for _, c := range []struct {
		surface string
		lone    bool
		near    string
		find    string
	}{
		{"cli", false, "tools.fake.echo", `search("`}, {"bridge", false, "tools.fake.echo", `search("`},
		{"cli", true, `"echo"`, "tenon ls fake"}, {"bridge", true, `"echo"`, "tenon_search"}, {"mcp", true, `"echo"`, "tenon_search"},
	} {
		for tool, near := range map[string]string{"ecko": c.near, "zzzzzzzzzz": ""} {
			r.caller.Surface = c.surface
			req := r.request(tool, `{}`)
			req.Lone = c.lone
			_, failed := r.path.Call(context.Background(), req)
			err := fault.From(failed)
			if !strings.Contains(err.Hint, near) || !strings.Contains(err.Hint, c.find) {
				t.Errorf("%s from %+v: hint %q", tool, c, err.Hint)
			}
		}
	}
	// What is no tool is reached in another way, and the hint says how.
	for _, c := range []struct {
		server, tool, program, shell string
	}{
		{"scripts", "daily", `run("daily", input)`, "tenon run NAME"},
		{"fake", "listResources", `resources.list("fake")`, "tenon resources fake"},
		{"fake", "read_resource", `resources.read(uri, { server: "fake" })`, "tenon resources read URI --server fake"},
	} {
		for surface, want := range map[string]string{"bridge": c.program, "cli": c.shell} {
			r.caller.Surface = surface
			req := r.request(c.tool, `{}`)
			req.Server, req.Lone = c.server, surface == "cli"
			_, failed := r.path.Call(context.Background(), req)
			if err := fault.From(failed); err.Kind != fault.UnknownTool || !strings.Contains(err.Hint, want) {
				t.Errorf("%s/%s from %s: %+v", c.server, c.tool, surface, err)
			}
		}
	}
	req := r.request("echo", `{}`)
	req.Server = "fak"
	_, failed := r.path.Call(context.Background(), req)
	if err = fault.From(failed); err.Kind != fault.UnknownTool || !strings.Contains(err.Hint, "fake") {
		t.Errorf("server: %+v", err)
	}
	if r.conn.calls.Load() != 0 {
		t.Error("nothing may be called")
	}
}

func TestInputIsCheckedBeforeAnybodyIsAskedOrAnythingLeased(t *testing.T) {
	r := newRig(t)
	r.mustCall("echo", `{"text":"x"}`) // the list is known now
	r.rule("*", "ask")
	before := len(r.shelf.taken)
	_, err := r.call("echo", `{"text":5}`)
	if err == nil || err.Kind != fault.InvalidToolInput || err.Pointer != "/text" || !strings.Contains(err.Hint, "text: string") {
		t.Errorf("%+v", err)
	}
	if len(r.shelf.taken) != before {
		t.Error("no lease may be taken for a call that cannot be made")
	}
}

func TestCancellingGivesTheTrueReasonUpstream(t *testing.T) {
	r := newRig(t)
	started := make(chan struct{})
	var told error
	r.conn.answer = func(ctx context.Context, _ upstream.Call) (json.RawMessage, error) {
		close(started)
		<-ctx.Done()
		told = context.Cause(ctx)
		return nil, fault.New(fault.Cancelled, "cancelled")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := r.path.Call(ctx, r.request("echo", `{"text":"x"}`))
		done <- err
	}()
	<-started
	cancel(fault.New(fault.Cancelled, "user"))
	err := fault.From(<-done)
	if err.Kind != fault.Cancelled || err.Message != "user" || err.Server != "fake" {
		t.Errorf("%+v", err)
	}
	if told == nil || told.Error() != "user" {
		t.Errorf("upstream was told %v", told)
	}
	if r.shelf.open != 0 {
		t.Error("the lease was not given back")
	}
}

func TestACallOfUnknownFateIsNeverRepeated(t *testing.T) {
	r := newRig(t)
	r.conn.answer = func(context.Context, upstream.Call) (json.RawMessage, error) {
		return nil, &fault.Error{Kind: fault.ServerUnavailable, Message: "server went away: exit status 3", Data: []byte(`{"fate":"unknown"}`)}
	}
	_, err := r.call("echo", `{"text":"x"}`)
	if err == nil || err.Kind != fault.ServerUnavailable || Status(err) != StatusUnknown || err.Tool != "echo" {
		t.Errorf("%+v", err)
	}
	if n := r.conn.calls.Load(); n != 1 {
		t.Errorf("%d calls upstream, want 1", n)
	}
}

func TestLostStateIsToldOnceWithTheResultAndWithAFailure(t *testing.T) {
	r := newRig(t)
	r.shelf.lost = true
	if res := r.mustCall("echo", `{"text":"x"}`); len(res.Warnings) != 1 || res.Warnings[0].Kind != "StateLost" {
		t.Errorf("%+v", res.Warnings)
	}
	r.shelf.lost = true
	r.answers(`{"isError":true,"content":[]}`)
	var told []proto.Warning
	req := r.request("echo", `{"text":"x"}`)
	req.OnWarn = func(w proto.Warning) { told = append(told, w) }
	if _, err := r.path.Call(context.Background(), req); err == nil || len(told) != 1 {
		t.Errorf("failure %v told %v", err, told)
	}
}

func TestLimitsAreTheCallsElseTheToolsElseTheServers(t *testing.T) {
	r := newRig(t)
	var got []time.Duration
	r.conn.answer = func(_ context.Context, c upstream.Call) (json.RawMessage, error) {
		got = append(got, c.Timeout)
		if c.Wall != time.Hour {
			t.Errorf("wall %s", c.Wall)
		}
		return json.RawMessage(`{}`), nil
	}
	r.mustCall("echo", `{"text":"x"}`)
	r.view.Servers["fake"].Tools = map[string]config.ToolOptions{"read-file": {CallTimeout: 3 * time.Minute}}
	r.mustCall("read_file", `{}`)
	req := r.request("read-file", `{}`)
	req.Timeout = time.Second
	if _, err := r.path.Call(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	if got[0] != time.Minute || got[1] != 3*time.Minute || got[2] != time.Second {
		t.Errorf("limits %v", got)
	}
}

func TestScopesAndTheLeafOrRootTheyBelongTo(t *testing.T) {
	r := newRig(t)
	r.mustCall("echo", `{"text":"x"}`)
	b := &bridge{id: "b"}
	if _, err := r.manager.AddBridge(b); err != nil {
		t.Fatal(err)
	}
	parent, _, err := r.manager.Attach(context.Background(), b, proto.Attach{Session: "P", Directory: "/project"})
	if err != nil {
		t.Fatal(err)
	}
	child, _, err := r.manager.Attach(context.Background(), b, proto.Attach{Session: "C", Parent: "P", Directory: "/project"})
	if err != nil {
		t.Fatal(err)
	}
	fake := r.view.Servers["fake"]
	fake.Scope = config.Session
	key := func(leaf *rig) string {
		leaf.mustCall("echo", `{"text":"x"}`)
		return leaf.shelf.taken[len(leaf.shelf.taken)-1].Key
	}
	r.session = parent
	mine := key(r)
	r.session = child
	if got := key(r); got != mine {
		t.Errorf("a sub-agent uses its root's instance: %q, %q", got, mine)
	}
	last := r.shelf.taken[len(r.shelf.taken)-1].Holder
	if last.Session != "C" || last.Root != "P" || last.Run != "run_1" || last.Dir != "/project" {
		t.Errorf("holder %+v", last)
	}
	fake.Inherit = false
	if got := key(r); got == mine {
		t.Error("inherit off: a sub-agent has its own")
	}
	r.manager.RemoveBridge(b, "test over")
}

func TestThePrivateDirectoryGoesWithItsSession(t *testing.T) {
	r := newRig(t)
	dir, err := r.path.sessionDir("session:S")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := r.path.sessionDir("session:S")
	other, _ := r.path.sessionDir("session:T")
	if dir != again || dir == other {
		t.Errorf("%q, %q, %q", dir, again, other)
	}
	r.path.SessionEnded("S")
	if exists(dir) || !exists(other) {
		t.Error("only the ended session's directory goes")
	}
}

func TestQueueAndHumanTimeAreTold(t *testing.T) {
	r := newRig(t)
	var order []string
	req := r.request("echo", `{"text":"x"}`)
	req.OnWait = func(kind string, begin bool) {
		if begin {
			order = append(order, kind)
		}
	}
	r.rule("fake_echo", "ask")
	req.Bridge = &bridge{id: "b", reply: func(context.Context, proto.Ask) (proto.AskReply, error) {
		return proto.AskReply{Reply: "once"}, nil
	}}
	res, err := r.path.Call(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "human queue queue tool" { // the first instance brings the list
		t.Errorf("clocks: %s", got)
	}
	if res.Times.Total < res.Times.Human+res.Times.Queue+res.Times.Tool {
		t.Errorf("times %+v", res.Times)
	}
}

func TestHistoryKnowsEveryCallAndNoSecret(t *testing.T) {
	r := newRig(t)
	r.mustCall("echo", `{"text":"hunter2hunter2"}`)
	r.rule("fake_read-file", "deny")
	r.call("read-file", `{}`)
	if err := r.history.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(grepTree(t, filepath.Dir(r.path.o.SessionDirs), "hunter2hunter2")...); err != nil {
		t.Error(err)
	}
}

func TestSearchAndDescribeStartWhatWasNeverListed(t *testing.T) {
	r := newRig(t)
	r.view.Servers["off"] = &config.Server{Name: "off", Scope: config.Shared}
	req := r.request("", "")
	if got := r.path.Entries(context.Background(), req, false); len(got) != 1 || got[0].List != nil || len(r.shelf.taken) != 0 {
		t.Errorf("only looking starts nothing: %+v", got)
	}
	found := r.path.Search(context.Background(), req, proto.Search{Query: "echo"})
	if found.Total != 1 || found.Items[0].Path != "tools.fake.echo" || r.shelf.open != 0 {
		t.Errorf("%+v, %d leases open", found, r.shelf.open)
	}
	r.path.Search(context.Background(), req, proto.Search{})
	if len(r.shelf.taken) != 1 {
		t.Errorf("%d starts; a listed server is not started again", len(r.shelf.taken))
	}
	d, err := r.path.Describe(context.Background(), req, "tools.fake.read_file")
	if err != nil || d.Tool != "read-file" || d.Path != "tools.fake.read_file" {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := r.path.Describe(context.Background(), req, "fake.ecko"); fault.KindOf(err) != fault.UnknownTool || !strings.Contains(fault.From(err).Hint, "fake.echo") {
		t.Errorf("%v", err)
	}
}

// A session that ends while its call waits makes no binding that nobody would
// give back.
func TestACallOfAnEndedSessionHoldsNothing(t *testing.T) {
	r := newRig(t)
	r.shelf.onTake = func() {
		if err := r.manager.End(r.session.ID, "closed"); err != nil {
			t.Error(err)
		}
	}
	_, err := r.path.Call(context.Background(), r.request("echo", `{"text":"x"}`))
	if fault.KindOf(err) != fault.Cancelled || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("ended meanwhile: %v", err)
	}
	if len(r.shelf.ended) != 1 || r.shelf.open != 0 || r.conn.calls.Load() != 0 {
		t.Errorf("ended %q, %d uses open, %d calls", r.shelf.ended, r.shelf.open, r.conn.calls.Load())
	}
	r.shelf.onTake = nil
	if _, err := r.path.Call(context.Background(), r.request("echo", `{"text":"x"}`)); fault.KindOf(err) != fault.Cancelled || len(r.shelf.taken) != 1 {
		t.Errorf("ended before: %v, %d leases taken", err, len(r.shelf.taken))
	}
}

// A path names its server: looking one tool up starts no other.
func TestAPathStartsOnlyItsOwnServer(t *testing.T) {
	r := newRig(t)
	other := *r.view.Servers["fake"]
	other.Name = "other"
	r.view.Servers["other"] = &other
	req := r.request("", "")
	started := func() (names []string) {
		for _, taken := range r.shelf.taken {
			names = append(names, taken.Def.Template)
		}
		return names
	}
	if _, err := r.path.Describe(context.Background(), req, "nobody.echo"); fault.KindOf(err) != fault.UnknownTool || len(started()) != 0 {
		t.Errorf("a path of no server: %v, started %q", err, started())
	}
	if d, err := r.path.Describe(context.Background(), req, "tools.fake.echo"); err != nil || d.Server != "fake" || !slices.Equal(started(), []string{"fake"}) {
		t.Fatalf("%+v, %v, started %q", d, err, started())
	}
	if found := r.path.Search(context.Background(), req, proto.Search{Query: `fake["read-file"]`}); found.Total != 1 || len(started()) != 1 {
		t.Errorf("exact path: %+v, started %q", found, started())
	}
	if found := r.path.Search(context.Background(), req, proto.Search{Query: "echo", Namespace: "fake"}); found.Total != 1 || len(started()) != 1 {
		t.Errorf("one namespace: %+v, started %q", found, started())
	}
	if found := r.path.Search(context.Background(), req, proto.Search{Query: "fake.ecko"}); len(started()) != 2 {
		t.Errorf("no exact path after all: %+v, started %q", found, started())
	}
}
