package attached

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is far beyond what anything here takes, also on a busy machine.
const patience = 30 * time.Second

func TestAProgramIsExecutedAtTheOtherEnd(t *testing.T) {
	r := &rig{}
	result, err := r.start(t, t.Context(), func(ctx context.Context, j Job, h engine.Host) *engine.Outcome {
		p := j.Program
		if j.Engine != "deno" || j.Compiled.Code != "compiled" || !j.Compiled.Module() == (j.Compiled.Skip == 0) || len(j.Compiled.Edits) != 1 ||
			p.Name != "a.ts" || p.Args[0] != "x" || string(p.Input) != `{"n":12345678901234567890}` || p.Sandbox != "full" || p.Cwd != "/w" ||
			p.Namespaces[0].Tools["a_b"] != "a-b" || p.Session.RunID != "r" || p.Limits.CPU != time.Minute || p.Limits.Float != time.Second || p.Limits.Concurrency != 3 {
			t.Errorf("%+v", j)
		}
		h.Log(engine.LogRecord{Level: "info", Message: "one"})
		h.Emit([]byte(`2`))
		v, err := h.Call(ctx, "fake", "echo", []byte(`{"big":12345678901234567890}`), engine.CallOptions{})
		if err != nil || string(v.Value) != `{"big":12345678901234567890}` || string(v.Raw) != `{"content":[]}` {
			t.Errorf("call: %s, %s, %v", v.Value, v.Raw, err)
		}
		_, err = h.Call(ctx, "fake", "refuse", []byte(`{}`), engine.CallOptions{})
		if e := fault.From(err); e.Kind != fault.PermissionDenied || e.Server != "fake" || e.Tool != "refuse" {
			t.Errorf("refused: %+v", e)
		}
		found, err := h.Search(ctx, []byte(`{"query":"x"}`))
		if err != nil || string(found) != `{"query":"x"}` {
			t.Errorf("search: %s, %v", found, err)
		}
		about, err := h.Describe(ctx, "fake.echo")
		if err != nil || string(about) != `"about fake.echo"` {
			t.Errorf("describe: %s, %v", about, err)
		}
		return &engine.Outcome{
			Value: json.RawMessage(`{"n":98765432109876543210}`), Stdout: "out", Stderr: "err", Logs: []engine.LogRecord{{Level: "info", Message: "one"}},
			Emits: []json.RawMessage{json.RawMessage(`2`)}, Warnings: []engine.Warning{{Kind: "K", Message: "m"}},
			Dropped: engine.Dropped{OutputBytes: 7}, CPU: time.Second, Memory: 9,
		}
	})
	if err != nil || !result.OK || string(result.Value) != `{"n":98765432109876543210}` {
		t.Fatalf("%+v, %v", result, err)
	}
	o := r.run.out
	if o.Stdout != "out" || o.Stderr != "err" || o.Logs[0].Message != "one" || string(o.Emits[0]) != "2" || o.Warnings[0].Kind != "K" ||
		o.Dropped.OutputBytes != 7 || o.CPU != time.Second || o.Memory != 9 {
		t.Errorf("%+v", o)
	}
	if strings.Join(r.tools.said, ", ") != "log one, emit 2" || strings.Join(r.frames, " ") != "start end" {
		t.Errorf("%v, frames %v", r.tools.said, r.frames)
	}
}

func TestAFailureKeepsItsKindPlaceAndStack(t *testing.T) {
	r := &rig{}
	if _, err := r.start(t, t.Context(), func(context.Context, Job, engine.Host) *engine.Outcome {
		e := fault.New(fault.ScriptError, "it broke").WithHint("mend it")
		e.Position = &fault.Position{Line: 3, Column: 4}
		return &engine.Outcome{Err: e, Stack: "at f (3:4)"}
	}); err != nil {
		t.Fatal(err)
	}
	o := r.run.out
	if o.Err == nil || o.Err.Kind != fault.ScriptError || o.Err.Hint != "mend it" || *o.Err.Position != (fault.Position{Line: 3, Column: 4}) || o.Stack != "at f (3:4)" {
		t.Errorf("%+v, stack %q", o.Err, o.Stack)
	}
}

// until waits for the end of a program and reports why it ended.
func until(ctx context.Context) *engine.Outcome {
	<-ctx.Done()
	return &engine.Outcome{Stdout: "so far", Err: fault.From(context.Cause(ctx))}
}

func TestARunsEndReachesTheProgramWithItsReason(t *testing.T) {
	r := &rig{limit: func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(fault.New(fault.TimeoutExceeded, "the run exceeded its limit"))
		return ctx
	}}
	_, err := r.start(t, t.Context(), func(ctx context.Context, _ Job, _ engine.Host) *engine.Outcome { return until(ctx) })
	if err != nil || r.run.out.Err == nil || r.run.out.Err.Kind != fault.TimeoutExceeded || r.run.out.Stdout != "so far" {
		t.Errorf("%+v, %v", r.run.out, err)
	}
}

func TestAnInterruptEndsProgramCallsAndRun(t *testing.T) {
	r := &rig{}
	ctx, interrupt := context.WithCancelCause(t.Context())
	result, err := r.start(t, ctx, func(ctx context.Context, _ Job, h engine.Host) *engine.Outcome {
		called := make(chan error, 1)
		go func() {
			_, err := h.Call(ctx, "fake", "wait", []byte(`{}`), engine.CallOptions{})
			called <- err
		}()
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
			r.tools.mu.Lock()
			waiting := len(r.tools.said) > 0
			r.tools.mu.Unlock()
			if waiting {
				break
			}
		}
		interrupt(fault.New(fault.Cancelled, "interrupted"))
		if err := <-called; fault.KindOf(err) != fault.Cancelled {
			t.Errorf("the call: %v", err)
		}
		return until(ctx)
	})
	if err != nil || result.OK || result.Error.Kind != string(fault.Cancelled) {
		t.Fatalf("%+v, %v", result, err)
	}
	if len(r.tools.said) != 2 || !strings.HasPrefix(r.tools.said[1], "given up") {
		t.Errorf("%v", r.tools.said)
	}
}

