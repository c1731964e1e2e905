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

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/shelf"
	"tenon/proto"
)

// shelved gives a rig saved scripts, in a project of its own.
func shelved(t *testing.T, scripts map[string]string) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range scripts {
		file := filepath.Join(dir, shelf.Folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t)
	r.caller.Dir = dir
	r.m.o.Shelf = shelf.New(filepath.Join(dir, "user"))
	return r
}

// byName runs what stands for each source; its first word names it.
func byName(programs map[string]program) program {
	return func(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
		return programs[strings.Fields(p.Source)[len(strings.Fields(p.Source))-1]](ctx, p, h)
	}
}

func TestASavedScriptRunsWithWhatItsHeaderSays(t *testing.T) {
	r := shelved(t, map[string]string{"report.ts": "// @param {number} [limit=3]\n// @timeout 5s\nmain"})
	var seen engine.Program
	res := r.exec(proto.ExecRequest{Script: "report", Params: map[string]string{"limit": "7"}, Args: []string{"x"}}, func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
		seen = p
		return value("1")
	})
	if !res.OK || string(seen.Input) != `{"limit":7}` || seen.Name != "report.ts" || !strings.HasSuffix(seen.Source, "main") || seen.Args[0] != "x" {
		t.Errorf("%+v, %+v", res, seen)
	}
	one := r.start(proto.ExecRequest{Script: "report"})
	one.Wait()
	if string(seen.Input) != `{"limit":3}` || one.limits.wall != 5*time.Second || one.Info().Options.Script != "report" {
		t.Errorf("%s, %s, %+v", seen.Input, one.limits.wall, one.Info().Options)
	}
	ms := int64(90_000)
	if one = r.start(proto.ExecRequest{Script: "report", TimeoutMS: &ms}); one.limits.wall != 90*time.Second {
		t.Errorf("the caller's own limit became %s", one.limits.wall)
	}
	one.Wait()
	for _, c := range []struct {
		x    proto.ExecRequest
		kind fault.Kind
	}{
		{proto.ExecRequest{Script: "raport"}, fault.NotFound},
		{proto.ExecRequest{Script: "report", Code: "1"}, fault.UsageError},
		{proto.ExecRequest{Code: "1", Params: map[string]string{"a": "b"}}, fault.UsageError},
		{proto.ExecRequest{Script: "report", Params: map[string]string{"limt": "1"}}, fault.UsageError},
	} {
		if _, err := r.m.Start(t.Context(), r.spec(c.x)); fault.KindOf(err) != c.kind {
			t.Errorf("%+v: %v", c.x, err)
		}
	}
}

func TestWhatIsPipedInIsTheInputWhereNoneIsGiven(t *testing.T) {
	r := shelved(t, map[string]string{"plain.ts": "main", "typed.ts": "// @param {number} [n=1]\nmain"})
	for _, c := range []struct {
		x     proto.ExecRequest
		stdin string
		want  string
	}{
		{proto.ExecRequest{Code: "main"}, "[1]\n", "[1]\n"},
		{proto.ExecRequest{Code: "main"}, "two words", `"two words"`},
		{proto.ExecRequest{Code: "main"}, "", ""},
		{proto.ExecRequest{Code: "main", Input: json.RawMessage("5")}, "[1]", "5"},
		{proto.ExecRequest{Script: "plain"}, "text", `"text"`},
		{proto.ExecRequest{Script: "typed"}, "text", `{"n":1}`},
		{proto.ExecRequest{Script: "typed"}, `{"n":4}`, `{"n":4}`},
	} {
		x := c.x
		x.Stdin = &c.stdin
		var seen engine.Program
		r.exec(x, func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome { seen = p; return value("1") })
		if string(seen.Input) != c.want || seen.Stdin == nil || *seen.Stdin != c.stdin {
			t.Errorf("%+v with %q: input %s", c.x, c.stdin, seen.Input)
		}
	}
}

