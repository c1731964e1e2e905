package attached

import (
	"encoding/json"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
	"tenon/proto"
)

// programOf is a program as it travels.
func programOf(name string, s *script.Program, p engine.Program) proto.AttachedProgram {
	out := proto.AttachedProgram{
		Engine: name, Name: p.Name, Args: p.Args, Input: p.Input, Stdin: p.Stdin, Sandbox: p.Sandbox, Cwd: p.Cwd, Workspace: p.Workspace, Runtime: p.Runtime,
		Session: proto.ProgramSession{ID: p.Session.ID, Cwd: p.Session.Cwd, RunID: p.Session.RunID},
		Script:  proto.ProgramScript{Code: s.Code, Mappings: s.Mappings, Above: s.Above, Skip: s.Skip, Sources: s.Sources},
		Limits: proto.ProgramLimits{
			CPUMS: p.Limits.CPU.Milliseconds(), MemoryBytes: p.Limits.Memory, Depth: p.Limits.Depth, Concurrency: p.Limits.Concurrency,
			CaptureBytes: p.Limits.Capture, Logs: p.Limits.Logs, Timers: p.Limits.Timers, FloatMS: p.Limits.Float.Milliseconds(),
		},
	}
	for _, e := range s.Edits {
		out.Script.Edits = append(out.Script.Edits, proto.ProgramEdit(e))
	}
	for _, n := range p.Namespaces {
		out.Namespaces = append(out.Namespaces, proto.ProgramSpace(n))
	}
	return out
}

// jobOf is the way back.
func jobOf(a proto.AttachedProgram) Job {
	j := Job{
		Engine: a.Engine,
		Program: engine.Program{
			Name: a.Name, Args: a.Args, Input: a.Input, Stdin: a.Stdin, Sandbox: a.Sandbox, Cwd: a.Cwd, Workspace: a.Workspace, Runtime: a.Runtime,
			Session: engine.SessionInfo{ID: a.Session.ID, Cwd: a.Session.Cwd, RunID: a.Session.RunID},
			Limits: engine.Limits{
				CPU: time.Duration(a.Limits.CPUMS) * time.Millisecond, Memory: a.Limits.MemoryBytes, Depth: a.Limits.Depth,
				Concurrency: a.Limits.Concurrency, Capture: a.Limits.CaptureBytes, Logs: a.Limits.Logs, Timers: a.Limits.Timers,
				Float: time.Duration(a.Limits.FloatMS) * time.Millisecond,
			},
		},
		Compiled: &script.Program{Code: a.Script.Code, Mappings: a.Script.Mappings, Above: a.Script.Above, Skip: a.Script.Skip, Sources: a.Script.Sources},
	}
	for _, e := range a.Script.Edits {
		j.Compiled.Edits = append(j.Compiled.Edits, script.Edit(e))
	}
	for _, n := range a.Namespaces {
		j.Program.Namespaces = append(j.Program.Namespaces, engine.Namespace(n))
	}
	return j
}

// wireOutcome is an outcome as it travels.
func wireOutcome(o *engine.Outcome) proto.ProgramOutcome {
	out := proto.ProgramOutcome{
		Value: o.Value, Stdout: o.Stdout, Stderr: o.Stderr, Emits: o.Emits, MemoryBytes: o.Memory,
		CPUMS: float64(o.CPU) / float64(time.Millisecond),
		Dropped: proto.ProgramDropped{
			LogRecords: o.Dropped.LogRecords, LogBytes: o.Dropped.LogBytes, EmitBytes: o.Dropped.EmitBytes,
			ValueBytes: o.Dropped.ValueBytes, OutputBytes: o.Dropped.OutputBytes,
		},
	}
	for _, l := range o.Logs {
		out.Logs = append(out.Logs, l.Wire())
	}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, proto.Warning(w))
	}
	if o.Err != nil {
		out.Error = o.Err.Wire()
		out.Error.Stack = o.Stack
	}
	return out
}

// outcomeOf is the way back.
func outcomeOf(o proto.ProgramOutcome) *engine.Outcome {
	out := &engine.Outcome{
		Value: o.Value, Stdout: o.Stdout, Stderr: o.Stderr, Emits: o.Emits, Memory: o.MemoryBytes,
		CPU: time.Duration(o.CPUMS * float64(time.Millisecond)),
		Dropped: engine.Dropped{
			LogRecords: o.Dropped.LogRecords, LogBytes: o.Dropped.LogBytes, EmitBytes: o.Dropped.EmitBytes,
			ValueBytes: o.Dropped.ValueBytes, OutputBytes: o.Dropped.OutputBytes,
		},
	}
	for _, l := range o.Logs {
		out.Logs = append(out.Logs, recordOf(l))
	}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, engine.Warning(w))
	}
	if o.Error != nil {
		out.Err, out.Stack = fault.FromWire(o.Error), o.Error.Stack
		if p := o.Error.Position; p != nil && out.Err.Position == nil {
			at := fault.Position(*p)
			out.Err.Position = &at
		}
	}
	return out
}

func recordOf(l proto.Log) engine.LogRecord {
	out := engine.LogRecord{Level: l.Level, Message: l.Message, Attrs: json.RawMessage(l.Attrs)}
	if l.Position != nil {
		at := fault.Position(*l.Position)
		out.Position = &at
	}
	if t, err := time.Parse(time.RFC3339Nano, l.Time); err == nil {
		out.Time = t
	}
	return out
}
