package cli

import (
	"bufio"
	"context"
	"strings"

	"tenon/daemon/internal/client"
	"tenon/proto"
)

// prompt puts questions to the person at the terminal, one after the other,
// until asks is closed or ctx ends.
func (a *app) prompt(ctx context.Context, c *client.Client, asks <-chan proto.Ask) {
	in := bufio.NewReader(a.In)
	for q := range asks {
		a.note("%s wants to call %s %s", first(q.Run, "this command"), q.Key, short(string(q.Arguments), 200))
		a.note("allow? [y]es, [a]lways here, [n]o (or: no, and why)")
		line, err := in.ReadString('\n')
		if err != nil || ctx.Err() != nil {
			return // nobody types: the daemon's own limit ends the question
		}
		if err := c.Answer(ctx, q.ID, reply(line)); err != nil && ctx.Err() == nil {
			a.note("%s: %v", q.ID, err)
		}
	}
}

// reply reads what somebody typed; anything but a clear yes is a no, and what
// follows the no is told to the program.
func reply(line string) proto.ApprovalReply {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(strings.TrimRight(word, ",.")) {
	case "y", "yes":
		return proto.ApprovalReply{Decision: "approve"}
	case "a", "always":
		return proto.ApprovalReply{Decision: "always"}
	case "n", "no", "":
		return proto.ApprovalReply{Decision: "deny", Feedback: strings.TrimSpace(rest)}
	default:
		return proto.ApprovalReply{Decision: "deny", Feedback: strings.TrimSpace(line)}
	}
}
