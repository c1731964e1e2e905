package script

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"tenon/daemon/internal/fault"
)

const (
	helperStack  = 64 << 20 // a recursion that needs more ends the helper
	helperMemory = 1 << 30  // bytes; the largest ordinary source needs a fifth
	helperWatch  = 10 * time.Millisecond
	exitMemory   = 3
)

// HelperMain is the process that compiles for a Compiler: it answers requests
// from stdin on stdout until stdin ends, and returns the exit code. It bounds
// its own stack and memory, and dies when a source needs more.
func HelperMain(stdin io.Reader, stdout io.Writer) int {
	debug.SetMaxStack(helperStack)
	debug.SetMemoryLimit(helperMemory * 3 / 4)
	debug.SetGCPercent(400) // the helper is idle most of the time, and small
	busy := make(chan bool)
	go watchMemory(busy)
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
		busy <- true
		var resp response
		p, err := TransformSource(req.Source, req.Target)
		if err != nil {
			resp.Error = fault.From(err).Wire()
		} else {
			resp.Program = p
		}
		err = writeFrame(stdout, resp)
		busy <- false
		if err != nil {
			return 1
		}
	}
}

// watchMemory ends the process when a request makes it grow beyond helperMemory.
// A limit of the kernel would do the same on Linux only.
func watchMemory(busy <-chan bool) {
	var stats runtime.MemStats
	timer := time.NewTimer(helperWatch)
	timer.Stop()
	for {
		select {
		case working, open := <-busy:
			if !open {
				timer.Stop()
				return
			}
			if working {
				timer.Reset(helperWatch)
			} else {
				timer.Stop()
			}
		case <-timer.C:
			runtime.ReadMemStats(&stats) // runtime/metrics would cost every start 0.7 ms
			if stats.Sys-stats.HeapReleased > helperMemory {
				os.Exit(exitMemory)
			}
			timer.Reset(helperWatch)
		}
	}
}
