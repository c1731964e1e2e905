package run

import (
	"context"
	"strings"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/typecheck"
	"tenon/proto"
)

// checker is a double of a type checker.
type checker func(ctx context.Context, r typecheck.Request) (*typecheck.Report, error)

func (f checker) Check(ctx context.Context, r typecheck.Request) (*typecheck.Report, error) {
	return f(ctx, r)
}

var mistake = &typecheck.Report{Checker: "tsc", Diagnostics: []typecheck.Diagnostic{
	{Position: fault.Position{Line: 2, Column: 3}, Code: 2322, Message: "Type 'a' is not assignable to type 'b'."},
}}

func checked(t *testing.T, mode string, f checker) (*proto.RunResult, bool, *rig) {
	t.Helper()
	r, ran := newRig(t), false
	r.m.o.Checker = f
	if f == nil {
		r.m.o.Checker = nil
	}
	r.run = func(context.Context, engine.Program, engine.Host) *engine.Outcome {
		ran = true
		return &engine.Outcome{}
	}
	started, err := r.m.Start(context.Background(), r.spec(proto.ExecRequest{Code: "log_.x(fake.echo())", Typecheck: mode}))
	if err != nil {
		t.Fatal(err)
	}
	return started.Wait(), ran, r
}

func TestStrictRunsNothingThatDoesNotFit(t *testing.T) {
	res, ran, r := checked(t, "strict", func(context.Context, typecheck.Request) (*typecheck.Report, error) { return mistake, nil })
	if ran || res.OK || res.Error.Kind != string(fault.TypeCheckError) || *res.Error.Position != (proto.Position{Line: 2, Column: 3}) {
		t.Errorf("ran %v: %+v", ran, res.Error)
	}
	if row, err := r.history.Show(context.Background(), res.ID); err != nil || row.Options == nil || row.Options.Typecheck != "strict" {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestStrictWithoutAnAnswerIsNoPass(t *testing.T) {
	res, ran, _ := checked(t, "strict", func(context.Context, typecheck.Request) (*typecheck.Report, error) {
		return nil, fault.New(fault.TypeCheckError, "there is no type checker")
	})
	if ran || res.OK || res.Error.Message != "there is no type checker" {
		t.Errorf("ran %v: %+v", ran, res.Error)
	}
	if res, ran, _ := checked(t, "strict", nil); ran || res.OK {
		t.Error("a daemon without a checker ran it")
	}
}

func TestWarnReportsAndRuns(t *testing.T) {
	res, ran, _ := checked(t, "warn", func(context.Context, typecheck.Request) (*typecheck.Report, error) { return mistake, nil })
	if !ran || !res.OK || len(res.Warnings) != 1 || res.Warnings[0].Kind != "TypeCheck" || !strings.HasPrefix(res.Warnings[0].Message, "2:3: Type 'a'") {
		t.Errorf("ran %v: %+v", ran, res.Warnings)
	}
	res, ran, _ = checked(t, "warn", func(context.Context, typecheck.Request) (*typecheck.Report, error) {
		return nil, fault.New(fault.TypeCheckError, "there is no type checker")
	})
	if !ran || !res.OK || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0].Message, "was not checked: there is no type checker") {
		t.Errorf("ran %v: %+v", ran, res.Warnings)
	}
}

func TestOffAsksNobody(t *testing.T) {
	for _, mode := range []string{"", "off"} {
		res, ran, _ := checked(t, mode, func(context.Context, typecheck.Request) (*typecheck.Report, error) {
			t.Error("checked")
			return nil, nil
		})
		if !ran || !res.OK {
			t.Errorf("%+v", res.Error)
		}
	}
}

func TestOnlyServersThatAProgramNamesAreStartedForTheirLists(t *testing.T) {
	checked(t, "strict", func(_ context.Context, r typecheck.Request) (*typecheck.Report, error) {
		if r.Types != "// listed: fake log_" || r.Process || r.Place.Dir != "/project" {
			t.Errorf("%+v", r)
		}
		return &typecheck.Report{}, nil
	})
}

func TestTheEndOfARunEndsItsCheck(t *testing.T) {
	r := newRig(t)
	inside := make(chan struct{})
	r.m.o.Checker = checker(func(ctx context.Context, _ typecheck.Request) (*typecheck.Report, error) {
		close(inside)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	started, err := r.m.Start(context.Background(), r.spec(proto.ExecRequest{Code: "1", Typecheck: "warn"}))
	if err != nil {
		t.Fatal(err)
	}
	<-inside
	if err := r.m.Cancel(started.ID, fault.New(fault.Cancelled, "enough")); err != nil {
		t.Fatal(err)
	}
	if res := started.Wait(); res.Error == nil || res.Error.Kind != "Cancelled" || res.Error.Message != "enough" {
		t.Errorf("%+v", res.Error)
	}
}

func TestAnUnknownModeIsAMistake(t *testing.T) {
	r := newRig(t)
	_, err := r.m.Start(context.Background(), r.spec(proto.ExecRequest{Code: "1", Typecheck: "hard"}))
	if fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), "off, warn, strict") {
		t.Errorf("%v", err)
	}
}