func TestALostDaemonEndsTheProgramBeforeTheCommand(t *testing.T) {
	r, ended := &rig{}, false
	result, err := r.start(t, t.Context(), func(ctx context.Context, _ Job, _ engine.Host) *engine.Outcome {
		_ = r.ours.Close()
		<-ctx.Done()
		if fault.KindOf(context.Cause(ctx)) != fault.DaemonUnavailable {
			t.Errorf("the program's reason: %v", context.Cause(ctx))
		}
		ended = true
		return &engine.Outcome{}
	})
	if result != nil || fault.KindOf(err) != fault.DaemonUnavailable || !ended {
		t.Errorf("%+v, %v, ended %v", result, err, ended)
	}
}

func TestALostCommandCancelsTheRun(t *testing.T) {
	r := &rig{}
	theirs := r.connect(t)
	in := bufio.NewReader(theirs)
	go func() { // as much of a caller as is needed to be lost
		_, _ = theirs.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"exec/attach","params":{"code":"x","engine":"deno"}}` + "\n"))
		for {
			line, err := in.ReadString('\n')
			if err != nil || strings.Contains(line, proto.MethodProgramRun) {
				_ = theirs.Close()
				return
			}
		}
	}()
	<-r.served
	<-r.run.done
	if o := r.run.out; o.Err == nil || o.Err.Kind != fault.Cancelled || !strings.Contains(o.Err.Message, "is gone") {
		t.Errorf("%+v", o)
	}
}

func TestWhatCannotBeStartedIsAnError(t *testing.T) {
	r := &rig{}
	theirs := r.connect(t)
	c := Caller{Frame: func(proto.Frame) {}}
	_, err := c.Run(t.Context(), theirs, bufio.NewReader(theirs), proto.ExecRequest{Code: "refused"}, patience)
	<-r.served
	if fault.KindOf(err) != fault.UsageError || err.Error() != "refused" {
		t.Errorf("%v", err)
	}
	theirs = r.connect(t)
	_, err = c.Run(t.Context(), theirs, bufio.NewReader(theirs), proto.ExecRequest{Code: "panic"}, patience)
	<-r.served
	if fault.KindOf(err) != fault.InternalError {
		t.Errorf("%v", err)
	}
}

func TestAConnectionHasOneRunAndSpeaksSense(t *testing.T) {
	r := &rig{}
	theirs := r.connect(t)
	l := newLink(theirs, bufio.NewReader(theirs))
	served := make(chan struct{})
	go func() { defer close(served); l.serve() }()
	if _, err := l.call(t.Context(), proto.MethodToolCall, proto.ProgramCall{Args: json.RawMessage(`{}`)}); fault.KindOf(err) != fault.Cancelled {
		t.Errorf("a call without a run: %v", err)
	}
	if _, err := l.call(t.Context(), "no/such", struct{}{}); fault.KindOf(err) != fault.UsageError {
		t.Errorf("an unknown method: %v", err)
	}
	_, _ = theirs.Write([]byte("nonsense\n"))
	<-r.served
	<-served
	if _, err := l.call(t.Context(), "late", struct{}{}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestRequestsAtATimeAreBounded(t *testing.T) {
	ours, theirs := net.Pipe()
	a, b := newLink(ours, bufio.NewReader(ours)), newLink(theirs, bufio.NewReader(theirs))
	release, inside := make(chan struct{}), make(chan struct{}, maxRequests)
	a.requests["wait"] = func(context.Context, json.RawMessage) (any, error) {
		inside <- struct{}{}
		<-release
		return 1, nil
	}
	var serving, asking sync.WaitGroup
	serving.Go(a.serve)
	serving.Go(b.serve)
	for range maxRequests {
		asking.Go(func() {
			if _, err := b.call(t.Context(), "wait", struct{}{}); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxRequests {
		<-inside
	}
	if _, err := b.call(t.Context(), "wait", struct{}{}); fault.KindOf(err) != fault.UsageError {
		t.Errorf("one more: %v", err)
	}
	close(release)
	asking.Wait()
	a.close(errDone)
	serving.Wait()
}

// Requests are counted by their ids, so one id is one request.
func TestAnIDIsOneRequest(t *testing.T) {
	ours, theirs := net.Pipe()
	a := newLink(ours, bufio.NewReader(ours))
	release, inside := make(chan struct{}), make(chan struct{}, 9)
	a.requests["wait"] = func(context.Context, json.RawMessage) (any, error) {
		inside <- struct{}{}
		<-release
		return 1, nil
	}
	var serving sync.WaitGroup
	serving.Go(a.serve)
	answers := bufio.NewScanner(theirs)
	const request = `{"jsonrpc":"2.0","id":1,"method":"wait","params":{}}` + "\n"
	_, _ = theirs.Write([]byte(request)) // a failure shows in the answers
	<-inside
	for range 5 {
		_, _ = theirs.Write([]byte(request))
		if !answers.Scan() || !strings.Contains(answers.Text(), "still being handled") {
			t.Errorf("%s", answers.Text())
		}
	}
	if len(inside) > 0 {
		t.Error("it was handled twice")
	}
	close(release)
	if !answers.Scan() || !strings.Contains(answers.Text(), `"result":1`) {
		t.Errorf("%s", answers.Text())
	}
	a.close(errDone)
	serving.Wait()
}
