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
		Long: "Lists the questions that wait for a human: calls that must be approved, and forms and\n" +
			"pages that servers ask for in the middle of a call. With --watch it stays and shows each\n" +
			"as it comes, on a terminal to be answered there; while it does, calls that need approval\n" +
			"wait instead of failing, and so do those whose server asks what nobody else can answer.",
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
	return rows(a, pending, "nothing waits for approval", []string{"ASK", "KIND", "CALL", "WITH", "SESSION", "RUN", "UNTIL", "SHOWN", "WHY"},
		func(q proto.Approval) []string {
			return []string{q.ID, first(q.Kind, "call"), callOf(q), short(asksFor(q), 100), q.Session, dash(q.Run), in(q.Deadline), dash(q.Shown), q.Reason}
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
	show, settled := func(q proto.Approval) error { return showQuestion(a, q) }, func(string) {}
	if a.canAsk() && !a.flags.json && !a.flags.quiet {
		questions := make(chan queued, maxAsks)
		go a.putAll(ctx, c, questions)
		pending := map[string]chan struct{}{}
		show = func(q proto.Approval) error {
			over := make(chan struct{})
			pending[q.ID] = over
			select {
			case questions <- queued{q, over}:
			case <-ctx.Done():
			}
			return nil
		}
		settled = func(id string) {
			if over := pending[id]; over != nil {
				close(over)
				delete(pending, id)
			}
		}
	}
	seen := map[string]bool{}
	over := make(chan error, 1)
	open := make(chan struct{})
	type news struct {
		proto.Approval
		Settled string `json:"settled"` // instead: the id of a question that is over
	}
	events := make(chan news, maxAsks)
	go func() {
		over <- c.Events(ctx, "approval", func() { close(open) }, func(e proto.Event) error {
			var q news
			if json.Unmarshal(e.Data, &q) == nil && q.ID+q.Settled != "" {
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
			settled(q.Settled)
			if q.Settled != "" || seen[q.ID] {
				continue
			}
			seen[q.ID] = true
			if err := show(q.Approval); err != nil {
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
	return a.text(q.ID + "  " + callOf(q) + "  " + short(asksFor(q), 200) + "  session " + q.Session)
}

// callOf names the call of a question: by its permission key, or, of a question
// of a server, by server and tool.
func callOf(q proto.Approval) string {
	if q.Kind == "" {
		return q.Key
	}
	return q.Server + "/" + q.Tool
}

func (a *app) approveCommand() *cobra.Command {
	var always bool
	var values []string
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Allow a call that waits, or answer a server's form",
		Long: "Allows a call that waits for approval. Of a form that a server asks for it sends the\n" +
			"values of --field, or asks for them on a terminal; of a page it says that you will\n" +
			"visit it: nothing is opened for you.",
		Example: "  tenon approve ask_1a2b3c4d\n" +
			"  tenon approve ask_1a2b3c4d --field day=2026-01-31 --field seats=2",
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			return approve(cmd.Context(), a, words[0], always, values)
		},
	}
	c.Flags().StringArrayVar(&values, "field", nil, "`name=value` of a form; several values of one field with commas")
	c.Flags().BoolVar(&always, "always", false, "allow this tool in this project from now on")
	return c
}

func (a *app) denyCommand() *cobra.Command {
	var feedback string
	c := &cobra.Command{
		Use:   "deny ID",
		Short: "Refuse a call that waits, or decline what a server asks",
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
