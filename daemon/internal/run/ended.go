package run

import (
	"context"
	"log/slog"

	"tenon/proto"
)

// Ended is the end of a run or a lone call, for statistics.
type Ended struct {
	Engine  string // as it was asked for; "call": a lone call
	Surface string // cli, http, mcp, bridge
	Status  string // ok, failed, cancelled
	Kind    string // of the failure; empty: none
	Timing  proto.Timing
}

// tell passes the end on to the log and to whoever counts; the result is settled.
func (r *Run) tell() {
	e := Ended{Engine: r.engine, Surface: r.spec.Surface, Status: r.status, Timing: r.result.Timing}
	if r.result.Error != nil {
		e.Kind = r.result.Error.Kind
	}
	level := slog.LevelDebug
	if e.Kind != "" {
		level = slog.LevelInfo
	}
	if ctx := context.Background(); r.m.log.Enabled(ctx, level) {
		r.m.log.Log(ctx, level, "run ended", "run", r.ID, "session", r.spec.Session.ID, "surface", e.Surface, "engine", e.Engine,
			"status", e.Status, "kind", e.Kind, "calls", len(r.result.Calls), "ms", e.Timing.Total)
	}
	if r.m.o.Ended != nil {
		r.m.o.Ended(e)
	}
}
