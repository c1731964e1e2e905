package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tenon/proto"
)

func (a *app) sessionsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List live sessions",
		Args:  args(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return sessionsRun(cmd.Context(), a) },
	}
	end := &cobra.Command{
		Use:   "end ID",
		Short: "End a session and what it holds",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			client, err := a.connect()
			if err != nil {
				return err
			}
			if err := client.EndSession(cmd.Context(), words[0]); err != nil {
				return interrupted(cmd.Context(), err)
			}
			return a.done("session "+words[0]+" ended", map[string]any{"ended": words[0]})
		},
	}
	c.AddCommand(end)
	return c
}

func sessionsRun(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	sessions, err := c.Sessions(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	return rows(a, sessions, "no sessions", []string{
		"SESSION", "STATE", "HOST", "PARENT", "RUNS", "LEASES", "SINCE", "ENDS", "DIRECTORY", "NOTE",
	}, func(s proto.Session) []string {
		return []string{s.ID, s.State, s.Host, dash(s.Parent), fmt.Sprint(s.Runs), fmt.Sprint(s.Leases),
			ago(s.Since), dash(in(s.EndsAt)), dash(s.Directory), first(s.Note, s.Title)}
	})
}

// done reports that something small has been carried out.
func (a *app) done(text string, document map[string]any) error {
	if a.flags.json {
		return a.document(document)
	}
	a.say("%s", text)
	return nil
}
