package serve

import (
	"time"

	"tenon/daemon/internal/metrics"
)

// numbers are what GET /metrics shows.
type numbers struct {
	*metrics.Registry
}

func newNumbers(started time.Time) *numbers {
	n := &numbers{Registry: metrics.New()}
	n.Process(started)
	return n
}

// look declares what is looked up in the rooms at each scrape.
func (n *numbers) look(d *daemon) {
	n.Gauge("tenon_sessions", "Sessions that are alive, by state.", []string{"state"}, func(give func(float64, ...string)) {
		for _, s := range d.sessions.List() {
			give(1, s.State)
		}
	})
}
