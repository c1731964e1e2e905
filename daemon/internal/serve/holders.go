package serve

import (
	"context"
	"slices"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/consent"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// sessions serves the routes about sessions.
type sessions struct{ d *daemon }

func (s sessions) List(context.Context, *peer.Caller) ([]proto.Session, error) {
	rows := s.d.sessions.List()
	held := map[string]int{}
	for _, l := range s.d.leases.List() {
		if l.State != "waiting" {
			held[l.Session]++
		}
	}
	live := map[string]int{}
	for _, r := range s.d.runs.List() {
		live[r.Session]++
	}
	for i := range rows {
		rows[i].Leases, rows[i].Runs = held[rows[i].ID], live[rows[i].ID]
	}
	return rows, nil
}

func (s sessions) Create(_ context.Context, c *peer.Caller, r proto.SessionCreate) (*proto.SessionTicket, error) {
	if c.Class != peer.User {
		return nil, fault.New(fault.PermissionDenied, "only the user may name a session").
			WithHint("a %s acts in the session that its ticket names", c.Class)
	}
	dir := r.Directory
	if dir == "" {
		dir = c.Dir
	}
	made, err := s.d.sessions.Named(r.ID, dir, c.Env)
	if err != nil {
		return nil, err
	}
	s.d.hub.Publish("session", made.Info())
	return &proto.SessionTicket{Session: made.Info(), Ticket: s.d.sessions.Issue(session.SessionTicket, made.ID, 0)}, nil
}

func (s sessions) End(_ context.Context, c *peer.Caller, id string) error {
	return s.d.sessions.End(id, "ended by the "+string(c.Class))
}

// leases serves the routes about bindings.
type leases struct{ d *daemon }

func (l leases) List(context.Context, *peer.Caller) ([]proto.Lease, error) {
	rows := l.d.leases.List()
	for i, row := range rows {
		// Whoever waits for the instance sees that it waits for somebody.
		if row.State == "in-use" && l.d.waitsForAnswer(row) {
			rows[i].Reason = "waits for an answer"
		}
	}
	return rows, nil
}

// waitsForAnswer reports whether a call of the lease's server waits for the
// answer to a question of that server, in the session or tree of the lease.
func (d *daemon) waitsForAnswer(row proto.Lease) bool {
	return slices.ContainsFunc(d.consent.Inquiries(), func(q consent.Inquired) bool {
		return q.Server == row.Server && (row.Scope != string(config.Session) || q.Session == row.Session || q.Root == row.Session)
	})
}

func (l leases) Release(_ context.Context, c *peer.Caller, id string) error {
	owner, _, ok := l.d.leases.Owner(id)
	if !ok {
		return fault.New(fault.NotFound, "no lease %q", id).WithHint("tenon leases lists them")
	}
	if err := c.MayTouch(peer.Release, owner); err != nil {
		return err
	}
	if err := l.d.leases.Release(id, "released by the "+string(c.Class)); err != nil {
		return err
	}
	l.d.hub.Publish("lease", map[string]string{"id": id, "state": "released"})
	return nil
}

// approvals serves the routes about questions.
type approvals struct{ d *daemon }

// List shows what others are asked without what they would call with.
func (a approvals) List(_ context.Context, c *peer.Caller) ([]proto.Approval, error) {
	rows := a.d.consent.List()
	for i := range rows {
		if c.MayTouch(peer.ReadRun, rows[i].Session) != nil {
			rows[i].Arguments, rows[i].Params = nil, nil
		}
	}
	return rows, nil
}

func (a approvals) Answer(_ context.Context, c *peer.Caller, id string, r proto.ApprovalReply) error {
	return a.d.consent.Answer(id, r, string(c.Class))
}

func (a approvals) Reply(_ context.Context, c *peer.Caller, id string, answer proto.Answer) error {
	return a.d.consent.Reply(id, answer, string(c.Class))
}

func (a approvals) Watch(*peer.Caller) func() { return a.d.consent.Watch() }
