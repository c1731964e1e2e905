package module

import (
	"context"
	"encoding/json"

	eng "tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/embedded"
	"tenon/daemon/internal/fault"
)

// realms calls functions on the embedded engine: each call in a fresh realm, in
// which the module's top level runs first. No call sees another's state, and one
// that does not end takes nothing with it.
type realms struct {
	s      *Source
	engine *embedded.Engine
}

func newRealms(s *Source) (engine, error) {
	e, err := embedded.New(embedded.Options{HelperCommand: []string{s.o.Executable, s.o.Compile}, Log: s.log})
	if err != nil {
		return nil, err
	}
	return &realms{s, e}, nil
}

func (r *realms) close() { _ = r.engine.Close() } // ends a helper; nothing is lost

func (r *realms) start(_ context.Context, b *bundle) (runner, error) {
	return &realm{r, b, host{r.s, b.where}}, nil
}

type realm struct {
	realms *realms
	bundle *bundle
	host   host
}

func (r *realm) close() {}

func (r *realm) names(ctx context.Context) ([]string, error) {
	value, err := r.call(ctx, job{List: true})
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal(value, &names); err != nil {
		return nil, fault.New(fault.InternalError, "names of functions: %w", err)
	}
	return names, nil
}

func (r *realm) call(ctx context.Context, j job) (json.RawMessage, error) {
	input, err := json.Marshal(j)
	if err != nil {
		return nil, fault.New(fault.UsageError, "arguments: %w", err)
	}
	out := r.realms.engine.Run(ctx, eng.Program{Source: r.bundle.code, Name: "module", Input: input}, r.host)
	if out.Err != nil {
		return nil, r.host.fault(out.Err)
	}
	return out.Value, nil
}
