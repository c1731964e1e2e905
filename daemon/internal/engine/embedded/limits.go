package embedded

import (
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
)

const defaultSize = (guest.DefaultMemory + fixedMemory + pageSize - 1) &^ (pageSize - 1)

// withDefaults fills the zero limits; negative ones become the largest value
// there is.
func withDefaults(l engine.Limits) engine.Limits {
	guest.Limit(&l.Grace, 20*time.Millisecond, 1<<62)
	return guest.WithDefaults(l)
}
