// Package pool owns the instances of servers: it starts them, keeps spares
// warm, notices when they die and frees a slot only when the process is gone.
// It knows nothing of sessions.
package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

// ErrFull is returned by TryStart when every slot of the template is taken.
var ErrFull = errors.New("every instance slot is taken")

// Dial connects to the server described by d. roots are the directories that a
// server which asks for them is told from its handshake on. ctx bounds the start
// only, not the life of the connection. The pool closes what Dial returns.
type Dial func(ctx context.Context, d *config.Definition, roots []string, o upstream.Observer) (upstream.Conn, error)

// Options configure a Pool. Only Dial is required.
type Options struct {
	Dial        Dial
	MaxStarting int              // starts at once over all servers; 0: DefaultMaxStarting
	Log         *slog.Logger     // nil: discarded
	Now         func() time.Time // nil: time.Now
}

// Limits that the options and the config leave open.
const (
	// DefaultMaxStarting bounds concurrent starts over all servers.
	DefaultMaxStarting = 4
	// DefaultMaxInstances is used where a definition gives none.
	DefaultMaxInstances = 8
	// DefaultStartTimeout is used where a definition gives none.
	DefaultStartTimeout = 60 * time.Second
	// closeWithin bounds the orderly end of one instance. upstream.Conn.Close
	// needs at most 5 s; the rest is for a busy machine.
	closeWithin = 15 * time.Second
)

// Pool is the set of all instances. It is safe for concurrent use.
//
// Lock order: Pool.mu, then subscription.mu or Instance.lists.mu. No lock is
// held while a connection is used, and nothing is called back under a lock.
type Pool struct {
	dial   Dial
	log    *slog.Logger
	now    func() time.Time
	starts *gate
	events events

	notices notices

	mu        sync.Mutex
	templates map[string]*template // guarded by mu
	lastGen   uint64               // guarded by mu
	closed    bool                 // guarded by mu
	running   sync.WaitGroup       // one per Instance.run; Add under mu while !closed
}

// template is the accounting of one server as written. All fields are guarded
// by Pool.mu.
type template struct {
	key      string
	server   string
	max      int
	used     time.Time // last TryStart
	slots    map[*Instance]struct{}
	health   health
	troubled atomic.Bool         // health has crashes: spares the hot path the lock
	warm     map[string]*warmDef // by definition id
}

// New makes an empty pool.
func New(o Options) *Pool {
	if o.MaxStarting <= 0 {
		o.MaxStarting = DefaultMaxStarting
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Pool{
		dial:      o.Dial,
		log:       o.Log,
		now:       o.Now,
		starts:    newGate(o.MaxStarting),
		templates: map[string]*template{},
	}
}

// TryStart hands out an instance for d without waiting: a warm spare, or a new
// one that is starting (wait with Instance.Ready). ErrFull when every slot of
// the template is taken; a *fault.Error (ServerUnavailable) in a crash loop or
// while the pool closes. Roots are the first ones of a new instance; a spare was
// started without any, so that its holder has to tell it (upstream.Conn.SetRoots)
// in either case. After a crash the new instance's start is held back
// for a moment that grows with each crash in a row.
func (p *Pool) TryStart(d *config.Definition, roots ...string) (*Instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fault.New(fault.ServerUnavailable, "server %q cannot be started: the daemon is stopping", d.Server.Name).At(d.Server.Name, "")
	}
	t := p.templateLocked(d)
	t.noteWarm(d, p.now())
	if i := t.takeSpare(d.ID); i != nil {
		p.replenishLocked(t)
		return i, nil
	}
	if t.health.loop {
		return nil, t.health.loopError(t.server)
	}
	if len(t.slots) >= t.max {
		return nil, ErrFull
	}
	i := p.startLocked(t, d, roots, false)
	p.replenishLocked(t)
	return i, nil
}

