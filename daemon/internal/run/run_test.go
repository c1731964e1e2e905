package run

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func stopping() *fault.Error { return fault.New(fault.Cancelled, "the daemon is stopping") }

func TestAResultIsCompleteOnSuccessAndOnFailure(t *testing.T) {
	r := newRig(t)
	logs := []engine.LogRecord{{Level: "info", Message: "hello", Attrs: json.RawMessage(`{"a":1}`), Position: &fault.Position{Line: 3, Column: 5}, Time: time.Now()}}
	out := &engine.Outcome{
		Stdout: "printed", Stderr: "noise", Logs: logs, Emits: []json.RawMessage{json.RawMessage("1")},
		Warnings: []engine.Warning{{Kind: "UnhandledRejection", Message: "late"}},
		Err:      &fault.Error{Kind: fault.ScriptError, Message: "boom", Position: &fault.Position{Line: 7, Column: 2}, Hint: "look"}, Stack: "at main",
	}
	res := r.exec(proto.ExecRequest{Code: "x"}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		if _, err := h.Call(ctx, "fake", "echo", []byte(`{}`), engine.CallOptions{}); err != nil {
			t.Error(err)
		}
		return out
	})
	if res.OK || res.Error.Kind != "ScriptError" || res.Error.Position.Line != 7 || res.Error.Stack != "at main" || res.Error.Hint != "look" {
		t.Errorf("error %+v", res.Error)
	}
	if res.Stdout != "printed" || res.Stderr != "noise" || len(res.Logs) != 1 || res.Logs[0].Position.Column != 5 || len(res.Emits) != 1 || len(res.Warnings) != 1 {
		t.Errorf("something was dropped: %+v", res)
	}
	if len(res.Calls) != 1 || res.Calls[0].Status != "ok" || res.Calls[0].Tool != "echo" {
		t.Errorf("calls %+v", res.Calls)
	}
	if string(res.Value) != "null" || !strings.HasPrefix(res.ID, "run_") || res.Session != r.session.ID {
		t.Errorf("value %s, id %s", res.Value, res.ID)
	}
	text, err := json.Marshal(r.exec(proto.ExecRequest{}, func(context.Context, engine.Program, engine.Host) *engine.Outcome { return value("5") }))
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{`"logs":[]`, `"emits":[]`, `"warnings":[]`, `"calls":[]`, `"artifacts":[]`, `"value":5`, `"ok":true`, `"truncated":false`} {
		if !strings.Contains(string(text), member) {
			t.Errorf("%s is not in %s", member, text)
		}
	}
}

func TestAnEngineThatNobodyKnowsIsNamed(t *testing.T) {
	r := newRig(t)
	for name, words := range map[string]string{"deno": "no engine", "perl": "no engine"} {
		res := r.start(proto.ExecRequest{Engine: name}).Wait()
		if res.OK || res.Error.Kind != "EngineUnavailable" || !strings.Contains(res.Error.Message, words) || !strings.Contains(res.Error.Hint, "embedded") {
			t.Errorf("%s: %+v", name, res.Error)
		}
	}
	r.run = func(context.Context, engine.Program, engine.Host) *engine.Outcome { return value("1") }
	if res := r.start(proto.ExecRequest{Engine: "auto"}).Wait(); !res.OK {
		t.Errorf("auto: %+v", res.Error)
	}
}

func TestAProgramGetsItsWorld(t *testing.T) {
	r := newRig(t)
	input := json.RawMessage(`{"a":1}`)
	r.view.Script.CPU, r.view.Script.Memory = time.Second, 99
	r.exec(proto.ExecRequest{Code: "tools.fake.echo()", Name: "a.ts", Args: []string{"x"}, Input: input, Cwd: "/else", MemoryBytes: 77 << 20},
		func(_ context.Context, p engine.Program, h engine.Host) *engine.Outcome {
			if p.Source != "tools.fake.echo()" || p.Name != "a.ts" || p.Args[0] != "x" || string(p.Input) != string(input) || p.Session.Cwd != "/else" || p.Session.ID != r.session.ID || !strings.HasPrefix(p.Session.RunID, "run_") {
				t.Errorf("program %+v", p)
			}
			if p.Limits.CPU != time.Second || p.Limits.Memory != 77<<20 || p.Limits.Concurrency != DefaultConcurrency {
				t.Errorf("limits %+v", p.Limits)
			}
			var names []string
			for _, n := range p.Namespaces {
				names = append(names, n.Name)
			}
			if got := strings.Join(names, " "); got != "fake log_" { // off is disabled, log is a script's own global
				t.Errorf("namespaces %q", got)
			}
			return value("1")
		})
	if got := strings.Join(r.path.seen, " "); got != "fake" {
		t.Errorf("lists were looked up for %q; the program mentions fake only", got)
	}
}

