package embedded

import (
	"container/heap"
	"time"
)

// timers are a run's timers, in the order in which they are due; equal ones in
// the order in which they were set.
type timers struct {
	heap  timerHeap
	byID  map[int64]*timer
	alarm *time.Timer
	set   int64 // counts
}

type timer struct {
	id       int64
	due      time.Time
	order    int64
	every    time.Duration // of an interval, else 0
	floating bool          // keeps nothing alive
	index    int
}

func (t *timers) len() int { return len(t.heap) }

// floating reports whether a timer that keeps a run alive is due before end.
func (t *timers) floating(end time.Time) bool {
	for _, x := range t.heap {
		if !x.floating && x.due.Before(end) {
			return true
		}
	}
	return false
}

func (t *timers) add(id int64, in time.Duration, repeat, floating bool, now time.Time) {
	if t.byID == nil {
		t.byID = map[int64]*timer{}
	}
	t.set++
	x := &timer{id: id, due: now.Add(in), order: t.set, floating: floating}
	if repeat {
		x.every = max(in, time.Millisecond)
	}
	t.byID[id] = x
	heap.Push(&t.heap, x)
}

func (t *timers) remove(id int64) {
	if x := t.byID[id]; x != nil {
		heap.Remove(&t.heap, x.index)
		delete(t.byID, id)
	}
}

// pop returns a timer that is due; an interval is set again.
func (t *timers) pop(now time.Time) (id int64, ok bool) {
	if len(t.heap) == 0 || t.heap[0].due.After(now) {
		return 0, false
	}
	x := t.heap[0]
	if x.every > 0 {
		t.set++
		x.due, x.order = now.Add(x.every), t.set
		heap.Fix(&t.heap, 0)
		return x.id, true
	}
	heap.Pop(&t.heap)
	delete(t.byID, x.id)
	return x.id, true
}

// next returns a channel that is ready when the first timer is due; nil without
// timers.
func (t *timers) next(now time.Time) <-chan time.Time {
	if len(t.heap) == 0 {
		return nil
	}
	in := max(0, t.heap[0].due.Sub(now))
	if t.alarm == nil {
		t.alarm = time.NewTimer(in)
	} else {
		t.alarm.Reset(in)
	}
	return t.alarm.C
}

func (t *timers) stop() {
	if t.alarm != nil {
		t.alarm.Stop()
	}
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	return h[i].order < h[j].order
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return x
}