// templateLocked finds or makes d's template and brings its limit up to date.
func (p *Pool) templateLocked(d *config.Definition) *template {
	key := templateKey(d)
	t := p.templates[key]
	if t == nil {
		t = &template{key: key, slots: map[*Instance]struct{}{}, warm: map[string]*warmDef{}}
		p.templates[key] = t
	}
	t.server = d.Server.Name
	t.max = d.Server.MaxInstances
	if t.max <= 0 {
		t.max = DefaultMaxInstances
	}
	t.used = p.now()
	return t
}

func templateKey(d *config.Definition) string {
	if d.Template != "" {
		return d.Template
	}
	return d.ID
}

// startLocked takes a slot and begins a start in it.
func (p *Pool) startLocked(t *template, d *config.Definition, roots []string, spare bool) *Instance {
	p.lastGen++
	i := newInstance(p, t, d, p.lastGen, spare)
	i.roots = roots
	t.slots[i] = struct{}{}
	if t.health.crashes > 0 {
		t.health.restarts++
	}
	i.notBefore = t.health.next
	p.running.Add(1) // Done at the end of Instance.run
	go i.run()
	p.emit(Started, i, "")
	return i
}

// End ends an instance and returns at once; its slot is free when Done closes.
// Ending twice is harmless; the first reason stays.
func (p *Pool) End(i *Instance, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked(i, reason)
}

func (p *Pool) endLocked(i *Instance, reason string) {
	if i.endReason != "" || i.phase.Load() == phaseGone {
		return
	}
	if reason == "" {
		reason = "ended"
	}
	i.endReason = reason
	i.phase.Store(phaseEnding)
	why := fault.New(fault.ServerUnavailable, "server %q was ended: %s", i.def.Server.Name, reason).At(i.def.Server.Name, "")
	i.ended.Store(why)
	i.stop(why)
}

// free gives the slot back; called once, by the instance's own goroutine, when
// the process tree is gone.
func (p *Pool) free(i *Instance, reason string) {
	p.mu.Lock()
	i.phase.Store(phaseGone)
	delete(i.tmpl.slots, i)
	close(i.gone)
	p.emit(Freed, i, reason)
	p.mu.Unlock()
}

// Restart ends every instance of the servers with that name and clears their
// crash-loop state. It returns how many instances it ended; new ones start at
// the next use.
func (p *Pool) Restart(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, t := range p.templates {
		if t.server != name {
			continue
		}
		t.health.clear()
		for i := range t.slots {
			if i.endReason == "" {
				n++
			}
			p.endLocked(i, "restarted by a user")
		}
	}
	return n
}

// Instances lists the instances that hold a slot, oldest first.
func (p *Pool) Instances() []*Instance {
	p.mu.Lock()
	var out []*Instance
	for _, t := range p.templates {
		for i := range t.slots {
			out = append(out, i)
		}
	}
	p.mu.Unlock()
	sort.Slice(out, func(a, b int) bool { return out[a].gen < out[b].gen })
	return out
}

// Counts says how many slots of a template are taken, and how many of those
// are on their way out.
func (p *Pool) Counts(template string) (taken, ending int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.templates[template]
	if t == nil {
		return 0, 0
	}
	for i := range t.slots {
		if i.phase.Load() >= phaseEnding {
			ending++
		}
	}
	return len(t.slots), ending
}

// Room says whether a template has a slot that nobody has taken.
func (p *Pool) Room(template string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.templates[template]
	return t == nil || len(t.slots) < t.max
}

// Close ends every instance, all at once, and waits until they are gone or ctx
// ends. Nothing can be started afterwards, and all subscriptions are closed.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	for _, t := range p.templates {
		for i := range t.slots {
			p.endLocked(i, "the daemon is stopping")
		}
	}
	p.mu.Unlock()

	gone := make(chan struct{})
	go func() {
		p.running.Wait()
		close(gone)
	}()
	var err error
	select {
	case <-gone:
	case <-ctx.Done():
		err = fmt.Errorf("%d server instances are not gone yet: %w", len(p.Instances()), ctx.Err())
	}
	p.events.close()
	p.notices.close()
	return err
}
