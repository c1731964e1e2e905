package soak

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// level is what the daemon needs at one moment.
type level struct {
	at                            time.Time
	pid                           int
	goroutines, files, rss, queue float64
	instances                     float64 // of servers
}

// growth compares the end of a series under the same load with its beginning:
// the median of the last third with that of the second. The first third is
// warm-up: caches fill, servers start, the collector finds its pace.
type growth struct{ before, after float64 }

func grown(series []float64) growth {
	third := len(series) / 3
	if third == 0 {
		return growth{}
	}
	return growth{median(series[third : 2*third]), median(series[2*third:])}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// beyond tells whether it grew by more than a share of it and a fixed amount
// besides. Load is not even: a median still swings by some of it.
func (g growth) beyond(share, besides float64) bool { return g.after > g.before*(1+share)+besides }

// judgeLevels looks at the life of the last daemon under load, and at rest.
func (v *watch) judgeLevels() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.levels) == 0 {
		v.w.wrong("the daemon's levels were never seen")
		return
	}
	pid := v.levels[len(v.levels)-1].pid
	var life []level
	for _, l := range v.levels {
		if l.pid == pid && (v.ended.IsZero() || l.at.Before(v.ended)) {
			life = append(life, l)
		}
	}
	for _, m := range []struct {
		name           string
		of             func(level) float64
		share, besides float64
		unit           float64
		rest           float64 // at most, with nothing to do
	}{
		{"goroutines", func(l level) float64 { return l.goroutines }, 0.25, 60, 1, 60 + 10*v.atRest.instances},
		{"open files", func(l level) float64 { return l.files }, 0.25, 30, 1, 60 + 6*v.atRest.instances},
		{"MiB resident", func(l level) float64 { return l.rss }, 0.20, 16 << 20, 1 << 20, 0},
		{"writes of history waiting", func(l level) float64 { return l.queue }, 0.25, 200, 1, 200},
	} {
		series := make([]float64, len(life))
		for n, l := range life {
			series[n] = m.of(l)
		}
		g, rest := grown(series), m.of(v.atRest)/m.unit
		v.w.t.Logf("%-26s median %.0f, then %.0f, in the last two thirds of one daemon's life (%d looks); at rest %.0f",
			m.name+":", g.before/m.unit, g.after/m.unit, len(series), rest)
		if len(series) >= 60 && g.beyond(m.share, m.besides) {
			v.w.wrong("%s grew from %.0f to %.0f under the same load", m.name, g.before/m.unit, g.after/m.unit)
		}
		if m.rest > 0 && rest > m.rest {
			v.w.wrong("%s at rest: %.0f, at most %.0f", m.name, rest, m.rest)
		}
	}
}

func TestALeakIsSeenAndAPlateauIsNot(t *testing.T) {
	var leak, plateau []float64
	for n := range 300 {
		leak = append(leak, 100+float64(n))
		plateau = append(plateau, min(400, 100+10*float64(n))+float64(n%7))
	}
	if !grown(leak).beyond(0.25, 30) {
		t.Error(fmt.Sprint("a leak was not seen: ", grown(leak)))
	}
	if grown(plateau).beyond(0.25, 30) {
		t.Error(fmt.Sprint("a plateau was taken for a leak: ", grown(plateau)))
	}
}
