package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func (a *app) trustCommand() *cobra.Command {
	var config bool
	c := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Let a project's files start servers, or accept looser permissions",
		Long: "Trusts what the files of a project would start, as they are now: a change of a\n" +
			"command takes the trust away. With --config it accepts looser permissions of your\n" +
			"own configuration while sessions are attached.",
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if config && len(words) > 0 {
				return fault.New(fault.UsageError, "tenon trust takes a directory or --config, not both")
			}
			r := proto.TrustRequest{Config: config}
			if !config {
				r.Directory = a.Cwd
				if len(words) == 1 {
					r.Directory = a.abs(words[0])
				}
			}
			return trustRun(cmd.Context(), a, r)
		},
	}
	c.Flags().BoolVar(&config, "config", false, "accept looser permissions of the user's own file")
	return c
}

func trustRun(ctx context.Context, a *app, r proto.TrustRequest) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	t, err := c.Trust(ctx, r)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(t)
	}
	switch {
	case r.Config && t.Changed:
		a.say("the permissions of %s are in effect", first(t.Path, "your configuration"))
	case r.Config:
		a.say("nothing was held back")
	case t.Changed:
		a.say("%s is trusted; it may start:", t.Path)
	case len(t.Files) == 0:
		a.say("%s has no project files that would start anything", t.Path)
	default:
		a.say("%s was trusted already", t.Path)
	}
	for _, s := range t.Servers {
		a.say("  %s: %s", s.Name, shown(s))
	}
	return nil
}

// shown is what a server is: its command line or address.
func shown(s proto.Server) string {
	if s.URL != "" {
		return s.URL
	}
	text := ""
	for i, w := range s.Command {
		if i > 0 {
			text += " "
		}
		text += w
	}
	return text
}
