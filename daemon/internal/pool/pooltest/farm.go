// Package pooltest is a farm of pretend servers, in memory, for the tests of
// slots and leases. Real servers are tested with fakeserver.
package pooltest

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

// Farm makes connections. Its zero value works.
type Farm struct {
	// Start is called at each Dial before the connection is made; its error
	// fails the start. It may wait, and should respect ctx.
	Start func(ctx context.Context, d *config.Definition) error
	// Setup is called with each new connection.
	Setup func(c *Conn)

	mu    sync.Mutex
	all   []*Conn        // guarded by mu
	live  map[string]int // guarded by mu; by template
	peak  map[string]int // guarded by mu
	dials int            // guarded by mu
}

// Dial is a pool.Dial.
func (f *Farm) Dial(ctx context.Context, d *config.Definition, roots []string, o upstream.Observer) (upstream.Conn, error) {
	f.mu.Lock()
	f.dials++
	n := f.dials
	f.mu.Unlock()
	if f.Start != nil {
		if err := f.Start(ctx, d); err != nil {
			return nil, err
		}
	}
	c := &Conn{Def: d, Observer: o, First: roots, roots: roots, farm: f, pid: n, gone: make(chan struct{})}
	if f.Setup != nil {
		f.Setup(c)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, c)
	if f.live == nil {
		f.live, f.peak = map[string]int{}, map[string]int{}
	}
	f.live[d.Template]++
	f.peak[d.Template] = max(f.peak[d.Template], f.live[d.Template])
	return c, nil
}

// Dials is how many starts were tried.
func (f *Farm) Dials() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dials
}

// Peak is the most connections of a template that were open at once; Live is
// how many are now.
func (f *Farm) Peak(template string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peak[template]
}

// Live is how many connections of a template are open.
func (f *Farm) Live(template string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live[template]
}

// Conns are all connections ever made, oldest first.
func (f *Farm) Conns() []*Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*Conn(nil), f.all...)
}

// Conn is a pretend connection; it implements upstream.Conn. Its fields may be
// set in Farm.Setup.
type Conn struct {
	Def      *config.Definition
	Observer upstream.Observer
	First    []string // the roots it was started with
	// OnCall answers calls; nil: an empty object.
	OnCall func(ctx context.Context, call upstream.Call) (json.RawMessage, error)
	// OnTools lists tools; nil: one tool "echo".
	OnTools func(ctx context.Context) ([]upstream.Tool, error)
	// OnPing answers pings; nil: fine.
	OnPing func(ctx context.Context) error
	// HoldClose delays the end of the process until it is closed; nil: no delay.
	HoldClose chan struct{}

	farm *Farm
	pid  int
	once sync.Once
	gone chan struct{}

	mu    sync.Mutex
	err   error    // guarded by mu
	roots []string // guarded by mu
	told  int      // guarded by mu; times that roots were set
}

// Kill breaks the connection as a crashed process does.
func (c *Conn) Kill(text string) {
	c.mu.Lock()
	c.err = fault.New(fault.ServerUnavailable, "server %q went away: %s", c.Def.Server.Name, text)
	c.mu.Unlock()
	c.once.Do(func() { close(c.gone) })
}

// Roots are the directories last set.
func (c *Conn) Roots() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.roots
}

// Info tells a made-up pid.
func (c *Conn) Info() upstream.Info {
	return upstream.Info{Protocol: "2025-06-18", ServerName: c.Def.Server.Name, PID: c.pid}
}

// Tools lists what OnTools says.
func (c *Conn) Tools(ctx context.Context) ([]upstream.Tool, error) {
	if c.OnTools != nil {
		return c.OnTools(ctx)
	}
	return []upstream.Tool{{Name: "echo"}}, nil
}

// Told is how often roots were set.
func (c *Conn) Told() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told
}

// Call answers what OnCall says, or breaks with the connection.
func (c *Conn) Call(ctx context.Context, call upstream.Call) (json.RawMessage, error) {
	select {
	case <-c.gone:
		return nil, c.Err()
	default:
	}
	if c.OnCall != nil {
		return c.OnCall(ctx, call)
	}
	return json.RawMessage(`{}`), nil
}

// Ping answers what OnPing says.
func (c *Conn) Ping(ctx context.Context) error {
	if c.OnPing != nil {
		return c.OnPing(ctx)
	}
	return nil
}

// SetRoots remembers them.
func (c *Conn) SetRoots(dirs []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roots = dirs
	c.told++
}

// Done is closed when the connection is gone.
func (c *Conn) Done() <-chan struct{} { return c.gone }

// Err is why it is gone.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// StderrTail is empty.
func (c *Conn) StderrTail() string { return "" }

// Close ends it, after HoldClose.
func (c *Conn) Close(ctx context.Context) error {
	c.once.Do(func() { close(c.gone) })
	if c.HoldClose != nil {
		select {
		case <-c.HoldClose:
		case <-ctx.Done():
		}
	}
	c.farm.mu.Lock()
	defer c.farm.mu.Unlock()
	c.farm.live[c.Def.Template]--
	return nil
}

// Definition makes a definition with generous limits for tests.
func Definition(name string, change ...func(*config.Definition)) *config.Definition {
	d := &config.Definition{
		ID:       "def-" + name,
		Template: "tpl-" + name,
		Server: &config.Server{
			Name:         name,
			Scope:        config.Session,
			Inherit:      true,
			MaxInstances: 8,
			StartTimeout: 10 * time.Second,
			QueueTimeout: 10 * time.Second,
			IdleTimeout:  10 * time.Minute,
			EvictAfter:   time.Minute,
		},
	}
	for _, f := range change {
		f(d)
	}
	return d
}

// Eventually waits until ok, at most for a time that suits a slow machine.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		<-tick.C
	}
}
