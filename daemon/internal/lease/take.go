package lease

import (
	"context"
	"errors"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool"
)

// Take waits fairly for an instance and returns a use of it; call Use.Done
// when the call is over. The context it returns ends with the use, be it Done
// or taken back.
//
// Errors: PoolExhausted naming the holders when QueueTimeout passes or two
// runs want each other's servers; ServerUnavailable when the server cannot be
// started, or when the run had used another instance before (state lost);
// Cancelled when the session ends; else the cause of ctx's end.
func (m *Manager) Take(ctx context.Context, r Request) (context.Context, *Use, error) {
	m.mu.Lock()
	b := m.bindings[bindingKey{r.Def.ID, r.Key}]
	// The common case first: an instance that is ready, with nothing to wait
	// for and nothing to tell. No goroutine, no timer.
	if b != nil && !m.closed && b.inst != nil && b.inst.Usable() && !b.inst.Doubtful() && b.hasTurn() && m.checkPinLocked(b, b.key, &r) == nil {
		_, known := b.seen[r.Holder.Session]
		use, u := m.useLocked(ctx, b, &r, false)
		m.mu.Unlock()
		if !known || u.Replaced {
			m.syncRoots(b)
		}
		return use, u, nil
	}
	t := &taking{m: m, ctx: ctx, r: &r, key: bindingKey{r.Def.ID, r.Key}}
	use, u, err := t.take()
	m.mu.Unlock()
	t.close()
	if err != nil {
		return nil, nil, err
	}
	m.syncRoots(u.b)
	return use, u, nil
}

// taking is one Take that may have to wait. Its methods are called with
// Manager.mu held, and give it up while they wait.
type taking struct {
	m       *Manager
	ctx     context.Context
	r       *Request
	key     bindingKey
	turn    *binding       // where a turn was given to it already
	checked *pool.Instance // a doubtful instance it has checked
	queued  time.Duration
	limit   *time.Timer // QueueTimeout over all its waits in queues
}

func (t *taking) close() {
	if t.limit != nil {
		t.limit.Stop()
	}
}

func (t *taking) take() (context.Context, *Use, error) {
	for {
		b, again, err := t.step()
		if again && err == nil {
			continue
		}
		if err != nil {
			t.giveBack()
			return nil, nil, err
		}
		turned := t.turn == b
		t.turn = nil
		ctx, u := t.m.useLocked(t.ctx, b, t.r, turned)
		u.Queued = t.queued
		return ctx, u, nil
	}
}

// giveBack returns a turn that was given and will not be used.
func (t *taking) giveBack() {
	if t.turn != nil {
		t.m.giveTurnBackLocked(t.turn)
		t.turn = nil
	}
}

// step does one thing that is missing, after which all is looked at afresh.
func (t *taking) step() (b *binding, again bool, err error) {
	m := t.m
	if m.closed {
		return nil, false, stopping(t.r.Def.Server.Name)
	}
	b = m.bindings[t.key]
	if t.turn != nil && t.turn != b {
		t.giveBack() // its binding ended meanwhile
	}
	if err := m.checkPinLocked(b, t.key, t.r); err != nil {
		return nil, false, err
	}
	if b == nil || !b.alive() {
		return nil, true, t.bind(b)
	}
	if b.inst.Starting() {
		return nil, true, t.ready(b)
	}
	if b.inst.Doubtful() && t.checked != b.inst {
		return nil, true, t.check(b)
	}
	if t.turn != b && !b.hasTurn() {
		return nil, true, t.awaitTurn(b)
	}
	return b, false, nil
}

// bind gets an instance for the key, or waits for a slot.
func (t *taking) bind(b *binding) error {
	queue := template(t.r.Def)
	if len(t.m.queues[queue]) == 0 {
		err := t.m.bindLocked(t.r, t.key)
		if !errors.Is(err, pool.ErrFull) {
			return err
		}
	}
	if b != nil {
		b.inst = nil
	}
	w := t.m.newWaiterLocked(t.r, t.key)
	t.m.queues[queue] = append(t.m.queues[queue], w)
	t.m.pumpLocked(queue)
	t.m.breakDeadlockLocked()
	return t.await(w)
}

// ready waits for a start, which others may share.
func (t *taking) ready(b *binding) error {
	inst := b.inst
	b.starting++
	t.m.mu.Unlock()
	err := inst.Ready(t.ctx)
	t.m.mu.Lock()
	b.starting--
	b.idleFrom = t.m.now()
	if err != nil && t.ctx.Err() == nil && b.inst == inst {
		b.inst = nil
	}
	return err
}

// check pings an instance on which a call has timed out.
func (t *taking) check(b *binding) error {
	inst := b.inst
	b.starting++
	t.m.mu.Unlock()
	usable, err := inst.Check(t.ctx)
	t.m.mu.Lock()
	b.starting--
	if err != nil {
		return err
	}
	t.checked = inst
	if !usable && b.inst == inst {
		b.inst = nil
	}
	return nil
}

// awaitTurn waits under the concurrency cap of b's instance.
func (t *taking) awaitTurn(b *binding) error {
	w := t.m.newWaiterLocked(t.r, t.key)
	w.at = b
	b.waiting = append(b.waiting, w)
	err := t.await(w)
	if w.turn {
		t.turn = b
	}
	return err
}

// await waits until w is settled, ctx ends or the queue's limit passes.
func (t *taking) await(w *waiter) error {
	began := time.Now()
	if t.limit == nil {
		limit := t.r.Def.Server.QueueTimeout
		if limit <= 0 {
			limit = defaultQueueTimeout
		}
		t.limit = time.NewTimer(limit)
	}
	t.m.mu.Unlock()
	var err error
	late := false
	select {
	case <-w.settled:
	case <-t.ctx.Done():
		err = fault.From(context.Cause(t.ctx))
	case <-t.limit.C:
		late = true
	}
	t.m.mu.Lock()
	t.queued += time.Since(began)
	if w.over { // settled, perhaps together with the end of the wait
		if err == nil {
			err = w.err
		}
		return err
	}
	if late {
		err = t.m.exhaustedLocked(w, "")
	}
	t.m.settleLocked(w, err)
	return err
}

// bindLocked gives the key an instance: an idle spare or a new start. It never
// waits; pool.ErrFull when there is no slot.
func (m *Manager) bindLocked(r *Request, key bindingKey) error {
	b := m.bindings[key]
	inst, err := m.pool.TryStart(r.Def, rootsOf(r.Scope, key, b, r.Holder.Dir)...)
	if err != nil {
		return err
	}
	if b == nil {
		b = &binding{id: m.nextIDLocked("l"), key: key, runs: map[string]bool{}, seen: map[string]seen{}}
		m.bindings[key] = b
	}
	now := m.now()
	b.def, b.scope, b.inst, b.slot = r.Def, r.Scope, inst, template(r.Def)
	b.since, b.lastUsed, b.idleFrom, b.last = now, now, now, r.Holder
	m.supersedeLocked(b)
	return nil
}
