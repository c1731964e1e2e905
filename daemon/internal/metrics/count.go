package metrics

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Counter is one series that only grows.
type Counter struct{ n atomic.Uint64 }

// Inc adds one.
func (c *Counter) Inc() { c.n.Add(1) }

// Add adds n.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Value is the count so far.
func (c *Counter) Value() uint64 { return c.n.Load() }

// Counters is a metric with a Counter for each combination of labels. With makes
// one; who counts often keeps it.
type Counters struct{ of table[Counter] }

// Counters declares a metric; its name ends in _total.
func (r *Registry) Counters(name, help string, labels ...string) *Counters {
	c := &Counters{}
	c.of.labels = len(labels)
	r.add(&family{name: name, kind: counterType, help: help, labels: labels, collect: func(emit emitter) {
		c.of.each(func(values []string, one *Counter) { emit("", values, "", float64(one.Value())) })
	}})
	return c
}

// With is the counter of these values, one for each label.
func (c *Counters) With(values ...string) *Counter {
	return c.of.with(values, func() *Counter { return &Counter{} })
}

// Histogram is one series of durations, counted by size.
type Histogram struct {
	bounds []time.Duration
	counts []atomic.Uint64 // one for each bound, and one above them
	sum    atomic.Int64    // nanoseconds
}

// Observe counts one duration.
func (h *Histogram) Observe(d time.Duration) {
	i := 0
	for i < len(h.bounds) && d > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// Histograms is a metric with a Histogram for each combination of labels.
type Histograms struct {
	of     table[Histogram]
	bounds []time.Duration
}

// Histograms declares a metric of durations, given in seconds; its name ends in
// _seconds. The bounds ascend.
func (r *Registry) Histograms(name, help string, bounds []time.Duration, labels ...string) *Histograms {
	if !slices.IsSorted(bounds) {
		panic("the bounds of " + name + " do not ascend")
	}
	h := &Histograms{bounds: bounds}
	h.of.labels = len(labels)
	r.add(&family{name: name, kind: histogramType, help: help, labels: labels, collect: func(emit emitter) {
		h.of.each(func(values []string, one *Histogram) { one.emit(values, emit) })
	}})
	return h
}

// With is the histogram of these values, one for each label.
func (h *Histograms) With(values ...string) *Histogram {
	return h.of.with(values, func() *Histogram {
		return &Histogram{bounds: h.bounds, counts: make([]atomic.Uint64, len(h.bounds)+1)}
	})
}

func (h *Histogram) emit(values []string, emit emitter) {
	total := uint64(0)
	for i := range h.counts {
		total += h.counts[i].Load()
		le := math.Inf(1)
		if i < len(h.bounds) {
			le = h.bounds[i].Seconds()
		}
		emit("_bucket", values, number(le), float64(total))
	}
	emit("_sum", values, "", time.Duration(h.sum.Load()).Seconds())
	emit("_count", values, "", float64(total))
}

// table holds the series of a metric. Readers take no lock.
type table[T any] struct {
	labels int
	series atomic.Pointer[map[string]*row[T]]
	mu     sync.Mutex // of who adds one
}

type row[T any] struct {
	values []string
	one    *T
}

func (t *table[T]) with(values []string, fresh func() *T) *T {
	if len(values) != t.labels {
		panic("a value for each label is needed")
	}
	key := strings.Join(values, "\x00")
	if m := t.series.Load(); m != nil {
		if r, ok := (*m)[key]; ok {
			return r.one
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	next := map[string]*row[T]{}
	if m := t.series.Load(); m != nil {
		for k, r := range *m {
			next[k] = r
		}
	}
	if r, ok := next[key]; ok {
		return r.one
	}
	r := &row[T]{slices.Clone(values), fresh()}
	next[key] = r
	t.series.Store(&next)
	return r.one
}

func (t *table[T]) each(do func(values []string, one *T)) {
	if m := t.series.Load(); m != nil {
		for _, r := range *m {
			do(r.values, r.one)
		}
	}
}
