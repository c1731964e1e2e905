package embedded

import (
	"time"

	"tenon/daemon/internal/engine"
)

const (
	defaultMemory = 64 << 20
	defaultSize   = (defaultMemory + fixedMemory + pageSize - 1) &^ (pageSize - 1)
	// settleTime is how long cancelled calls are given to return before the
	// outcome is.
	settleTime = 250 * time.Millisecond
)

// withDefaults fills the zero limits; negative ones become the largest value
// there is.
func withDefaults(l engine.Limits) engine.Limits {
	limit(&l.CPU, 60*time.Second, 1<<62)
	limit(&l.Memory, defaultMemory, engine.MaxMemory)
	limit(&l.Depth, 100, 1<<30)
	limit(&l.Concurrency, 16, 1<<30)
	limit(&l.Capture, 16<<20, 1<<62)
	limit(&l.Logs, 10_000, 1<<30)
	limit(&l.Timers, 10_000, 1<<30)
	limit(&l.Float, 5*time.Second, 1<<62)
	limit(&l.Grace, 20*time.Millisecond, 1<<62)
	l.Memory = min(max(l.Memory, engine.MinMemory), engine.MaxMemory)
	return l
}

func limit[T int | int64 | time.Duration](field *T, standard, none T) {
	switch {
	case *field == 0:
		*field = standard
	case *field < 0:
		*field = none
	}
}
