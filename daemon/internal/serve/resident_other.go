//go:build !linux

package serve

import "runtime"

// residentBytes is what the runtime has taken from the system: the nearest to
// resident memory that is known everywhere.
func residentBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
