package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tenon/proto"
)

func (a *app) catalogCommand() *cobra.Command {
	var q proto.CatalogQuery
	c := &cobra.Command{
		Use:   "catalog",
		Short: "Print what there is to call, as a model is told",
		Long: "Prints every namespace with its number of tools, and as many signatures as fit the\n" +
			"budget: pinned tools first, then the namespaces that need least. With --since only what\n" +
			"changed, where that is shorter. Servers that were never started are started for that.",
		Example: "  tenon catalog --budget 500\n  tenon catalog --since 7c1e2b9f0a41d3c8",
		Args:    args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return catalogRun(cmd.Context(), a, q) },
	}
	c.Flags().IntVar(&q.Budget, "budget", 0, "most `tokens` that it may cost; default: 2000")
	c.Flags().StringVar(&q.Since, "since", "", "`fingerprint` of a catalogue printed before")
	return c
}

func catalogRun(ctx context.Context, a *app, q proto.CatalogQuery) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	catalogue, err := c.Catalog(ctx, q)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(catalogue)
	}
	if err := a.text(catalogue.Text); err != nil {
		return err
	}
	a.say("about %d tokens, %d of %d tools; fingerprint %s", catalogue.Tokens, catalogue.Shown, catalogue.Total, catalogue.Fingerprint)
	return nil
}
