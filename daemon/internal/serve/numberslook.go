package serve

import (
	"runtime"
	"strconv"
	"time"

	"tenon/daemon/internal/local"
	"tenon/proto"
)

// give takes one number with the values of its labels.
type give = func(value float64, labels ...string)

// look declares the numbers that are looked up in the rooms at each scrape.
func (n *numbers) look(d *daemon) {
	n.Gauge("tenon_build_info", "The build that runs; always 1.", []string{"version", "commit", "protocol", "go"}, func(give give) {
		b := local.Build()
		give(1, b.Version, b.Commit, strconv.Itoa(proto.Protocol), runtime.Version())
	})
	n.Gauge("tenon_uptime_seconds", "How long this daemon has lived.", nil, func(give give) { give(time.Since(d.started).Seconds()) })
	n.Gauge("tenon_draining", "1 while the daemon takes no new work.", nil, func(give give) { give(truth(d.gate.Closed())) })
	n.Gauge("tenon_sessions", "Sessions that are alive, by state.", []string{"state"}, func(give give) {
		for _, s := range d.sessions.List() {
			give(1, s.State)
		}
	})
	n.Gauge("tenon_bridges", "Plugins of hosts that are connected.", nil, func(give give) { give(float64(len(d.bridge.Bridges()))) })
	n.Gauge("tenon_mcp_connections", "MCP clients that are connected.", nil, func(give give) { give(float64(d.mcp.Connections())) })
	n.Gauge("tenon_runs", "Runs and lone calls that go on, by what they wait for; empty: they compute.", []string{"waiting"}, func(give give) {
		for _, r := range d.runs.List() {
			give(1, r.Waiting)
		}
	})
	n.Gauge("tenon_approvals_pending", "Questions that wait for a human.", nil, func(give give) { give(float64(len(d.consent.List()))) })
	n.lookAtServers(d)
	n.lookAtHistory(d)
}

func (n *numbers) lookAtServers(d *daemon) {
	n.Gauge("tenon_leases", "Bindings of instances, by server and state.", []string{"server", "state"}, func(give give) {
		for _, l := range d.leases.List() {
			if l.State != "waiting" {
				give(1, n.names.Of(l.Server), l.State)
			}
		}
	})
	n.Gauge("tenon_lease_queue", "Calls that wait for an instance, or for a turn on one.", []string{"server"}, func(give give) {
		for _, l := range d.leases.List() {
			if l.State == "waiting" {
				give(1, n.names.Of(l.Server))
			}
		}
	})
	n.Gauge("tenon_instances", "Instances of servers, by state.", []string{"server", "state"}, func(give give) {
		for _, i := range d.pool.Instances() {
			give(1, n.names.Of(i.Definition().Server.Name), i.State())
		}
	})
	n.Total("tenon_server_restarts_total", "Starts of servers after a crash.", []string{"server"}, func(give give) {
		for _, t := range d.pool.Troubles() {
			give(float64(t.Restarts), n.names.Of(t.Server))
		}
	})
	n.Gauge("tenon_server_crash_loops", "Configurations of a server that crashed too often to be started again.", []string{"server"}, func(give give) {
		for _, t := range d.pool.Troubles() {
			give(float64(t.Loops), n.names.Of(t.Server))
		}
	})
}

func (n *numbers) lookAtHistory(d *daemon) {
	n.Gauge("tenon_history_bytes", "Bytes of history on disk, by part.", []string{"part"}, func(give give) {
		s := d.history.Sizes()
		give(float64(s.Database), "database")
		give(float64(s.Artifacts), "artifacts")
		give(float64(s.Journal), "journal")
	})
	n.Gauge("tenon_history_queue", "Records that are still to be written.", nil, func(give give) { give(float64(d.history.Waiting())) })
	n.Total("tenon_history_dropped_total", "Records that could not be kept.", nil, func(give give) { give(float64(d.history.Dropped())) })
	n.Total("tenon_history_recovered_total", "What former daemons left when they died: calls of unknown outcome, runs without an end.", []string{"what"}, func(give give) {
		calls, runs := d.history.Recovered()
		give(float64(calls), "calls")
		give(float64(runs), "runs")
	})
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
