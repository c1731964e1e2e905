package run

import "tenon/proto"

// Ended is the end of a run or a lone call, for statistics.
type Ended struct {
	Engine  string // as it was asked for; "call": a lone call
	Surface string // cli, http, mcp, bridge
	Status  string // ok, failed, cancelled
	Kind    string // of the failure; empty: none
	Timing  proto.Timing
}

// tell passes the end on to whoever counts; the result is settled.
func (r *Run) tell() {
	if r.m.o.Ended == nil {
		return
	}
	e := Ended{Engine: r.engine, Surface: r.spec.Surface, Status: r.status, Timing: r.result.Timing}
	if r.result.Error != nil {
		e.Kind = r.result.Error.Kind
	}
	r.m.o.Ended(e)
}
