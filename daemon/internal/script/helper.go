package script

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"tenon/daemon/internal/fault"
)

const (
	helperStack  = 64 << 20 // a recursion that needs more ends the helper
	helperMemory = 1 << 30  // bytes; the largest ordinary source needs a fifth
	helperWatch  = 10 * time.Millisecond
	exitMemory   = 3
	exitTime     = 4
)

// HelperMain is the process that compiles for a Compiler: it answers requests
// from stdin on stdout until stdin ends, and returns the exit code. It bounds
// its own stack, memory and processor time, and dies when a source needs more.
func HelperMain(stdin io.Reader, stdout io.Writer) int {
	debug.SetMaxStack(helperStack)
	debug.SetMemoryLimit(helperMemory * 3 / 4)
	debug.SetGCPercent(400) // the helper is idle most of the time, and small
	busy := make(chan time.Duration)
	go watch(busy)
	defer close(busy)
	in := bufio.NewReader(stdin)
	for {
		var req request
		if err := readFrame(in, &req); err != nil {
			if err == io.EOF {
				return 0
			}
			return 1
		}
		if req.Limit <= 0 { // the first, which asks for a sign of life
			req.Limit = startTime
		}
		busy <- req.Limit
		var resp response
		p, err := TransformSource(req.Source, req.Target)
		if err != nil {
			resp.Error = fault.From(err).Wire()
		} else {
			resp.Program = p
		}
		err = writeFrame(stdout, resp)
		busy <- 0
		if err != nil {
			return 1
		}
	}
}

// watch ends the process when a request makes it grow beyond helperMemory, or
// takes more processor time than busy was told; 0 tells that it is done. Limits
// of the kernel would do the same on Linux only. The time is the processor's,
// since a machine that is busy with other things makes no program costly.
func watch(busy <-chan time.Duration) {
	var stats runtime.MemStats
	var until time.Duration
	timer := time.NewTimer(helperWatch)
	timer.Stop()
	for {
		select {
		case limit, open := <-busy:
			timer.Stop()
			if !open {
				return
			}
			if limit > 0 {
				until = processorTime() + limit
				timer.Reset(helperWatch)
			}
		case <-timer.C:
			runtime.ReadMemStats(&stats) // runtime/metrics would cost every start 0.7 ms
			if stats.Sys-stats.HeapReleased > helperMemory {
				os.Exit(exitMemory)
			}
			if processorTime() > until {
				os.Exit(exitTime)
			}
			timer.Reset(helperWatch)
		}
	}
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
