package run

import (
	"context"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/fault"
)

// maxSide is how many scripts of one depth go on in a run; docs/scripts.md prints
// it. Each has a memory of its own, so that a run takes at most maxNested times
// as many as this and its own. One of a depth waits only for others of the same,
// which wait for deeper ones, so that all of them come to an end.
const maxSide = 4

// openPlaces makes the places that all programs of the run share.
func (r *Run) openPlaces() {
	r.places = make(chan struct{}, r.limits.engine.Concurrency)
	for range maxNested {
		r.levels = append(r.levels, make(chan struct{}, maxSide))
	}
}

// callPlace takes a place for a call. Engines hold each program to the
// concurrency; this holds the programs of a run to it together.
func (r *Run) callPlace(ctx context.Context) (release func(), over *fault.Error) {
	return r.wait(ctx, r.places)
}

// wait takes one of the places, waiting for it until the end of ctx.
func (r *Run) wait(ctx context.Context, places chan struct{}) (release func(), over *fault.Error) {
	release = func() { <-places }
	select {
	case places <- struct{}{}:
		return release, nil
	default:
	}
	r.clocks.note(call.WaitQueue, true)
	defer r.clocks.note(call.WaitQueue, false)
	select {
	case places <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, fault.From(context.Cause(ctx))
	}
}
