package run

import (
	"context"
	"slices"
	"sort"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// List shows the live runs, oldest first.
func (m *Manager) List() []proto.Run {
	m.mu.Lock()
	runs := make([]*Run, 0, len(m.live))
	for _, r := range m.live {
		runs = append(runs, r)
	}
	m.mu.Unlock()
	sort.Slice(runs, func(i, j int) bool { return runs[i].ID < runs[j].ID }) // ids grow with time
	out := make([]proto.Run, len(runs))
	for i, r := range runs {
		out[i] = r.Info()
	}
	return out
}

// Get finds a live run.
func (m *Manager) Get(id string) (*Run, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.live[id]
	return r, ok
}

// Called reports whether the run has called a server, or a tool of that name;
// empty names are any.
func (r *Run) Called(server, tool string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.calls, func(c proto.CallSummary) bool {
		return (server == "" || c.Server == server) && (tool == "" || c.Tool == tool)
	})
}

// Cancel ends a live run with that reason (nil: cancelled); NotFound when it is
// not running, which a caller that only wants it gone may ignore.
func (m *Manager) Cancel(id string, why *fault.Error) error {
	r, ok := m.Get(id)
	if !ok {
		return fault.New(fault.NotFound, "run %s is not running", id).WithHint("tenon runs list shows live and finished runs")
	}
	if why == nil {
		why = fault.New(fault.Cancelled, "cancelled")
	}
	r.cancel(why)
	return nil
}

// SessionEnded cancels every run of a session, leaf or root.
func (m *Manager) SessionEnded(id, why string) {
	m.mu.Lock()
	var ending []*Run
	for _, r := range m.live {
		if r.spec.Session.ID == id || r.spec.Session.Root() == id {
			ending = append(ending, r)
		}
	}
	m.mu.Unlock()
	for _, r := range ending {
		r.cancel(fault.New(fault.Cancelled, "the session ended: %s", why))
	}
}

// stopping reports whether Close was called.
func (m *Manager) stopping() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// Close cancels every run with that reason, refuses new ones, and waits for the
// ends until ctx ends.
func (m *Manager) Close(ctx context.Context, why *fault.Error) error {
	m.mu.Lock()
	m.closed = true
	for _, r := range m.live {
		r.cancel(why)
	}
	m.mu.Unlock()
	ended := make(chan struct{})
	go func() { // it ends with the last run, which the cancel above has ended
		m.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
