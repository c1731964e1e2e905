package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/proto"
)

func (a *app) approvalsCommand() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "approvals",
		Short: "List the questions that wait for you",
		Long: "Lists the questions that wait for a human. With --watch it stays and shows each as\n" +
			"it comes, on a terminal to be answered there; while it does, calls that need\n" +
			"approval wait instead of failing.",
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return approvalsWatch(cmd.Context(), a)
			}
			return approvalsRun(cmd.Context(), a)
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "stay, and show each question as it comes")
	return c
}

func approvalsRun(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	pending, err := c.Approvals(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	return rows(a, pending, "nothing waits for approval", []string{"ASK", "CALL", "ARGUMENTS", "SESSION", "RUN", "UNTIL", "SHOWN", "WHY"},
		func(q proto.Approval) []string {
			return []string{q.ID, q.Key, short(string(q.Arguments), 60), q.Session, dash(q.Run), in(q.Deadline), dash(q.Shown), q.Reason}
		})
}

// approvalsWatch shows questions until the user ends it. What was pending
// before comes first; the stream is opened before that list is read, so none
// is missed.
func approvalsWatch(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	show := func(q proto.Approval) error { return showQuestion(a, q) }
	if a.canAsk() && !a.flags.json && !a.flags.quiet {
		questions := make(chan proto.Approval, maxAsks)
		go a.putAll(ctx, c, questions)
		show = func(q proto.Approval) error {
			select {
			case questions <- q:
			case <-ctx.Done():
			}
			return nil
		}
	}
	seen := map[string]bool{}
	over := make(chan error, 1)
	open := make(chan struct{})
	events := make(chan proto.Approval, maxAsks)
	go func() {
		over <- c.Events(ctx, "approval", func() { close(open) }, func(e proto.Event) error {
			var q proto.Approval
			if json.Unmarshal(e.Data, &q) == nil && q.ID != "" {
				select {
				case events <- q:
				case <-ctx.Done():
				}
			}
			return nil
		})
	}()
	select {
	case <-open:
	case err := <-over:
		return interrupted(ctx, err)
	}
	pending, err := c.Approvals(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	for _, q := range pending {
		seen[q.ID] = true
		if err := show(q); err != nil {
			return err
		}
	}
	a.say("waiting for questions; answer here, or with tenon approve ID or tenon deny ID; Ctrl-C ends this")
	for {
		select {
		case q := <-events:
			if seen[q.ID] {
				continue
			}
			seen[q.ID] = true
			if err := show(q); err != nil {
				return err
			}
		case err := <-over:
			if ctx.Err() != nil {
				return nil // the user ended the watch
			}
			return err
		}
	}
}

func showQuestion(a *app, q proto.Approval) error {
	if a.flags.json { // a stream: one document a line
		raw, err := marshal(q)
		if err != nil {
			return err
		}
		return a.write(append(raw, '\n'))
	}
	return a.text(q.ID + "  " + q.Key + "  " + short(string(q.Arguments), 120) + "  session " + q.Session)
}

func (a *app) approveCommand() *cobra.Command {
	var always bool
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Allow a call that waits",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			decision := "approve"
			if always {
				decision = "always"
			}
			return answer(cmd.Context(), a, words[0], proto.ApprovalReply{Decision: decision})
		},
	}
	c.Flags().BoolVar(&always, "always", false, "allow this tool in this project from now on")
	return c
}

func (a *app) denyCommand() *cobra.Command {
	var feedback string
	c := &cobra.Command{
		Use:   "deny ID",
		Short: "Refuse a call that waits",
		Args:  args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			return answer(cmd.Context(), a, words[0], proto.ApprovalReply{Decision: "deny", Feedback: feedback})
		},
	}
	c.Flags().StringVar(&feedback, "feedback", "", "`text` for the program or agent that asked")
	return c
}

func answer(ctx context.Context, a *app, id string, r proto.ApprovalReply) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	return settle(ctx, a, c, id, r)
}

func settle(ctx context.Context, a *app, c *client.Client, id string, r proto.ApprovalReply) error {
	if err := c.Answer(ctx, id, r); err != nil {
		return interrupted(ctx, err)
	}
	said := map[string]string{"approve": "approved", "always": "approved, and from now on without asking", "deny": "denied"}
	return a.done(id+": "+said[r.Decision], map[string]any{"id": id, "decision": r.Decision})
}
