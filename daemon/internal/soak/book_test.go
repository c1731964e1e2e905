package soak

import (
	"slices"
	"sync"
	"time"

	"tenon/proto"
)

// book keeps what was tried, what was answered and how long it took.
type book struct {
	mu    sync.Mutex
	texts map[string]bool   // every echo that was tried, and whether it was answered
	runs  map[string]answer // every run whose result somebody was given
	tally map[string]int
	took  map[string][]time.Duration
}

// answer is what history must have of a run.
type answer struct {
	status string
	calls  int
}

func newBook() *book {
	return &book{texts: map[string]bool{}, runs: map[string]answer{}, tally: map[string]int{}, took: map[string][]time.Duration{}}
}

func (b *book) count(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tally[what]++
}

func (b *book) timed(what string, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tally[what]++
	b.took[what] = append(b.took[what], d)
}

func (b *book) tried(token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.texts[token] = false
}

func (b *book) answered(tokens ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, token := range tokens {
		b.texts[token] = true
	}
}

// given notes that somebody was given the result of a run.
func (b *book) given(r proto.RunResult) {
	a := answer{"ok", len(r.Calls)}
	if !r.OK && r.Error != nil {
		a.status = "failed"
		if r.Error.Kind == "Cancelled" {
			a.status = "cancelled"
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[r.ID] = a
}

// total counts the deeds so far.
func (b *book) total() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.took {
		n += len(d)
	}
	return n
}

// percentile is of a list that is sorted meanwhile.
func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[min(len(list)-1, int(p*float64(len(list))))]
}
