package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func (a *app) searchCommand() *cobra.Command {
	var q proto.Search
	c := &cobra.Command{
		Use:     "search [QUERY]",
		Short:   "Find tools and saved scripts by what they do",
		Long:    "Finds tools and saved scripts by what they do: words in any form and order, by other words\nfor the same, with a slip; a path such as fs.read_file is a lookup; without a query all are\nlisted. Servers that were never started are started for that, with --namespace only that one.",
		Example: "  tenon search take a screenshot\n  tenon search --namespace memory",
		Args:    args(0, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			q.Query = strings.Join(words, " ")
			return searchRun(cmd.Context(), a, q)
		},
	}
	c.Flags().StringVar(&q.Namespace, "namespace", "", "only tools of this `name`; scripts: only saved scripts")
	c.Flags().IntVar(&q.Limit, "limit", 0, "most results; default: 10")
	c.Flags().IntVar(&q.Offset, "offset", 0, "results to leave out, for the next page")
	return c
}

func searchRun(ctx context.Context, a *app, q proto.Search) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	found, err := c.Search(ctx, q)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(found)
	}
	if len(found.Items) == 0 {
		return nothingFound(ctx, a, q, found.Total)
	}
	for _, item := range found.Items {
		if err := a.text(item.Signature); err != nil {
			return err
		}
		if item.Description != "" {
			if err := a.text("    " + short(item.Description, 160)); err != nil {
				return err
			}
		}
	}
	if found.Next != nil {
		a.say("%d more: --offset %d", found.Remaining, found.Next.Offset)
	}
	return nil
}

// nothingFound says why, where it is a name that nobody has.
func nothingFound(ctx context.Context, a *app, q proto.Search, total int) error {
	if q.Namespace != "" {
		servers, err := a.client.Servers(ctx)
		if err != nil {
			return interrupted(ctx, err)
		}
		var names []string
		for _, s := range servers {
			names = append(names, s.Namespace)
		}
		if q.Namespace != catalog.ScriptSpace && !slices.Contains(names, q.Namespace) {
			e := fault.New(fault.NotFound, "no server is called %q in programs", q.Namespace)
			if near := catalog.Nearest(q.Namespace, names, 1); len(near) == 1 {
				return e.WithHint("did you mean %s?", near[0])
			}
			return e.WithHint("tenon ls shows the names")
		}
	}
	if q.Offset > 0 && total > 0 {
		a.say("nothing from --offset %d on: %s in all", q.Offset, count(total, "tool"))
		return nil
	}
	a.say("nothing found; tenon ls shows which servers are there")
	return nil
}
