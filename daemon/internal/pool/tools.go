package pool

import (
	"context"
	"reflect"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

// relistDelay gathers announcements of changed tools that come in quick
// succession.
const relistDelay = 100 * time.Millisecond

// lists is an instance's newest list of tools and what is known to be newer.
type lists struct {
	nudge chan struct{} // a change was announced; capacity 1
	now   chan struct{} // somebody waits for the re-list; capacity 1

	mu       sync.Mutex
	tools    []upstream.Tool // guarded by mu; never changed in place
	revision uint64          // guarded by mu
	err      error           // guarded by mu: why the newest read failed
	wanted   uint64          // guarded by mu: reads asked for
	covered  uint64          // guarded by mu: reads done
	read     chan struct{}   // guarded by mu; closed and replaced after each read
}

func (l *lists) init() {
	l.nudge = make(chan struct{}, 1)
	l.now = make(chan struct{}, 1)
	l.read = make(chan struct{})
}

// announce notes that the list is out of date; it never blocks.
func (l *lists) announce() {
	l.mu.Lock()
	l.wanted++
	l.mu.Unlock()
	signal(l.nudge)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // one is pending already
	}
}

// Tools is the newest list of tools, and a number that changes with the list.
// err says why the newest attempt to read it failed, the list then being the
// one before. The list must not be changed.
func (i *Instance) Tools() (tools []upstream.Tool, revision uint64, err error) {
	i.lists.mu.Lock()
	defer i.lists.mu.Unlock()
	return i.lists.tools, i.lists.revision, i.lists.err
}

// FreshTools is Tools after every announced change has been read.
func (i *Instance) FreshTools(ctx context.Context) (tools []upstream.Tool, revision uint64, err error) {
	return i.fresh(ctx, 0)
}

// Relist is Tools after the list has been read again, announced or not: for a
// tool that a server has just added and not told of yet.
func (i *Instance) Relist(ctx context.Context) (tools []upstream.Tool, revision uint64, err error) {
	return i.fresh(ctx, 1)
}

func (i *Instance) fresh(ctx context.Context, more uint64) ([]upstream.Tool, uint64, error) {
	l := &i.lists
	l.mu.Lock()
	l.wanted += more
	want := l.wanted
	for l.covered < want {
		read := l.read
		l.mu.Unlock()
		signal(l.now)
		select {
		case <-read:
		case <-i.life.Done():
			return i.Tools()
		case <-ctx.Done():
			tools, revision, _ := i.Tools()
			return tools, revision, fault.From(context.Cause(ctx))
		}
		l.mu.Lock()
	}
	defer l.mu.Unlock()
	return l.tools, l.revision, l.err
}

// stale reports whether a read was asked for and not done yet.
func (l *lists) stale() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.covered < l.wanted
}

// relist reads the list once. A list that cannot be read, or that names a tool
// twice, is refused whole: the one before stays.
func (i *Instance) relist(ctx context.Context) error {
	l := &i.lists
	l.mu.Lock()
	want := l.wanted
	l.mu.Unlock()

	tools, err := i.conn.Load().Tools(ctx)
	if err == nil {
		err = i.refuse(tools)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.covered = want
	close(l.read)
	l.read = make(chan struct{})
	l.err = err
	if err != nil {
		return err
	}
	if l.revision == 0 || !reflect.DeepEqual(l.tools, tools) {
		l.tools = tools
		l.revision++
	}
	return nil
}

// refuse gives the reason why a list cannot be used.
func (i *Instance) refuse(tools []upstream.Tool) error {
	seen := make(map[string]bool, len(tools))
	for _, t := range tools {
		if t.Unusable != "" {
			continue
		}
		if seen[t.Name] {
			return fault.New(fault.ServerUnavailable, "server %q lists the tool %q twice; its list is refused", i.def.Server.Name, t.Name).
				At(i.def.Server.Name, "").
				WithHint("the server has to be mended; until then the list before stays in use")
		}
		seen[t.Name] = true
	}
	return nil
}
