package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

type trustOptions struct {
	app    *app
	dir    string
	config bool
	yes    bool
}

func (a *app) trustCommand() *cobra.Command {
	o := &trustOptions{app: a}
	c := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Let a project's files start servers, or accept looser permissions",
		Long: "Shows what the files of a project would start, and trusts that: on a terminal after\n" +
			"a yes, else at once. A change of a command takes the trust away. With --config it\n" +
			"accepts looser permissions of your own configuration while sessions are attached.",
		Args: args(0, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if o.config && len(words) > 0 {
				return fault.New(fault.UsageError, "tenon trust takes a directory or --config, not both")
			}
			o.dir = a.Cwd
			if len(words) == 1 {
				o.dir = a.abs(words[0])
			}
			if st, err := os.Stat(o.dir); err != nil || !st.IsDir() {
				return fault.New(fault.UsageError, "there is no directory %s", o.dir)
			}
			if o.config {
				return trustConfig(cmd.Context(), o)
			}
			return trustRun(cmd.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.config, "config", false, "accept looser permissions of the user's own file")
	c.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return c
}

// trustRun shows first and trusts exactly what was shown: a file that changes
// in between is refused by the daemon.
func trustRun(ctx context.Context, o *trustOptions) error {
	a := o.app
	c, err := a.connect()
	if err != nil {
		return err
	}
	t, err := c.Trust(ctx, proto.TrustRequest{Directory: o.dir, Look: true})
	if err != nil {
		return interrupted(ctx, err)
	}
	show := a.say
	switch {
	case len(t.Servers) == 0:
		show("%s has no project files that would start anything", t.Path)
	case t.Trusted:
		show("%s is trusted already; it may start:", t.Path)
	default:
		show = a.note // -q or not: nothing is trusted unseen
		show("%s would start:", t.Path)
	}
	for _, s := range t.Servers {
		what := s.Status + " " + s.Name
		if s.Status == "script" { // the section script has no name besides
			what = "section " + s.Name
		}
		show("  %s: %s", what, shown(s))
	}
	if !t.Trusted {
		if a.canAsk() && !o.yes {
			yes, err := a.confirm(ctx, "trust this?")
			if err != nil {
				return err
			}
			if !yes {
				return fault.New(fault.Cancelled, "%s is not trusted", t.Path)
			}
		}
		if t, err = c.Trust(ctx, proto.TrustRequest{Directory: o.dir, Digest: t.Digest}); err != nil {
			return interrupted(ctx, err)
		}
		a.say("%s is trusted", t.Path)
	}
	if a.flags.json {
		return a.document(t)
	}
	return nil
}

func trustConfig(ctx context.Context, o *trustOptions) error {
	a := o.app
	c, err := a.connect()
	if err != nil {
		return err
	}
	t, err := c.Trust(ctx, proto.TrustRequest{Config: true})
	switch {
	case err != nil:
		return interrupted(ctx, err)
	case a.flags.json:
		return a.document(t)
	case t.Changed:
		a.say("the permissions of %s are in effect", first(t.Path, "your configuration"))
	default:
		a.say("nothing was held back")
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