func TestSearchAndDescribeCostNoBudget(t *testing.T) {
	r := newRig(t)
	res := r.exec(proto.ExecRequest{MaxToolCalls: 1}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		found, err := h.Search(ctx, []byte(`{"query":"q","namespace":"n","limit":3}`))
		if err != nil || !strings.Contains(string(found), `"q/n"`) || !strings.Contains(string(found), `"total":3`) {
			t.Errorf("%s, %v", found, err)
		}
		about, err := h.Describe(ctx, "ns.tool")
		if err != nil || !strings.Contains(string(about), `"ns.tool"`) {
			t.Errorf("%s, %v", about, err)
		}
		if _, err := h.Search(ctx, []byte(`5`)); fault.KindOf(err) != fault.InvalidToolInput {
			t.Errorf("%v", err)
		}
		if _, err := h.Call(ctx, "fake", "echo", nil, engine.CallOptions{}); err != nil {
			t.Error(err)
		}
		return value("1")
	})
	if !res.OK {
		t.Errorf("%+v", res.Error)
	}
}

func TestTheCallBudgetEnds(t *testing.T) {
	r := newRig(t)
	res := r.exec(proto.ExecRequest{MaxToolCalls: 2}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		var err error
		for range 3 {
			_, err = h.Call(ctx, "fake", "echo", nil, engine.CallOptions{})
		}
		return &engine.Outcome{Err: fault.From(err)}
	})
	if res.Error == nil || res.Error.Kind != "ToolCallLimitExceeded" || len(res.Calls) != 2 {
		t.Errorf("%+v, %d calls", res.Error, len(res.Calls))
	}
}

func TestCallsPassOnWhatTheyAreAsked(t *testing.T) {
	r := newRig(t)
	var got call.Request
	r.path.call = func(_ context.Context, c call.Request) (*call.Result, error) {
		got = c
		return &call.Result{Value: json.RawMessage(`{"a":1}`), Raw: json.RawMessage(`{"raw":1}`)}, nil
	}
	r.exec(proto.ExecRequest{CallTimeoutMS: 5000}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		v, err := h.Call(ctx, "fake", "echo", []byte(`{"x":1}`), engine.CallOptions{})
		if err != nil || string(v.Value) != `{"a":1}` || string(v.Raw) != `{"raw":1}` || got.Timeout != 5*time.Second || got.CallID != 1 {
			t.Errorf("%s %s %v %+v", v.Value, v.Raw, err, got.Timeout)
		}
		v, err = h.Call(ctx, "fake", "echo", nil, engine.CallOptions{Raw: true, Timeout: time.Minute})
		if err != nil || string(v.Value) != `{"raw":1}` || got.Timeout != time.Minute || got.CallID != 2 {
			t.Errorf("raw: %s %v %+v", v.Value, err, got.Timeout)
		}
		return value("1")
	})
}

// the caller is free at once, and upstream hears the true reason.
func TestCancelEndsARunWithItsReason(t *testing.T) {
	r := newRig(t)
	inCall := make(chan struct{})
	var told error
	r.path.call = func(ctx context.Context, _ call.Request) (*call.Result, error) {
		close(inCall)
		<-ctx.Done()
		told = context.Cause(ctx)
		return nil, fault.From(told)
	}
	r.run = func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		_, err := h.Call(ctx, "fake", "sleep", nil, engine.CallOptions{})
		return &engine.Outcome{Err: fault.From(err)}
	}
	one := r.start(proto.ExecRequest{})
	<-inCall
	if rows := r.m.List(); len(rows) != 1 || rows[0].ID != one.ID || rows[0].Status != "running" || rows[0].Calls != 1 {
		t.Errorf("list %+v", rows)
	}
	if err := r.m.Cancel(one.ID, fault.New(fault.Cancelled, "user")); err != nil {
		t.Fatal(err)
	}
	res := one.Wait()
	if res.Error.Kind != "Cancelled" || res.Error.Message != "user" || told.Error() != "user" || res.Calls[0].Status != "cancelled" {
		t.Errorf("%+v, upstream %v, calls %+v", res.Error, told, res.Calls)
	}
	if err := r.m.Cancel(one.ID, stopping()); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a finished run: %v", err)
	}
	if one.Info().Status != "cancelled" {
		t.Errorf("status %s", one.Info().Status)
	}
}

func TestHangingUpCancelsOnlyWhereAsked(t *testing.T) {
	r := newRig(t)
	r.run = func(ctx context.Context, _ engine.Program, _ engine.Host) *engine.Outcome {
		<-ctx.Done()
		return &engine.Outcome{Err: fault.From(ctx.Err())}
	}
	ctx, hangUp := context.WithCancelCause(context.Background())
	spec := r.spec(proto.ExecRequest{})
	free, err := r.m.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Attached = true
	tied, err := r.m.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	hangUp(errors.New("the client went away"))
	if res := tied.Wait(); res.Error.Kind != "Cancelled" || res.Error.Message != "the client went away" {
		t.Errorf("%+v", res.Error)
	}
	select {
	case <-free.Done():
		t.Error("a run that is not tied goes on")
	default:
	}
	r.m.SessionEnded(r.session.ID, "deleted by its host")
	if res := free.Wait(); res.Error.Kind != "Cancelled" || !strings.Contains(res.Error.Message, "deleted by its host") {
		t.Errorf("%+v", res.Error)
	}
}

