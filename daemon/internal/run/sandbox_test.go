package run

import (
	"context"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestTheSandboxIsAtMostWhatThePermissionsSay(t *testing.T) {
	for _, c := range []struct{ dial, asked, mode, kind string }{
		{"", "", "workspace-write", ""},
		{"", "read-only", "read-only", ""},
		{"", "full", "", "PermissionDenied"},
		{"read-only", "", "read-only", ""},
		{"read-only", "workspace-write", "", "PermissionDenied"},
		{"full", "", "full", ""},
		{"full", "full", "full", ""},
		{"confined", "", "confined", ""}, // which the engine then refuses
		{"confined", "read-only", "", "PermissionDenied"},
		{"", "odd", "", "UsageError"},
	} {
		r := newRig(t)
		var got *engine.Program
		r.m.o.Engines["node"] = program(func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
			got = &p
			return &engine.Outcome{}
		})
		r.view.Permissions.Sandbox = c.dial
		res := r.start(proto.ExecRequest{Engine: "node", Sandbox: c.asked}).Wait()
		if c.kind != "" {
			if got != nil || res.Error == nil || res.Error.Kind != c.kind || c.kind == string(fault.PermissionDenied) && res.Error.Hint == "" {
				t.Errorf("%+v: %+v", c, res.Error)
			}
			continue
		}
		if got == nil || got.Sandbox != c.mode {
			t.Errorf("%+v: %+v %+v", c, got, res.Error)
		}
	}
}

func TestAProcessGetsItsPlaceAndNoSecret(t *testing.T) {
	r := newRig(t)
	var got engine.Program
	r.m.o.Engines["node"] = program(func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
		got = p
		return &engine.Outcome{CPU: 3 * time.Second}
	})
	r.view.Workspace = "/project/top"
	r.view.Script.Runtimes = map[string]string{"node": "/opt/node"}
	r.caller.Env = config.Env{"PATH": "/bin", "USER": "me", "TOKEN_OF_A_SERVER": "secret"}
	res := r.start(proto.ExecRequest{Engine: "node", Cwd: "/elsewhere"}).Wait()
	if got.Cwd != "/elsewhere" || got.Workspace != "/project/top" || got.Runtime != "/opt/node" {
		t.Errorf("%+v", got)
	}
	if len(got.Env) != 2 || got.Env["PATH"] != "/bin" || got.Env["USER"] != "me" {
		t.Errorf("variables %v", got.Env)
	}
	if res.Timing.Compute < 3000 {
		t.Errorf("computing %v ms: what the process used is not counted", res.Timing.Compute)
	}
	if row, err := r.history.Show(context.Background(), res.ID); err != nil || row.Options == nil || row.Options.Sandbox != "workspace-write" {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestEmbeddedIsConfinedWhateverIsAllowed(t *testing.T) {
	r := newRig(t)
	var got engine.Program
	r.run = func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
		got = p
		return value("1")
	}
	r.view.Permissions.Sandbox = "full"
	if res := r.start(proto.ExecRequest{Sandbox: "workspace-write"}).Wait(); !res.OK || got.Sandbox != "confined" || got.Env != nil || got.Cwd != "" {
		t.Errorf("%+v, %+v", res, got)
	}
}

func TestAScriptWithinAProgramIsNoWiderThanThatProgram(t *testing.T) {
	for _, c := range []struct{ asked, outer, inner, want string }{
		{"read-only", "", "// @sandbox workspace-write", "read-only"},
		{"", "// @sandbox read-only", "// @sandbox workspace-write", "read-only"},
		{"", "// @sandbox read-only", "", "read-only"},
		{"", "", "// @sandbox read-only", "read-only"},
		{"workspace-write", "", "// @sandbox full", "workspace-write"},
		{"", "", "", "full"},
	} {
		r := shelved(t, map[string]string{"outer.ts": c.outer + "\nouter", "inner.ts": c.inner + "\ninner"})
		r.view.Permissions.Sandbox = "full"
		got := ""
		r.m.o.Engines["node"] = byName(map[string]program{
			"main": func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
				_, err := h.RunScript(ctx, "outer", nil)
				return &engine.Outcome{Err: fault.From(err)}
			},
			"outer": func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
				_, err := h.RunScript(ctx, "inner", nil)
				return &engine.Outcome{Err: fault.From(err)}
			},
			"inner": func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
				got = p.Sandbox
				return value("1")
			},
		})
		if res := r.start(proto.ExecRequest{Code: "main", Engine: "node", Sandbox: c.asked}).Wait(); !res.OK || got != c.want {
			t.Errorf("%+v: %q, %+v", c, got, res.Error)
		}
	}
}
