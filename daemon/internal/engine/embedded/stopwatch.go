package embedded

import "time"

// stopwatch counts the time a realm computes and decides when it must stop:
// first by an exception that cannot be caught, which keeps the position, then,
// after the grace, by a trap, which also ends a C built-in.
type stopwatch struct {
	limit time.Duration
	grace time.Duration
	done  <-chan struct{} // of the run's context

	used    time.Duration
	entered time.Time
	stopAt  time.Time // when the exception was first asked for
	overCPU bool
}

func (s *stopwatch) start() { s.entered = time.Now() }

func (s *stopwatch) stop() { s.used += time.Since(s.entered) }

// What poll answers.
const (
	goOn      = 0
	interrupt = 1
	trap      = 3
)

func (s *stopwatch) poll() int32 {
	now := time.Now()
	if !s.stopAt.IsZero() {
		if now.Sub(s.stopAt) > s.grace {
			return trap
		}
		return interrupt
	}
	select {
	case <-s.done:
		s.stopAt = now
		return interrupt
	default:
	}
	if s.used+now.Sub(s.entered) > s.limit {
		s.stopAt, s.overCPU = now, true
		return interrupt
	}
	return goOn
}
