package process

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"syscall"
	"time"
)

const (
	watchEvery = 50 * time.Millisecond
	// runtimeMemory is what a runtime itself may take beside the program's limit:
	// its compiler's code, its young objects, its threads.
	runtimeMemory = 192 << 20
)

// newWatch closes the channel when the process has more memory of its own than
// the limit and what a runtime needs: the heap flag does not count buffers, and
// bun has none.
func newWatch(ctx context.Context, pid int, limit int64) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		t := time.NewTicker(watchEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if ownMemory(pid) > limit+runtimeMemory {
					close(over)
					return
				}
			}
		}
	}()
	return over
}

// ownMemory is a process's anonymous resident memory, in bytes; 0 when it is gone.
func ownMemory(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(data, []byte("\nRssAnon:"))
	if !ok {
		return 0
	}
	fields := bytes.Fields(rest[:min(len(rest), 64)])
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}

func maxRSS(u *syscall.Rusage) int64 { return u.Maxrss << 10 }
