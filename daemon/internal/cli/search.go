package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tenon/proto"
)

func (a *app) searchCommand() *cobra.Command {
	var q proto.Search
	c := &cobra.Command{
		Use:     "search QUERY",
		Short:   "Find tools by what they do",
		Example: "  tenon search 'take a screenshot'",
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, words []string) error {
			q.Query = strings.Join(words, " ")
			return searchRun(cmd.Context(), a, q)
		},
	}
	c.Flags().StringVar(&q.Namespace, "namespace", "", "only tools of this `name`")
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
		a.say("nothing found; tenon ls shows which servers are there")
		return nil
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
