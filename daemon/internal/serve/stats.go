package serve

import (
	"context"
	"time"

	"tenon/daemon/internal/api"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

func historyFilter(q api.RunQuery) history.Filter {
	return history.Filter{Session: q.Session, Status: q.Status, Since: q.Since, Server: q.Server, Tool: q.Tool, Limit: q.Limit}
}

// wanted is historyFilter for a run that goes on.
func (r runs) wanted(x proto.Run, q api.RunQuery) bool {
	if q.Status != "" && q.Status != x.Status {
		return false
	}
	if began, err := time.Parse(time.RFC3339Nano, x.Started); err != nil || began.Before(q.Since) {
		return false
	}
	if q.Server == "" && q.Tool == "" {
		return true
	}
	live, ok := r.d.runs.Get(x.ID)
	return ok && live.Called(q.Server, q.Tool)
}

// Stats counts what came of all calls for a user, and of its own for a session.
func (r runs) Stats(ctx context.Context, c *peer.Caller, by string, since time.Time) (*proto.RunStats, error) {
	q := history.StatsQuery{By: by, Since: since}
	if denied := c.May(peer.ReadRun); denied != nil {
		if c.Session == nil {
			return nil, fault.From(denied)
		}
		q.Session = c.Session.ID
	}
	return r.d.history.Stats(ctx, q)
}
