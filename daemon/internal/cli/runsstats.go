package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

var statsBy = []string{"tool", "server", "script", "kind"}

func (a *app) runsStatsCommand() *cobra.Command {
	var by string
	var since time.Time
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count what came of calls: successes, kinds of failures, times, usual repairs",
		Long: "Counts what history keeps: for each tool how many calls, how many of them without a\n" +
			"failure, the kinds of failures, how long half and 95 % of them took at most, and what\n" +
			"usually mended arguments that were refused: the next call of the same tool in the same\n" +
			"session that worked. By script, runs are counted and not calls.",
		Example: "  tenon runs stats --since 7d\n  tenon runs stats --by kind",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runsStats(cmd.Context(), a, by, since)
		},
	}
	c.Flags().StringVar(&by, "by", "tool", "tool, server, script or kind")
	c.Flags().Var(&sinceValue{at: &since}, "since", "only calls begun since: a `time` ago such as 2h or 7d, a date, or a moment")
	return c
}

func runsStats(ctx context.Context, a *app, by string, since time.Time) error {
	if !slices.Contains(statsBy, by) {
		return fault.New(fault.UsageError, "--by must be one of %s, not %q", strings.Join(statsBy, ", "), by)
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	stats, err := c.RunStats(ctx, by, since)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(stats)
	}
	if len(stats.Rows) == 0 {
		a.say("nothing is counted yet")
		return nil
	}
	table := [][]string{{strings.ToUpper(by), "CALLS", "OK", "P50", "P95", "FAILED"}}
	if by == "script" {
		table[0][1] = "RUNS"
	}
	if by == "kind" {
		table[0][2], table[0][5] = "", "WHERE"
	}
	for _, r := range stats.Rows {
		ok := fmt.Sprintf("%.0f %%", 100*r.Rate)
		if by == "kind" {
			ok = ""
		}
		table = append(table, []string{
			first(r.Name, "(no saved script)"), fmt.Sprint(r.Count), ok, millis(r.P50MS), millis(r.P95MS), counted(r.Kinds, r.Where),
		})
	}
	if err := a.table(table); err != nil {
		return err
	}
	return repairsText(a, stats.Rows)
}

// repairsText tells what usually mended refused arguments.
func repairsText(a *app, rows []proto.StatsRow) error {
	told := false
	for _, r := range rows {
		for _, repair := range r.Repairs {
			if !told {
				if err := a.text("\nWhat mended arguments that were refused:"); err != nil {
					return err
				}
				told = true
			}
			if err := a.text(fmt.Sprintf("  %s: %s (%d×)", r.Name, repair.Change, repair.Count)); err != nil {
				return err
			}
		}
	}
	return nil
}

// counted lists numbers by name, the largest first.
func counted(of ...map[string]int) string {
	var parts []string
	for _, m := range of {
		names := slices.SortedFunc(maps.Keys(m), func(x, y string) int {
			if m[x] != m[y] {
				return m[y] - m[x]
			}
			return strings.Compare(x, y)
		})
		for _, name := range names {
			parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
		}
	}
	return strings.Join(parts, ", ")
}

func millis(ms float64) string {
	return time.Duration(ms * float64(time.Millisecond)).Round(100 * time.Microsecond).String()
}
