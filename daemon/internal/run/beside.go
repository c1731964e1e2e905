package run

import (
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// Places where a program may be executed (--where, ExecRequest.Where).
const (
	WhereAuto   = "auto"   // beside its caller where it can be, else in the daemon
	WhereLocal  = "local"  // beside its caller
	WhereRemote = "remote" // in the daemon
)

// executor is what executes the program: the engine of that name here, or that
// of its caller, for which the one here compiles.
func (r *Run) executor() (engine.Engine, *fault.Error) {
	e := r.m.o.Engines[r.engine]
	if e == nil {
		return nil, r.m.noEngine(r.engine)
	}
	if r.spec.Beside == nil {
		return e, nil
	}
	c, ok := e.(compiler)
	if !ok || r.engine == DefaultEngine {
		return nil, embeddedIsHere()
	}
	return r.spec.Beside.Engine(r.engine, c.Compile), nil
}

// Beside reports whether a program of a caller that can execute programs itself
// is to be executed there: those of engines that are processes are, unless the
// request says remote. The error is a UsageError, or NotFound for a saved script
// that is not there.
func (m *Manager) Beside(spec Spec) (bool, error) {
	if err := m.prepare(&spec); err != nil { // a saved script says which engine it is for
		return false, err
	}
	name, x := nameOfEngine(spec), spec.Exec
	switch {
	case x.Where == "" || x.Where == WhereRemote:
		return false, nil
	case name != DefaultEngine:
		return true, nil
	case x.Where == WhereLocal:
		return false, embeddedIsHere()
	}
	return false, nil
}

func embeddedIsHere() *fault.Error {
	return fault.New(fault.UsageError, "the embedded engine is a part of the daemon: its programs cannot be executed anywhere else").
		WithHint("leave --where away, or choose an engine that is a process: --engine deno, bun or node")
}

// where is where the program is executed; empty: there is no choice.
func (r *Run) where() string {
	switch {
	case r.engine == DefaultEngine || r.engine == "call":
		return ""
	case r.spec.Beside != nil:
		return WhereLocal
	}
	return WhereRemote
}
