package run

import (
	"context"
	"regexp"
	"sync"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/script"
	"tenon/daemon/internal/typecheck"
	"tenon/proto"
)

// Checker holds programs against types; *typecheck.Checker is one.
type Checker interface {
	Check(ctx context.Context, r typecheck.Request) (*typecheck.Report, error)
}

// compiler is an engine that can say beforehand what it will execute.
type compiler interface {
	Compile(ctx context.Context, source script.Source) (*script.Program, error)
}

// typecheck is what the run was asked to do about types.
func (r *Run) typecheck() string {
	switch {
	case r.engine == "call":
		return ""
	case r.spec.Exec.Typecheck != "":
		return r.spec.Exec.Typecheck
	case r.spec.View.Script.Typecheck != "":
		return r.spec.View.Script.Typecheck
	}
	return typecheck.Off
}

// maxGiven bounds what the row of a run keeps of what it was given, in bytes.
const maxGiven = 4 << 10

// options are how the run is executed, for its row.
func (r *Run) options() proto.RunOptions {
	out := proto.RunOptions{Typecheck: r.typecheck(), Where: r.where(), Script: r.spec.Exec.Script, Export: r.spec.Exec.Export}
	if r.engine == "call" {
		return out
	}
	if mode, failure := r.sandbox(); failure == nil {
		out.Sandbox = string(mode)
	}
	out.Piped = r.spec.Exec.Stdin != nil
	given := len(r.spec.Exec.Input)
	for _, word := range r.spec.Exec.Args {
		given += len(word)
	}
	if given <= maxGiven {
		out.Args, out.Input = r.spec.Exec.Args, r.spec.Exec.Input
	} else {
		out.Cut = append(out.Cut, "given")
	}
	if len(r.spec.Exec.Code) > history.MaxCode {
		out.Cut = append(out.Cut, "code")
	}
	asked := proto.RunLimits{
		TimeoutMS: r.spec.Exec.TimeoutMS, CallTimeoutMS: r.spec.Exec.CallTimeoutMS, MaxOutputBytes: r.spec.Exec.MaxOutputBytes,
		MaxToolCalls: r.spec.Exec.MaxToolCalls, MemoryBytes: r.spec.Exec.MemoryBytes,
	}
	if asked != (proto.RunLimits{}) {
		out.Limits = &asked
	}
	return out
}

// check holds the program against the types of the tools in view, before
// anything of it runs: strict ends the run with what it finds, warn warns. The
// run computes nothing meanwhile, and holds no token for it. A program that
// does not compile is left to the engine, whose error says where.
func (r *Run) check(e engine.Engine, request call.Request, namespaces []engine.Namespace) *fault.Error {
	mode := r.typecheck()
	if mode == typecheck.Off {
		return nil
	}
	module := false
	if c, ok := e.(compiler); ok {
		program, err := c.Compile(r.ctx, r.source())
		if err != nil {
			return nil
		}
		module = program.Module()
	}
	report, err := r.checked(request, namespaces, module, e.Name() != DefaultEngine)
	if r.ctx.Err() != nil {
		return reason(context.Cause(r.ctx))
	}
	if err != nil {
		failure := fault.From(err)
		if mode == typecheck.Strict {
			return failure
		}
		r.warn(proto.Warning{Kind: typecheck.WarningKind, Message: "the program was not checked: " + failure.Message})
		return nil
	}
	if mode == typecheck.Strict {
		return report.Failure()
	}
	for _, mistake := range report.Warnings() {
		r.warn(proto.Warning{Kind: typecheck.WarningKind, Message: mistake})
	}
	return nil
}

func (r *Run) checked(request call.Request, namespaces []engine.Namespace, module, process bool) (*typecheck.Report, error) {
	if c := r.spec.saved; c != nil && c.Modules != nil { // a checker gets one file
		return nil, fault.New(fault.TypeCheckError, "the script %s imports files, and a program of several files is not checked", c.Name).
			WithHint("run it with --typecheck off")
	}
	if r.m.o.Checker == nil {
		return nil, fault.New(fault.TypeCheckError, "this daemon checks no types").
			WithHint("set script.typecheck to off")
	}
	types, err := r.declarations(request, namespaces)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	if s := r.spec.Session; s != nil && s.Env() != nil {
		env = s.Env()
	} else if c := r.spec.Caller; c != nil && c.Env != nil {
		env = c.Env
	}
	return r.m.o.Checker.Check(r.ctx, typecheck.Request{
		Source: r.spec.Exec.Code, Module: module, Name: r.spec.Exec.Name, Types: types, Process: process, Fetch: !process && r.fetches(DefaultEngine),
		Place: typecheck.Place{Dir: r.cwd(), Workspace: r.spec.View.Workspace, Trusted: r.spec.View.Trusted, Env: env},
	})
}

// declarations are the types of everything in view, as far as it is known. A
// server that the program names and that was never listed is started for its
// list: strict would pass whatever is called there. The others are not: a
// program that reaches one by a name it computes gets no types of it.
func (r *Run) declarations(request call.Request, namespaces []engine.Namespace) (string, error) {
	words := map[string]bool{}
	for _, word := range identifiers().FindAllString(r.spec.Exec.Code, -1) {
		words[word] = true
	}
	var unknown []string
	for _, n := range namespaces {
		if words[n.Name] && n.Tools == nil {
			unknown = append(unknown, n.Name)
		}
	}
	if len(unknown) > 0 {
		if _, err := r.m.o.Path.Types(r.ctx, request, proto.TypesQuery{Paths: unknown}); err != nil {
			return "", err
		}
	}
	return r.m.o.Path.Declarations(r.ctx, request), nil
}

var identifiers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\p{L}_$][\p{L}\p{N}_$]*`) })
