package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tenon/proto"
)

func (a *app) leasesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "leases",
		Short: "List who holds which instance, and who waits for one",
		Args:  args(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return leasesRun(cmd.Context(), a) },
	}
}

func leasesRun(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	leases, err := c.Leases(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	return rows(a, leases, "no leases", []string{
		"LEASE", "SERVER", "STATE", "SCOPE", "KEY", "SESSION", "INSTANCE", "USES", "SINCE", "ENDS", "WHY",
	}, func(l proto.Lease) []string {
		return []string{l.ID, l.Server, l.State, l.Scope, l.Key, dash(l.Session), dash(l.Instance),
			fmt.Sprint(l.Uses), ago(l.Since), dash(in(l.Ends)), l.Reason}
	})
}

func (a *app) releaseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "release ID",
		Short: "End a lease and its instance",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			if err := c.Release(cmd.Context(), words[0]); err != nil {
				return interrupted(cmd.Context(), err)
			}
			return a.done("lease "+words[0]+" released", map[string]any{"released": words[0]})
		},
	}
}
