package run

import (
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/proto"
)

// limits are the request's, else the view's, else the defaults.
type limits struct {
	wall, call time.Duration
	output     int64
	calls      int
	engine     engine.Limits
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
