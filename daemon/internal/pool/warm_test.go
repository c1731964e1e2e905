package pool_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/pool/pooltest"
	"tenon/daemon/internal/upstream"
)

func warm(n int) func(*config.Definition) {
	return func(d *config.Definition) { d.Server.Warm = n }
}

func spares(p *pool.Pool) (n int) {
	for _, i := range p.Instances() {
		if i.Info().Spare {
			n++
		}
	}
	return n
}

func TestASpareIsHandedOutAndReplenished(t *testing.T) {
	p := newPool(t, &pooltest.Farm{}, pool.Options{})
	d := pooltest.Definition("s", warm(1))
	p.Warm(d)
	spare := p.Instances()[0]
	if err := spare.Ready(within(t)); err != nil {
		t.Fatal(err)
	}
	got := mustStart(t, p, d)
	if got != spare || got.Info().Spare {
		t.Fatalf("got %s, want the spare %s in use", got.ID(), spare.ID())
	}
	if spares(p) != 1 || len(p.Instances()) != 2 {
		t.Fatalf("%d spares of %d instances", spares(p), len(p.Instances()))
	}
}

func TestDefinitionsOfOneCallerGetNoSpares(t *testing.T) {
	p := newPool(t, &pooltest.Farm{}, pool.Options{})
	d := pooltest.Definition("s", warm(2), func(d *config.Definition) { d.Personal = true })
	p.Warm(d)
	mustStart(t, p, d)
	if n := len(p.Instances()); n != 1 {
		t.Fatalf("%d instances", n)
	}
}

func TestASpareNeverServesAnotherDefinition(t *testing.T) {
	p := newPool(t, &pooltest.Farm{}, pool.Options{})
	d := pooltest.Definition("s", warm(1))
	p.Warm(d)
	other := pooltest.Definition("s", func(o *config.Definition) { o.ID = "def-other"; o.Personal = true })
	if i := mustStart(t, p, other); i.Definition() != other {
		t.Fatal("the spare of another definition was handed out")
	}
}

func TestSparesUseFreeSlotsOnlyAndMakeRoom(t *testing.T) {
	p := newPool(t, &pooltest.Farm{}, pool.Options{})
	d := pooltest.Definition("s", warm(5), func(d *config.Definition) { d.Server.MaxInstances = 3 })
	mustStart(t, p, d)
	if spares(p) != 2 {
		t.Fatalf("%d spares", spares(p))
	}
	other := pooltest.Definition("s", func(o *config.Definition) { o.ID = "def-other"; o.Server.MaxInstances = 3 })
	if _, err := p.TryStart(other); !errors.Is(err, pool.ErrFull) {
		t.Fatalf("got %v", err)
	}
	if !p.EndSpare(d.Template) {
		t.Fatal("there was a spare")
	}
	pooltest.Eventually(t, "room", func() bool { taken, _ := p.Counts(d.Template); return taken == 2 })
	mustStart(t, p, other)
}

func TestSparesOfAnUnusedDefinitionEnd(t *testing.T) {
	var mu sync.Mutex
	now := time.Now()
	p := newPool(t, &pooltest.Farm{}, pool.Options{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	d := pooltest.Definition("s", warm(1))
	i := mustStart(t, p, d)
	pass := func() {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d.Server.IdleTimeout)
	}
	pass()
	p.Sweep()
	if spares(p) != 1 {
		t.Fatal("an instance is in use: the spare stays")
	}
	p.End(i, "test")
	<-i.Done()
	pass()
	p.Sweep()
	pooltest.Eventually(t, "nothing runs", func() bool { return len(p.Instances()) == 0 })
}

func TestAChangedListIsReadOnceForManyAnnouncements(t *testing.T) {
	var mu sync.Mutex
	reads, tools := 0, []upstream.Tool{{Name: "load"}}
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
		c.OnTools = func(context.Context) ([]upstream.Tool, error) {
			mu.Lock()
			defer mu.Unlock()
			reads++
			return append([]upstream.Tool(nil), tools...), nil
		}
	}}
	p := newPool(t, f, pool.Options{})
	events := p.Events()
	i := mustStart(t, p, pooltest.Definition("s"))
	mu.Lock()
	tools = append(tools, upstream.Tool{Name: "extra"})
	mu.Unlock()
	f.Conns()[0].Observer.ToolsChanged()
	f.Conns()[0].Observer.ToolsChanged()
	waitFor(t, events, pool.ToolsChanged)
	got, revision, err := i.Tools()
	if len(got) != 2 || revision != 2 || err != nil {
		t.Fatalf("%d tools, revision %d, %v", len(got), revision, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if reads != 2 {
		t.Fatalf("%d reads, one at the start and one after both announcements", reads)
	}
}

func TestAToolAnnouncedJustNowIsFound(t *testing.T) {
	var mu sync.Mutex
	tools := []upstream.Tool{{Name: "load"}}
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
		c.OnTools = func(context.Context) ([]upstream.Tool, error) {
			mu.Lock()
			defer mu.Unlock()
			return append([]upstream.Tool(nil), tools...), nil
		}
	}}
	p := newPool(t, f, pool.Options{})
	i := mustStart(t, p, pooltest.Definition("s"))
	for n, fresh := range []func(context.Context) ([]upstream.Tool, uint64, error){i.FreshTools, i.Relist} {
		mu.Lock()
		tools = append(tools, upstream.Tool{Name: strings.Repeat("x", n+1)})
		mu.Unlock()
		if n == 0 {
			f.Conns()[0].Observer.ToolsChanged()
		}
		got, _, err := fresh(within(t))
		if len(got) != n+2 || err != nil {
			t.Fatalf("%d tools, %v", len(got), err)
		}
	}
}

