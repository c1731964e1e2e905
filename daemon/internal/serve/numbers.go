package serve

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/metrics"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/run"
)

// maxServerNames is how many servers the numbers tell apart. Projects bring
// servers of their own, and a daemon lives for months.
const maxServerNames = 100

// Bounds of the histograms.
var (
	callBounds = []time.Duration{
		time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 5 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
	}
	waitBounds = []time.Duration{
		time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second,
	}
)

// numbers are what GET /metrics shows. What rooms report is counted here; what
// they hold is looked up when somebody asks (look).
type numbers struct {
	*metrics.Registry
	names *metrics.Names // of servers

	calls      *metrics.Counters // server, status, kind
	callTimes  *metrics.Histograms
	waitTimes  *metrics.Histograms
	runs       *metrics.Counters // engine, surface, status, kind
	runTimes   *metrics.Histograms
	runParts   *metrics.Histograms
	approvals  *metrics.Counters
	instances  *metrics.Counters
	catalogues *metrics.Counter

	// byServer holds what an ordinary call counts, so that it looks nothing up
	// but this: a map that is never changed, only replaced.
	byServer atomic.Pointer[map[string]*serverNumbers]
	adding   sync.Mutex
}

// serverNumbers are the series of one server.
type serverNumbers struct {
	name       string // as a label
	ok         *metrics.Counter
	took, wait *metrics.Histogram
}

func newNumbers(started time.Time) *numbers {
	r := metrics.New()
	r.Process(started)
	n := &numbers{
		Registry:  r,
		names:     metrics.NewNames(maxServerNames),
		calls:     r.Counters("tenon_calls_total", "Calls that ended, by server, status and kind of failure.", "server", "status", "kind"),
		callTimes: r.Histograms("tenon_call_duration_seconds", "How long calls took, with all waiting.", callBounds, "server"),
		waitTimes: r.Histograms("tenon_lease_wait_seconds", "How long calls waited for an instance, its start included.", waitBounds, "server"),
		runs:      r.Counters("tenon_runs_total", "Runs and lone calls that ended, by engine, surface, status and kind of failure.", "engine", "surface", "status", "kind"),
		runTimes:  r.Histograms("tenon_run_duration_seconds", "How long runs took.", callBounds, "engine"),
		runParts:  r.Histograms("tenon_run_part_seconds", "How long runs computed, and waited for tools, humans and queues; parts may overlap.", callBounds, "part"),
		approvals: r.Counters("tenon_approvals_total", "Questions of approval that were settled, by what came of them.", "outcome"),
		instances: r.Counters("tenon_instance_events_total", "What happened to instances of servers.", "server", "event"),
	}
	n.catalogues = r.Counters("tenon_catalog_changes_total", "Lists of tools that were learnt or replaced.").With()
	return n
}

// server gives the series of a server; no name is one that was never found.
func (n *numbers) server(name string) *serverNumbers {
	if m := n.byServer.Load(); m != nil {
		if s := (*m)[name]; s != nil {
			return s
		}
	}
	n.adding.Lock()
	defer n.adding.Unlock()
	label := n.names.Of(name)
	if label == metrics.Other {
		name = label
	}
	next := map[string]*serverNumbers{}
	if m := n.byServer.Load(); m != nil {
		if s := (*m)[name]; s != nil {
			return s
		}
		maps.Copy(next, *m)
	}
	s := &serverNumbers{
		name: label, ok: n.calls.With(label, call.StatusOK, ""), took: n.callTimes.With(label), wait: n.waitTimes.With(label),
	}
	next[name] = s
	n.byServer.Store(&next)
	return s
}

// callEnded counts a call. It stands in the way of every one, so an ordinary
// call takes no lock here and allocates nothing.
func (n *numbers) callEnded(e call.Ended) {
	s := n.server(e.Server)
	if e.Kind == "" {
		s.ok.Inc()
	} else {
		n.calls.With(s.name, e.Status, string(e.Kind)).Inc()
	}
	s.took.Observe(e.Times.Total)
	s.wait.Observe(e.Times.Queue)
}

// engineNames are the engines that a run may have; "call" is a call by itself.
// What a caller made up is not among them.
var engineNames = map[string]bool{"embedded": true, "deno": true, "bun": true, "node": true, "call": true}

// runEnded counts a run.
func (n *numbers) runEnded(r run.Ended) {
	engine := r.Engine
	if !engineNames[engine] {
		engine = metrics.Other
	}
	n.runs.With(engine, r.Surface, r.Status, r.Kind).Inc()
	n.runTimes.With(engine).Observe(millis(r.Timing.Total))
	n.runParts.With("compute").Observe(millis(r.Timing.Compute))
	n.runParts.With("tools").Observe(millis(r.Timing.Tools))
	n.runParts.With("human").Observe(millis(r.Timing.Human))
	n.runParts.With("queue").Observe(millis(r.Timing.Queue))
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// settled counts a question of approval.
func (n *numbers) settled(outcome string) { n.approvals.With(outcome).Inc() }

// instance counts what happened to an instance.
func (n *numbers) instance(e pool.Event) {
	n.instances.With(n.names.Of(e.Server), string(e.Kind)).Inc()
}
