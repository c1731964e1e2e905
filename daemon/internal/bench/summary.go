package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// goals are the rows of the report in order. A goal with a base is a ratio.
var goals = []struct {
	name, probe, base, unit string
	target                  float64
}{
	{"one call inside a warm script, go-sdk server", "one sdk", "direct one sdk", "ms", 0.8},
	{"one call inside a warm script, server that costs nothing", "one fake", "", "ms", 0.12},
	{"  the same, as a ratio", "one fake", "direct one fake", "ms", 0.8},
	{"50 calls in sequence, go-sdk server", "sequence sdk", "direct sequence sdk", "ms", 0.8},
	{"50 calls in sequence, server that costs nothing", "sequence fake", "direct sequence fake", "ms", 0.8},
	{"50 calls in parallel, go-sdk server", "parallel sdk", "direct parallel sdk", "ms", 0.75},
	{"50 calls in parallel, server that costs nothing", "parallel fake", "direct parallel fake", "ms", 0.75},
	{"trivial run in a warm daemon, through the socket", "trivial", "", "ms", 1.5},
	{"tenon exec of a one-call script from the shell", "shell exec", "floor", "ms", 2},
	{"tenon call from the shell", "shell call", "floor", "ms", 1.7},
	{"cold: no daemon, to the first answer of tenon exec", "cold", "", "ms", 150},
	{"daemon memory, right after one run", "memory idle", "", "MiB", 25},
	{"daemon memory, at rest after one run", "memory rest", "", "MiB", 25},
	{"  its compile helper beside it", "memory helper", "", "MiB", 25},
	{"daemon memory, 50 calls in flight", "memory busy", "", "MiB", 50},
}

func summarise(got samples, rounds int) *Report {
	r := newReport(rounds)
	for _, g := range goals {
		values := got[g.probe]
		row := Row{Name: g.name, Value: median(values), Unit: g.unit, Target: g.target, Loudness: spread(values)}
		compared := row.Value
		if g.base != "" {
			row.Base, row.BaseIs = g.base, median(got[g.base])
			row.Ratio = row.Value / row.BaseIs
			compared = row.Ratio
		}
		row.Reached = compared <= g.target
		r.Rows = append(r.Rows, row)
	}
	return r
}

// quantile of a copy of values, by the nearest rank; 0 for none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

func median(values []float64) float64 { return quantile(values, 0.5) }

func spread(values []float64) float64 {
	m := median(values)
	if m == 0 {
		return 0
	}
	return (quantile(values, 0.75) - quantile(values, 0.25)) / m
}

// print writes the table.
func (r *Report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d processors, %s; medians of %d interleaved rounds\n\n", r.OS, r.CPUs, r.Go, r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "path\tmeasured\tcompared with\tratio\ttarget\treached\tspread")
	for _, row := range r.Rows {
		base, ratio, target := "", "", fmt.Sprintf("≤ %g %s", row.Target, row.Unit)
		if row.Base != "" {
			base = fmt.Sprintf("%s %s", number(row.BaseIs), row.Base)
			ratio, target = fmt.Sprintf("%.2f", row.Ratio), fmt.Sprintf("≤ %g ×", row.Target)
		}
		reached := "no"
		if row.Reached {
			reached = "yes"
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%s\t%s\t±%.0f %%\n", row.Name, number(row.Value), row.Unit, base, ratio, target, reached, row.Loudness*50)
	}
	return t.Flush()
}

// number keeps three digits that mean something.
func number(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.3f", v)
	case v < 100:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
