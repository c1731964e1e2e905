package run

import (
	"slices"
	"strings"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/typecheck"
	"tenon/proto"
)

// limits are the request's, else the view's, else the defaults.
type limits struct {
	wall, call time.Duration
	output     int64
	calls      int
	engine     engine.Limits
}

// checkLimits refuses numbers that mean nothing. 0 is as good as absent, but for
// timeoutMs, where it means none.
func checkLimits(x proto.ExecRequest) error {
	wall := int64(0)
	if x.TimeoutMS != nil {
		wall = *x.TimeoutMS
	}
	switch {
	case wall < 0:
		return fault.New(fault.UsageError, "timeoutMs must be 0 (none) or more, not %d", wall)
	case x.CallTimeoutMS < 0:
		return fault.New(fault.UsageError, "callTimeoutMs must be 0 (the default) or more, not %d", x.CallTimeoutMS)
	case x.MaxOutputBytes < 0:
		return fault.New(fault.UsageError, "maxOutputBytes must be 0 (the default) or more, not %d", x.MaxOutputBytes)
	case x.Typecheck != "" && !slices.Contains(typecheck.Modes, x.Typecheck):
		return fault.New(fault.UsageError, "typecheck must be one of %s, not %q", strings.Join(typecheck.Modes, ", "), x.Typecheck)
	case x.MaxToolCalls < 0:
		return fault.New(fault.UsageError, "maxToolCalls must be 1 or more, not %d", x.MaxToolCalls)
	case x.MemoryBytes != 0 && (x.MemoryBytes < engine.MinMemory || x.MemoryBytes > engine.MaxMemory):
		return fault.New(fault.UsageError, "memoryBytes must be from %d (4 MiB) to %d (1984 MiB), not %d", engine.MinMemory, engine.MaxMemory, x.MemoryBytes)
	}
	return nil
}

func limitsOf(x proto.ExecRequest, s config.Script) limits {
	l := limits{
		wall: s.Timeout, call: time.Duration(x.CallTimeoutMS) * time.Millisecond,
		output: first(x.MaxOutputBytes, s.MaxOutputBytes, DefaultOutput),
		calls:  first(x.MaxToolCalls, s.MaxToolCalls, DefaultToolCalls),
		engine: engine.Limits{
			CPU: s.CPU, Memory: first(x.MemoryBytes, s.Memory), Concurrency: first(s.Concurrency, DefaultConcurrency),
		},
	}
	if x.TimeoutMS != nil {
		l.wall = time.Duration(*x.TimeoutMS) * time.Millisecond
	}
	return l
}

// first is the first number that is set.
func first[T int | int64](numbers ...T) T {
	for _, n := range numbers {
		if n != 0 {
			return n
		}
	}
	return 0
}