func TestNobodyThereEndsTheRun(t *testing.T) {
	r := newRig(t)
	r.path.call = func(context.Context, call.Request) (*call.Result, error) {
		return nil, fault.New(fault.ApprovalRequired, "nobody is there")
	}
	res := r.exec(proto.ExecRequest{}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		if _, err := h.Call(ctx, "fake", "echo", nil, engine.CallOptions{}); err == nil {
			t.Error("the call must fail")
		}
		<-ctx.Done() // a program that catches it is ended all the same
		return &engine.Outcome{Err: fault.From(context.Cause(ctx))}
	})
	if res.Error == nil || res.Error.Kind != "ApprovalRequired" || res.Calls[0].Status != "denied" {
		t.Errorf("%+v %+v", res.Error, res.Calls)
	}
}

func TestALoneCallIsAmongTheRuns(t *testing.T) {
	r := newRig(t)
	var live []proto.Run
	r.path.call = func(context.Context, call.Request) (*call.Result, error) {
		live = r.m.List()
		return &call.Result{Value: json.RawMessage(`{"a":1}`), Raw: json.RawMessage(`{"r":1}`), Warnings: []proto.Warning{{Kind: "StateLost", Message: "m"}}}, nil
	}
	res, err := r.m.Call(context.Background(), CallSpec{Spec: r.spec(proto.ExecRequest{}), Server: "fake", Tool: "echo", Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	if string(res.Value) != `{"a":1}` || string(res.Raw) != `{"r":1}` || res.Text != "{\"a\":1}\nwarning StateLost: m" || res.Timing.Total <= 0 || res.Artifacts == nil {
		t.Errorf("%+v", res)
	}
	if len(live) != 1 || live[0].Engine != "call" {
		t.Errorf("live %+v", live)
	}
	rows, err := r.history.List(context.Background(), historyAll)
	if err != nil || len(rows) != 1 || rows[0].Status != "ok" || rows[0].Calls != 1 || !strings.Contains(rows[0].Code, "echo") {
		t.Errorf("%+v, %v", rows, err)
	}
	// A request without a server is listed by what it names.
	for _, c := range []struct{ method, arguments, code string }{
		{call.ReadResource, `{"uri":"docs://notes"}`, `resources.read("docs://notes")`},
		{call.GetPrompt, `{"name":"review"}`, `prompts.get("review", …)`},
	} {
		if _, err := r.m.Call(context.Background(), CallSpec{Spec: r.spec(proto.ExecRequest{}), Method: c.method, Arguments: json.RawMessage(c.arguments)}); err != nil {
			t.Fatal(err)
		}
		if live[0].Code != c.code {
			t.Errorf("%s is listed as %s", c.method, live[0].Code)
		}
	}
	r.path.call = func(ctx context.Context, _ call.Request) (*call.Result, error) {
		<-ctx.Done()
		return nil, fault.From(context.Cause(ctx))
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("user"))
	if _, err := r.m.Call(ctx, CallSpec{Spec: r.spec(proto.ExecRequest{}), Server: "fake", Tool: "echo"}); fault.KindOf(err) != fault.Cancelled || err.Error() != "user" {
		t.Errorf("%v", err)
	}
}

func TestAClosedManagerStartsNothing(t *testing.T) {
	r := newRig(t)
	r.run = func(ctx context.Context, _ engine.Program, _ engine.Host) *engine.Outcome {
		<-ctx.Done()
		return &engine.Outcome{Err: fault.From(ctx.Err())}
	}
	one := r.start(proto.ExecRequest{})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := r.m.Close(ctx, stopping()); err != nil {
		t.Fatal(err)
	}
	if res := one.Wait(); res.Error.Message != "the daemon is stopping" {
		t.Errorf("%+v", res.Error)
	}
	if _, err := r.m.Start(ctx, r.spec(proto.ExecRequest{})); fault.KindOf(err) != fault.DaemonUnavailable {
		t.Errorf("%v", err)
	}
}

func TestLimitsOutOfRangeAreNamed(t *testing.T) {
	r := newRig(t)
	less := int64(-1)
	for field, x := range map[string]proto.ExecRequest{
		"timeoutMs must be 0":                     {TimeoutMS: &less},
		"callTimeoutMs must be 0":                 {CallTimeoutMS: -1},
		"maxOutputBytes must be 0":                {MaxOutputBytes: -1},
		"maxToolCalls must be 1":                  {MaxToolCalls: -1},
		"memoryBytes must be from 4194304 (4 MiB": {MemoryBytes: 4<<20 - 1},
		"to 2080374784 (1984 MiB)":                {MemoryBytes: 2 << 30},
	} {
		_, err := r.m.Start(context.Background(), r.spec(x))
		if fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
