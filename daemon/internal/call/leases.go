package call

import (
	"context"

	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/upstream"
)

// FromLeases lets a path take its instances from m.
func FromLeases(m *lease.Manager) Leases { return managed{m} }

type managed struct{ m *lease.Manager }

func (l managed) Take(ctx context.Context, r lease.Request) (context.Context, Use, error) {
	held, use, err := l.m.Take(ctx, r)
	if err != nil {
		return ctx, nil, err
	}
	return held, used{use}, nil
}

func (l managed) Bound(definition, key string) string {
	if i := l.m.Bound(definition, key); i != nil {
		return i.ID()
	}
	return ""
}

func (l managed) EndSession(session, reason string) { l.m.EndSession(session, reason) }

// used is a lease.Use as the path sees it.
type used struct{ use *lease.Use }

func (u used) Instance() string    { return u.use.Instance().ID() }
func (u used) Conn() upstream.Conn { return u.use.Instance().Conn() }
func (u used) Lost() bool          { return u.use.Replaced }
func (u used) Done()               { u.use.Done() }

func (u used) Tools(ctx context.Context) ([]upstream.Tool, uint64, error) {
	return u.use.Instance().FreshTools(ctx)
}

func (u used) Relist(ctx context.Context) ([]upstream.Tool, uint64, error) {
	return u.use.Instance().Relist(ctx)
}