func TestAScriptWithinARunIsAPartOfIt(t *testing.T) {
	r := shelved(t, map[string]string{"child.ts": "// @param {string} who\nchild", "grand.ts": "grand"})
	at := time.Now()
	log := func(text string, n int) engine.LogRecord {
		return engine.LogRecord{Level: "info", Message: text, Time: at.Add(time.Duration(n) * time.Second)}
	}
	res := r.exec(proto.ExecRequest{Code: "main", MaxToolCalls: 2}, byName(map[string]program{
		"main": func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
			h.Emit([]byte(`"a"`))
			v, err := h.RunScript(ctx, "child", []byte(`{"who":"ann"}`))
			if err != nil {
				return &engine.Outcome{Err: fault.From(err)}
			}
			h.Emit([]byte(`"c"`))
			_, over := h.Call(ctx, "fake", "one", []byte(`{}`), engine.CallOptions{})
			_, wrong := h.RunScript(ctx, "child", []byte(`{"whom":"ann"}`))
			out, _ := json.Marshal([]any{json.RawMessage(v), fault.KindOf(over), fault.KindOf(wrong)})
			return &engine.Outcome{Value: out, Logs: []engine.LogRecord{log("first", 0), log("last", 3)}, Emits: []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`"c"`)}}
		},
		"child": func(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
			h.Emit([]byte(`"b"`))
			_, err1 := h.Call(ctx, "fake", "two", []byte(`{}`), engine.CallOptions{})
			_, err2 := h.RunScript(ctx, "grand", nil)
			if err1 != nil || fault.KindOf(err2) != fault.ToolFailure || !strings.Contains(err2.Error(), "script grand:4:5: broken") {
				return &engine.Outcome{Err: fault.New(fault.ScriptError, "%v, %v", err1, err2)}
			}
			h.Log(log("within", 1))
			return &engine.Outcome{Value: p.Input, Logs: []engine.LogRecord{log("within", 1)}, Emits: []json.RawMessage{json.RawMessage(`"b"`)}, Warnings: []engine.Warning{{Kind: "W", Message: "w"}}}
		},
		"grand": func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
			_, _ = h.Call(ctx, "fake", "three", []byte(`{}`), engine.CallOptions{})
			e := fault.New(fault.ToolFailure, "broken")
			e.Position = &fault.Position{Line: 4, Column: 5}
			return &engine.Outcome{Err: e, Logs: []engine.LogRecord{log("deep", 2)}}
		},
	}))
	if !res.OK || string(res.Value) != `[{"who":"ann"},"ToolCallLimitExceeded","InvalidToolInput"]` {
		t.Fatalf("%s, %+v", res.Value, res.Error)
	}
	var said []string
	for _, l := range res.Logs {
		said = append(said, l.Script+":"+l.Message)
	}
	if got := strings.Join(said, " "); got != ":first child:within grand:deep :last" {
		t.Errorf("logs %s", got)
	}
	if got, _ := json.Marshal(res.Emits); string(got) != `["a","b","c"]` {
		t.Errorf("emits %s", got)
	}
	if len(res.Calls) != 2 || res.Calls[0].Script != "child" || res.Calls[1].Script != "grand" {
		t.Errorf("calls %+v", res.Calls)
	}
	if len(res.Scripts) != 2 || res.Scripts[0].Name != "child" || res.Scripts[0].Path != "" || res.Scripts[0].Status != "ok" ||
		res.Scripts[1].Path != "child" || res.Scripts[1].Kind != "ToolFailure" || res.Scripts[1].Engine != "embedded" {
		t.Errorf("scripts %+v", res.Scripts)
	}
	if len(res.Warnings) != 1 || res.Warnings[0].Message != "script child: w" {
		t.Errorf("warnings %+v", res.Warnings)
	}
}

func TestScriptsThatRunEachOtherEndWithTheirChain(t *testing.T) {
	r := shelved(t, map[string]string{"a.ts": "a", "b.ts": "b"})
	runs := func(name string) program {
		return func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
			_, err := h.RunScript(ctx, name, nil)
			return &engine.Outcome{Err: fault.From(err)}
		}
	}
	res := r.exec(proto.ExecRequest{Code: "main"}, byName(map[string]program{"main": runs("a"), "a": runs("b"), "b": runs("a")}))
	if res.OK || res.Error.Kind != string(fault.ScriptError) || !strings.Contains(res.Error.Message, "more than 8 deep: a > b > a > b > a > b > a > b > a") || len(res.Scripts) != maxNested {
		t.Errorf("%+v, %d scripts", res.Error, len(res.Scripts))
	}
	if !strings.Contains(res.Error.Hint, "runs itself again") {
		t.Errorf("hint %q", res.Error.Hint)
	}
}

func TestAParkedProgramLeavesItsTokenToTheScriptsItRuns(t *testing.T) {
	r := shelved(t, map[string]string{"child.ts": "child"})
	r.m.tokens = make(chan struct{}, 1)
	computing := func(p engine.Program, f func()) {
		if err := p.Clock.Resume(context.Background()); err != nil {
			t.Error(err)
		}
		f()
		p.Clock.Park()
	}
	res := r.exec(proto.ExecRequest{Code: "main"}, byName(map[string]program{
		"main": func(ctx context.Context, p engine.Program, h engine.Host) *engine.Outcome {
			computing(p, func() {})
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if _, err := h.RunScript(ctx, "child", nil); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			computing(p, func() {})
			return value("1")
		},
		"child": func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
			computing(p, func() {})
			return &engine.Outcome{Value: json.RawMessage("1"), CPU: time.Second}
		},
	}))
	if !res.OK || len(r.m.tokens) != 0 || res.Timing.Compute < 4000 {
		t.Errorf("%+v, %d tokens held", res, len(r.m.tokens))
	}
}

func TestScriptsShareTheComputingTimeOfTheirRun(t *testing.T) {
	r := shelved(t, map[string]string{"child.ts": "child"})
	r.view.Script.CPU = 3 * time.Second
	var left []time.Duration
	res := r.exec(proto.ExecRequest{Code: "main"}, byName(map[string]program{
		"main": func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
			for {
				if _, err := h.RunScript(ctx, "child", nil); err != nil {
					return &engine.Outcome{Err: fault.From(err)}
				}
			}
		},
		"child": func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
			left = append(left, p.Limits.CPU)
			return &engine.Outcome{CPU: 2 * time.Second}
		},
	}))
	if res.OK || res.Error.Kind != string(fault.CPULimitExceeded) || len(left) != 2 || left[0] != 3*time.Second || left[1] > time.Second {
		t.Errorf("%+v, %v", res.Error, left)
	}
}
