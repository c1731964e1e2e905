package cases

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tenon/daemon/internal/rig"
)

// scene is everything one case owns: what the rig gives to each test, and the
// commands in the background.
type scene struct {
	*rig.Scene

	mu   sync.Mutex
	jobs map[string]*job
}

type sceneKey struct{}

func sceneOf(ts *testscript.TestScript) *scene { return ts.Value(sceneKey{}).(*scene) }

// setup gives a case its scene and arranges for the check that nothing is left.
func setup(e *testscript.Env, program string) error {
	made, err := rig.New(e.WorkDir, program)
	if err != nil {
		return err
	}
	s := &scene{Scene: made, jobs: map[string]*job{}}
	s.Set("PLUGINS", pluginsDir(s.Get("TOP")))
	for _, kv := range slices.Sorted(slices.Values(s.Environ())) {
		name, value, _ := strings.Cut(kv, "=")
		e.Setenv(name, value)
	}
	e.Values[sceneKey{}] = s
	e.Defer(func() { s.tearDown(e.T()) })
	return nil
}

// tearDown ends the commands in the background and whatever else the case
// started, and fails the case when something is left.
func (s *scene) tearDown(t testscript.T) { s.tearDownWithin(t, rig.GoneBound) }

func (s *scene) tearDownWithin(t testscript.T, gone time.Duration) {
	s.mu.Lock()
	jobs := s.jobs
	s.mu.Unlock()
	for _, j := range jobs {
		j.cancel()
		<-j.done
	}
	s.TearDown(t, gone)
}

// start carries a plan out in the background under its name.
func (s *scene) start(p *plan) error {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Hung)
	j := &job{cancel: cancel, done: make(chan struct{})}
	s.mu.Lock()
	_, taken := s.jobs[p.background]
	s.mu.Unlock()
	if taken {
		cancel()
		return fmt.Errorf("there is a job %q already", p.background)
	}
	if p.terminal {
		j.terminal = rig.NewTerminal()
	}
	work, err := s.background(ctx, p, j)
	if err != nil {
		cancel()
		return err
	}
	s.mu.Lock()
	s.jobs[p.background] = j
	s.mu.Unlock()
	go func() {
		defer close(j.done)
		j.out, j.err = work()
	}()
	return nil
}
