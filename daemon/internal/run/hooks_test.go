package run

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// noted is what programs were run with, in order.
type noted struct {
	mu    sync.Mutex
	lines []string
}

func (n *noted) add(p engine.Program) {
	var in hookInput
	_ = json.Unmarshal(p.Input, &in)
	line := p.Source
	if in.Value != nil {
		line += "=" + string(in.Value)
	}
	if in.Error != nil {
		line += "!" + in.Error.Kind
	}
	n.mu.Lock()
	n.lines = append(n.lines, line)
	n.mu.Unlock()
}

func hook(code string) []config.Hook { return []config.Hook{{Code: code}} }

func TestHooksRunAroundAProgram(t *testing.T) {
	r := shelved(t, map[string]string{"tidy.ts": "tidy"})
	r.view.Hooks = config.Hooks{Before: hook("b"), OnSuccess: hook("s"), OnError: hook("e"), After: []config.Hook{
		{Script: "tidy", Origin: config.Origin{Base: r.caller.Dir}}, {Code: "a"},
	}}
	var n noted
	run := func(code string) *proto.RunResult {
		return r.exec(proto.ExecRequest{Code: code, MaxToolCalls: 1}, func(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
			n.add(p)
			switch p.Source {
			case "good":
				_, _ = h.Call(ctx, "fake", "one", []byte(`{}`), engine.CallOptions{})
				return value("7")
			case "bad":
				return &engine.Outcome{Err: fault.New(fault.ToolFailure, "broken")}
			case "a":
				if _, err := h.Call(ctx, "fake", "two", []byte(`{}`), engine.CallOptions{}); err != nil {
					t.Error(err)
				}
				h.Log(engine.LogRecord{Message: "said"})
				return &engine.Outcome{Logs: []engine.LogRecord{{Message: "said"}}, Value: json.RawMessage("99")}
			}
			return value("null")
		})
	}
	res := run("good")
	if got := strings.Join(n.lines, " "); got != "b good s=7 tidy=7 a=7" || !res.OK || string(res.Value) != "7" {
		t.Errorf("%s: %+v", got, res)
	}
	if len(res.Calls) != 2 || res.Calls[1].Script != "hook after" || len(res.Logs) != 1 || res.Logs[0].Script != "hook after" {
		t.Errorf("calls %+v, logs %+v", res.Calls, res.Logs)
	}
	var names []string
	for _, s := range res.Scripts {
		names = append(names, s.Name+" "+s.Status)
	}
	if got := strings.Join(names, ", "); got != "hook before ok, hook onSuccess ok, hook after ok, hook after ok" {
		t.Errorf("%s", got)
	}
	n.lines = nil
	if res = run("bad"); strings.Join(n.lines, " ") != "b bad e!ToolFailure tidy!ToolFailure a!ToolFailure" || res.Error.Kind != "ToolFailure" {
		t.Errorf("%s: %+v", n.lines, res.Error)
	}
}

func TestABeforeThatFailsEndsTheRun(t *testing.T) {
	r := newRig(t)
	r.view.Hooks = config.Hooks{Before: hook("b"), OnError: hook("e"), After: hook("a")}
	var n noted
	res := r.exec(proto.ExecRequest{Code: "main"}, func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
		n.add(p)
		if p.Source == "b" || p.Source == "a" {
			return &engine.Outcome{Err: fault.New(fault.ScriptError, "Error: not today")}
		}
		return value("1")
	})
	if res.OK || res.Error.Kind != string(fault.ScriptError) || res.Error.Message != "the hook before failed: Error: not today" {
		t.Errorf("%+v", res.Error)
	}
	if got := strings.Join(n.lines, " "); got != "b e!ScriptError a!ScriptError" {
		t.Errorf("%s", got)
	}
	if len(res.Warnings) != 1 || res.Warnings[0].Kind != WarnHook || !strings.Contains(res.Warnings[0].Message, "hook after") {
		t.Errorf("%+v", res.Warnings)
	}
}

func TestHooksRunOnceWhateverEndsTheProgramAndNotForOneCall(t *testing.T) {
	r := shelved(t, map[string]string{"child.ts": "child"})
	r.view.Hooks = config.Hooks{Before: hook("b"), After: hook("a")}
	var n noted
	ms := int64(50)
	res := r.exec(proto.ExecRequest{Code: "main", TimeoutMS: &ms}, func(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
		n.add(p)
		switch p.Source {
		case "main":
			_, _ = h.RunScript(ctx, "child", nil)
			<-ctx.Done()
			return &engine.Outcome{Err: fault.From(context.Cause(ctx))}
		case "a":
			if ctx.Err() != nil {
				t.Error("the hook after is over before it begins")
			}
			if at, ok := ctx.Deadline(); !ok || time.Until(at) > hookTime {
				t.Error("the hook after has no bound")
			}
		}
		return value("1")
	})
	if got := strings.Join(n.lines, " "); got != "b main child a!TimeoutExceeded" || res.Error.Kind != "TimeoutExceeded" {
		t.Errorf("%s: %+v", got, res.Error)
	}
	n.lines = nil
	if _, err := r.m.Call(t.Context(), CallSpec{Spec: r.spec(proto.ExecRequest{}), Server: "fake", Tool: "one"}); err != nil || len(n.lines) != 0 {
		t.Errorf("%v, %q", err, n.lines)
	}
}

// A project that nobody trusts, or a session that adds a script to it, must not
// decide what runs as a hook of the user's.
func TestAHookFindsItsScriptWhereItsFileIsAndNotWhereTheRunIs(t *testing.T) {
	r := shelved(t, map[string]string{"tidy.ts": "the project's", "helper.ts": "the project's"})
	for name, text := range map[string]string{"tidy.ts": "mine", "helper.ts": "my helper"} {
		file := filepath.Join(r.caller.Dir, "user", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.view.Hooks = config.Hooks{Before: []config.Hook{{Script: "tidy", Origin: config.Origin{Base: t.TempDir()}}}}
	var n noted
	res := r.exec(proto.ExecRequest{Code: "main"}, func(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
		n.add(p)
		if p.Source == "mine" || p.Source == "main" {
			if _, err := h.RunScript(ctx, "helper", nil); err != nil {
				t.Error(err)
			}
		}
		return value("1")
	})
	if got := strings.Join(n.lines, ", "); got != "mine, my helper, main, the project's" || !res.OK {
		t.Errorf("%s: %+v", got, res.Error)
	}
}

func TestAProjectsHookRunsOnlyTheTextThatWasTrusted(t *testing.T) {
	r := shelved(t, map[string]string{"tidy.ts": "changed since"})
	r.view.Hooks = config.Hooks{Before: []config.Hook{{Script: "tidy", Origin: config.Origin{Base: r.caller.Dir, Project: true}, Texts: []string{"of another text"}}}}
	res := r.exec(proto.ExecRequest{Code: "main"}, func(context.Context, engine.Program, engine.Host) *engine.Outcome {
		t.Error("something ran")
		return value("1")
	})
	if res.OK || !strings.Contains(res.Error.Message, "is not the script that was trusted") {
		t.Errorf("%+v", res.Error)
	}
}
