package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/proto"
)

func (a *app) runsCommand() *cobra.Command {
	var f client.RunFilter
	since := &sinceValue{at: &f.Since}
	list := func(cmd *cobra.Command, _ []string) error { return runsList(cmd.Context(), a, f) }
	c := &cobra.Command{Use: "runs", Short: "List runs, live and past; show, read, repeat or cancel one",
		Long: "Lists runs, live and past, newest first. Where an ID is asked for, a beginning of it\n" +
			"does when it fits one run only (run_ and at least 8 characters), and last is the newest;\n" +
			"cancel looks among the live runs.",
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) > 0 {
				return unknownCommand(cmd, words[0])
			}
			return list(cmd, words)
		}}
	filter := func(c *cobra.Command) {
		c.Flags().BoolVar(&f.Live, "live", false, "only runs that go on")
		c.Flags().StringVar(&f.Status, "status", "", "only such that are running, ok, failed, cancelled or lost")
		c.Flags().Var(since, "since", "only runs begun since: a `time` ago such as 2h or 7d, a date, or a moment such as 2026-01-31T12:00:00Z")
		c.Flags().StringVar(&f.Server, "server", "", "only runs that called the server of this `name`")
		c.Flags().StringVar(&f.Tool, "tool", "", "only runs that called a tool of this `name`")
		c.Flags().IntVar(&f.Limit, "limit", 0, "most rows; default: 50, and 1000 at most")
	}
	filter(c)
	ls := &cobra.Command{Use: "list", Short: "List runs, newest first", Args: args(0, 0), RunE: list}
	filter(ls)
	show := &cobra.Command{Use: "show ID", Short: "Show a run with its program, calls and result", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error { return runsShow(cmd.Context(), a, words[0]) }}
	var artifact string
	output := &cobra.Command{Use: "output ID", Short: "Print a run's whole output, or one artifact's bytes", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			return runsOutput(cmd.Context(), a, words[0], artifact)
		}}
	output.Flags().StringVar(&artifact, "artifact", "", "`id` of an artifact of the run")
	cancel := &cobra.Command{Use: "cancel ID", Short: "End a run", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			id, err := runNamed(cmd.Context(), a, c, words[0], true)
			if err != nil {
				return err
			}
			if err := c.CancelRun(cmd.Context(), id); err != nil {
				return interrupted(cmd.Context(), err)
			}
			return a.done("run "+id+" cancelled", map[string]any{"cancelled": id})
		}}
	c.AddCommand(ls, show, output, cancel, a.runsRerunCommand(), a.runsStatsCommand())
	return c
}

func runsList(ctx context.Context, a *app, f client.RunFilter) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	f.Session = a.flags.session
	runs, err := c.Runs(ctx, f)
	if err != nil {
		return interrupted(ctx, err)
	}
	return rows(a, runs, "no runs", []string{"RUN", "STATUS", "STARTED", "TOOK", "CALLS", "SESSION", "FROM", "CODE"},
		func(r proto.Run) []string {
			status := r.Status
			switch {
			case r.Waiting != "":
				status += " (" + r.Waiting + ")"
			case r.Kind != "":
				status += " (" + r.Kind + ")"
			}
			return []string{r.ID, status, ago(r.Started), took(r), fmt.Sprint(r.Calls), r.Session, r.Surface, short(r.Code, 40)}
		})
}

// took is how long a run has lasted.
func took(r proto.Run) string {
	start, err := time.Parse(time.RFC3339, r.Started)
	if err != nil {
		return "-"
	}
	end, err := time.Parse(time.RFC3339, r.Ended)
	if err != nil {
		return rough(time.Since(start)) + "…"
	}
	return end.Sub(start).Round(time.Millisecond).String()
}

// executed is a run's engine, with what was out of the ordinary about it.
func executed(r proto.Run) string {
	out := dash(r.Engine)
	o := r.Options
	if o == nil {
		return out
	}
	if o.Where == "local" {
		out += ", beside its command"
	}
	if o.Sandbox != "" && o.Sandbox != "confined" {
		out += ", " + o.Sandbox
	}
	if o.Typecheck != "" && o.Typecheck != "off" {
		out += ", typecheck " + o.Typecheck
	}
	return out
}

func runsShow(ctx context.Context, a *app, id string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	if id, err = runNamed(ctx, a, c, id, false); err != nil {
		return err
	}
	r, err := c.Run(ctx, id)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(r)
	}
	head := fmt.Sprintf("run       %s\nstatus    %s\nsession   %s\nfrom      %s\nengine    %s\ndirectory %s\nstarted   %s\n",
		r.ID, first(r.Kind, r.Status), r.Session, r.Surface, executed(r), dash(r.Cwd), r.Started)
	if r.Ended != "" {
		head += fmt.Sprintf("took      %s\n", took(r))
	}
	if err := a.text(head + "\n" + r.Code); err != nil {
		return err
	}
	if r.Result == nil {
		return nil
	}
	if len(r.Result.Calls) > 0 {
		table := [][]string{{"CALL", "STATUS", "MS"}}
		for _, call := range r.Result.Calls {
			table = append(table, []string{call.Server + "." + call.Tool, call.Status, fmt.Sprintf("%.1f", call.MS)})
		}
		if err := a.text(""); err != nil {
			return err
		}
		if err := a.table(table); err != nil {
			return err
		}
	}
	if e := r.Result.Error; e != nil {
		return a.text(fmt.Sprintf("\nfailed: %s (%s)", inset(e.Message), e.Kind))
	}
	if v := r.Result.Value; len(v) > 0 && string(v) != "null" {
		if err := a.text(""); err != nil {
			return err
		}
		return a.value(v)
	}
	return nil
}

func runsOutput(ctx context.Context, a *app, id, artifact string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	if id, err = runNamed(ctx, a, c, id, false); err != nil {
		return err
	}
	body, mimeType, err := c.Output(ctx, id, artifact)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer body.Close()
	if a.flags.json {
		return outputDocument(a, id, artifact, mimeType, body)
	}
	return a.copyOut(body)
}
