package serve

import (
	"testing"
	"time"
)

func TestMemoryGoesBackOnceAfterWorkHasEnded(t *testing.T) {
	freed := 0
	trim := &trimmer{free: func() { freed++ }}
	now := time.Now()
	if trim.look(now, false) {
		t.Error("nothing has worked")
	}
	trim.work(now)
	if trim.look(now.Add(trimAfter/2), false) || trim.look(now.Add(2*trimAfter), true) {
		t.Error("too early, or while something runs")
	}
	if !trim.look(now.Add(2*trimAfter), false) || trim.look(now.Add(3*trimAfter), false) || freed != 1 {
		t.Errorf("given back %d times", freed)
	}
}