func TestAFailingRelistKeepsTheListAndSaysSo(t *testing.T) {
	for name, second := range map[string]func() ([]upstream.Tool, error){
		"error":     func() ([]upstream.Tool, error) { return nil, fault.New(fault.ServerUnavailable, "no list today") },
		"duplicate": func() ([]upstream.Tool, error) { return []upstream.Tool{{Name: "twin"}, {Name: "twin"}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			reads := 0
			f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
				c.OnTools = func(context.Context) ([]upstream.Tool, error) {
					mu.Lock()
					defer mu.Unlock()
					reads++
					if reads == 1 {
						return []upstream.Tool{{Name: "old"}}, nil
					}
					return second()
				}
			}}
			p := newPool(t, f, pool.Options{})
			events := p.Events()
			i := mustStart(t, p, pooltest.Definition("s"))
			f.Conns()[0].Observer.ToolsChanged()
			ev := waitFor(t, events, pool.ToolsFailed)
			got, revision, err := i.Tools()
			if len(got) != 1 || got[0].Name != "old" || revision != 1 || err == nil || ev.Reason == "" {
				t.Fatalf("%v, revision %d, %v, event %q", got, revision, err, ev.Reason)
			}
			if name == "duplicate" && !strings.Contains(err.Error(), "twin") {
				t.Errorf("the message does not name the tool: %v", err)
			}
		})
	}
}

func TestAServerWhoseFirstListIsRefusedServesWithoutTools(t *testing.T) {
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
		c.OnTools = func(context.Context) ([]upstream.Tool, error) {
			return []upstream.Tool{{Name: "twin"}, {Name: "twin"}}, nil
		}
	}}
	p := newPool(t, f, pool.Options{})
	i := mustStart(t, p, pooltest.Definition("s"))
	if got, _, err := i.Tools(); len(got) != 0 || err == nil {
		t.Fatalf("%v, %v", got, err)
	}
}

func TestEntriesThatAreNoToolsAreNoDuplicates(t *testing.T) {
	f := &pooltest.Farm{Setup: func(c *pooltest.Conn) {
		c.OnTools = func(context.Context) ([]upstream.Tool, error) {
			return []upstream.Tool{{Unusable: "tools[0]"}, {Name: "one"}, {Unusable: "tools[2]"}}, nil
		}
	}}
	i := mustStart(t, newPool(t, f, pool.Options{}), pooltest.Definition("s"))
	if got, _, err := i.Tools(); len(got) != 3 || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
}

func TestWhatAServerPrintsIsKeptInBounds(t *testing.T) {
	f := &pooltest.Farm{}
	p := newPool(t, f, pool.Options{})
	i := mustStart(t, p, pooltest.Definition("s"))
	o := f.Conns()[0].Observer
	for range 1000 {
		o.Stderr(strings.Repeat("x", 10_000))
		o.Noise("Server ready")
		o.ServerLog("info", "hello")
	}
	r := i.Records()
	if len(r.Stderr) > 40 || len(r.Stderr[0]) > 600 || len(r.Noise) > 5 || len(r.Logs) > 20 {
		t.Fatalf("%d lines of %d bytes, %d noise, %d logs", len(r.Stderr), len(r.Stderr[0]), len(r.Noise), len(r.Logs))
	}
	if i.Info().Noise != "Server ready" {
		t.Errorf("noise %q", i.Info().Noise)
	}
}
