package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tenon/proto"
)

func (a *app) lsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls [SERVER]",
		Short: "List the servers of this directory, or one server's tools",
		Args:  args(0, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) == 1 {
				return lsServer(cmd.Context(), a, words[0])
			}
			return lsRun(cmd.Context(), a)
		},
	}
}

func lsRun(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	servers, err := c.Servers(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	err = rows(a, servers, "no servers: write some into "+a.userConfig()+", or see tenon init --help", []string{
		"SERVER", "STATUS", "SCOPE", "INSTANCES", "TOOLS", "NAMESPACE", "FROM",
	}, func(s proto.Server) []string {
		return []string{s.Name, s.Status, s.Scope, fmt.Sprintf("%d/%d", len(s.Instances), s.MaxInstances), tools(s), s.Namespace, s.Origin}
	})
	if err != nil || a.flags.json {
		return err
	}
	for _, s := range servers {
		if s.Detail != "" {
			a.say("%s: %s", s.Name, inset(s.Detail))
		}
		for _, w := range s.Warnings {
			a.say("%s: warning: %s", s.Name, inset(w))
		}
	}
	return lsProblems(ctx, a)
}

// lsProblems says which edits of the configuration do not count.
func lsProblems(ctx context.Context, a *app) error {
	status, err := a.client.Status(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	for _, p := range status.Problems {
		if !isNote(p) {
			a.say("problem: %s", inset(p.Detail))
		}
	}
	return nil
}

// tools is the number of tools, or that it is not known before the first start.
func tools(s proto.Server) string {
	if s.ToolCount == 0 && len(s.Instances) == 0 {
		return "?"
	}
	return fmt.Sprint(s.ToolCount)
}

func lsServer(ctx context.Context, a *app, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	s, err := c.Server(ctx, name)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(s)
	}
	what := s.URL
	if what == "" {
		what = strings.Join(s.Command, " ")
	}
	a.say("%s: %s, scope %s, from %s", s.Name, s.Status, s.Scope, s.Origin)
	a.say("%s", short(what, 200))
	if s.Detail != "" {
		a.say("  %s", inset(s.Detail))
	}
	for _, w := range s.Warnings {
		a.say("warning: %s", inset(w))
	}
	for _, i := range s.Instances {
		a.say("instance %s: %s, pid %d, since %s, %s, %d in flight", i.ID, i.State, i.PID, i.Since, count(i.Calls, "call"), i.InFlight)
		if i.Noise != "" {
			a.say("instance %s printed what is not MCP: %s", i.ID, short(i.Noise, 120))
		}
	}
	switch {
	case len(s.Tools) > 0:
	case s.Status == "idle":
		a.say("its tools are not known before its first start; this starts it and lists them: tenon search --namespace %s", s.Namespace)
		return nil
	default:
		return nil
	}
	table := [][]string{{"TOOL", "IN A PROGRAM", "DESCRIPTION"}}
	for _, t := range s.Tools {
		table = append(table, []string{t.Name, t.Path, short(first(t.Description, t.Title), 80)})
	}
	return a.table(table)
}
