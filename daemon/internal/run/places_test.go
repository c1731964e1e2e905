package run

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/proto"
)

// highest is the most of something that went on at once.
type highest struct{ now, most atomic.Int32 }

func (h *highest) enter() {
	n := h.now.Add(1)
	for m := h.most.Load(); n > m && !h.most.CompareAndSwap(m, n); m = h.most.Load() {
	}
}

func (h *highest) leave() { h.now.Add(-1) }

func TestTheProgramsOfARunShareItsConcurrency(t *testing.T) {
	r := shelved(t, map[string]string{"child.ts": "child"})
	r.view.Script.Concurrency = 3
	var calls highest
	full := make(chan struct{})
	var once sync.Once
	r.path.call = func(ctx context.Context, _ call.Request) (*call.Result, error) {
		calls.enter()
		defer calls.leave()
		if calls.now.Load() >= 3 {
			once.Do(func() { close(full) })
		}
		select {
		case <-full: // none ends before as many go on as may
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return &call.Result{Value: json.RawMessage("1")}, nil
	}
	many := func(ctx context.Context, h engine.Host, all *sync.WaitGroup) {
		for range 10 {
			all.Go(func() {
				if _, err := h.Call(ctx, "fake", "one", []byte("{}"), engine.CallOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	res := r.exec(proto.ExecRequest{Code: "main"}, byName(map[string]program{
		"main": func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
			var all sync.WaitGroup
			many(ctx, h, &all)
			for range 3 {
				all.Go(func() {
					if _, err := h.RunScript(ctx, "child", nil); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			return value("1")
		},
		"child": func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
			var all sync.WaitGroup
			many(ctx, h, &all)
			all.Wait()
			return value("1")
		},
	}))
	if !res.OK || len(res.Calls) != 40 || calls.most.Load() != 3 {
		t.Errorf("%d calls, %d at once: %+v", len(res.Calls), calls.most.Load(), res.Error)
	}
}

// A tree of scripts, each with a memory of its own, is as wide at each depth as
// one program's scripts are.
func TestATreeOfScriptsIsBoundAtEachDepth(t *testing.T) {
	r := shelved(t, map[string]string{"a.ts": "a", "b.ts": "b", "c.ts": "c"})
	var live, leaves highest
	runs := func(name string) program {
		return func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
			live.enter()
			defer live.leave()
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					if _, err := h.RunScript(ctx, name, nil); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			return value("1")
		}
	}
	res := r.exec(proto.ExecRequest{Code: "main"}, byName(map[string]program{
		"main": runs("a"), "a": runs("b"), "b": runs("c"),
		"c": func(context.Context, engine.Program, engine.Host) *engine.Outcome {
			leaves.enter()
			defer leaves.leave()
			return value("1")
		},
	}))
	if !res.OK || len(res.Scripts) != 5+25+125 || live.most.Load() > 1+2*maxSide || leaves.most.Load() > maxSide {
		t.Errorf("%d scripts, %d and %d at once: %+v", len(res.Scripts), live.most.Load(), leaves.most.Load(), res.Error)
	}
}
