package catalog

import (
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// folded is a name without what writers of names do differently: capitals, and
// the marks between words. createIssue, create_issue and Create-Issue are one.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFC.String(name))
}

// Same reports whether two names differ in capitals and marks between words
// only.
func Same(a, b string) bool {
	x := folded(a)
	return x != "" && x == folded(b)
}

// Nearest returns up to n of the candidates that look most like name, nearest
// first; candidates that have nothing to do with it are left out. Those that
// differ in capitals and marks between words only come before all others.
func Nearest(name string, candidates []string, n int) []string {
	type scored struct {
		name string
		cost int
	}
	want := folded(name)
	var found []scored
	for _, c := range candidates {
		have := folded(c)
		if want == "" && have == "" {
			continue
		}
		cost := distance(want, have)
		limit := max(2, max(len(want), len(have))/3)
		if len(want) >= 3 && (strings.Contains(have, want) || len(have) >= 3 && strings.Contains(want, have)) {
			cost = min(cost, 1)
		}
		if cost <= limit {
			found = append(found, scored{c, cost})
		}
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].cost != found[j].cost {
			return found[i].cost < found[j].cost
		}
		return found[i].name < found[j].name
	})
	out := make([]string, 0, n)
	for _, f := range found {
		if len(out) == n || found[0].cost == 0 && f.cost > 0 {
			break // one that is the same but for its form is what was meant
		}
		out = append(out, f.name)
	}
	return out
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b. Long names are cut: the hint is not worth more.
func distance(a, b string) int {
	const limit = 64
	x, y := []rune(a), []rune(b)
	x, y = x[:min(len(x), limit)], y[:min(len(y), limit)]
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
