package run

import (
	"context"
	"testing"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestWhereAProgramIsExecuted(t *testing.T) {
	m := &Manager{}
	for _, c := range []struct {
		setting, engine, where string
		beside, refused        bool
	}{
		{where: "auto"},
		{where: "local", refused: true},
		{where: "remote"},
		{engine: "deno"}, // a caller that says nothing cannot execute it
		{engine: "deno", where: "auto", beside: true},
		{engine: "deno", where: "local", beside: true},
		{engine: "deno", where: "remote"},
		{setting: "node", where: "auto", beside: true},
		{setting: "node", engine: "embedded", where: "auto"},
		{setting: "node", engine: "auto", where: "local", refused: true},
	} {
		view := &config.View{Script: config.Script{Engine: c.setting}}
		beside, err := m.Beside(Spec{View: view, Exec: proto.ExecRequest{Code: "1", Engine: c.engine, Where: c.where}})
		if beside != c.beside || (fault.KindOf(err) == fault.UsageError) != c.refused || !c.refused && err != nil {
			t.Errorf("%+v: %v, %v", c, beside, err)
		}
	}
}

func TestNothingButAProcessIsExecutedBesideItsCaller(t *testing.T) {
	r := newRig(t)
	r.run = func(context.Context, engine.Program, engine.Host) *engine.Outcome {
		t.Error("it ran in the daemon")
		return &engine.Outcome{}
	}
	spec := r.spec(proto.ExecRequest{Code: "1"})
	spec.Beside = &attached.Daemon{}
	started, err := r.m.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if res := started.Wait(); res.OK || res.Error.Kind != string(fault.UsageError) {
		t.Errorf("%+v", res)
	}
}
