package serve

import (
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// tuneMemory trades a little memory for far less collecting: calls allocate
// much and keep little. The environment's own settings win.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// trimAfter is how long nothing may have run before memory goes back. What the next
// call needs is mapped again, which takes up to some milliseconds: little beside a
// rest of this length.
const trimAfter = 30 * time.Second

// trimmer gives memory back to the system once after work, when nothing has run
// for trimAfter: the collector would keep it for minutes.
type trimmer struct {
	worked atomic.Bool // since the memory was last given back
	last   atomic.Int64
	free   func() // nil: giveBack
}

// work notes that something runs, or ran.
func (t *trimmer) work(now time.Time) {
	t.worked.Store(true)
	t.last.Store(now.UnixNano())
}

// look gives memory back if it is time, and reports whether it did.
func (t *trimmer) look(now time.Time, busy bool) bool {
	if busy || now.Sub(time.Unix(0, t.last.Load())) < trimAfter || !t.worked.Swap(false) {
		return false
	}
	if t.free != nil {
		t.free()
	} else {
		giveBack()
	}
	return true
}

// giveBack returns to the system what is not needed at rest.
func giveBack() {
	debug.FreeOSMemory()
	unmapProgram()
}
