package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) restartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart SERVER",
		Short: "End a server's instances, and its crash loop",
		Long: "Ends every instance of a server, whoever holds it, and clears its crash loop. New ones start at\n" +
			"the next use; sessions that had state in one are told that it is lost.",
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			server, err := c.RestartServer(cmd.Context(), words[0])
			if err != nil {
				return interrupted(cmd.Context(), err)
			}
			return a.done(fmt.Sprintf("server %s starts anew at its next use", server.Name), map[string]any{"restarted": server.Name})
		},
	}
}
