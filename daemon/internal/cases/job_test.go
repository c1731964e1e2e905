package cases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/rig"
)

// slack multiplies every upper bound of a case: TENON_CASES_SLACK=4 for a
// machine that is busy with other things. It is 1 where nobody says otherwise.
var slack = slackOf(os.Getenv("TENON_CASES_SLACK"))

func slackOf(s string) time.Duration {
	n := time.Duration(1)
	_, _ = fmt.Sscan(s, &n)
	return max(n, 1)
}

// job is a command in the background.
type job struct {
	cancel   context.CancelFunc
	done     chan struct{}
	out      outcome
	err      error
	terminal *rig.Terminal // where it has one
	ask      int64         // request of a double, for bridge cancel
	host     *rig.Host
}

// background splits a verb into what must be done now and what may take time.
func (s *scene) background(ctx context.Context, p *plan, j *job) (func() (outcome, error), error) {
	switch {
	case p.verb == "bridge":
		return s.bridgeLater(p, j)
	case isProgram(p.verb):
		return func() (outcome, error) { return s.runProgram(ctx, p, j) }, nil
	}
	return nil, fmt.Errorf("%s cannot run in the background", p.verb)
}

func (s *scene) job(name string) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[name]; j != nil {
		return j, nil
	}
	return nil, fmt.Errorf("no job %q", name)
}

// join waits for a job; its name is free again afterwards.
func (s *scene) join(name string) (outcome, error) {
	j, err := s.job(name)
	if err != nil {
		return outcome{}, err
	}
	start := time.Now()
	<-j.done
	s.mu.Lock()
	delete(s.jobs, name)
	s.mu.Unlock()
	o := j.out
	o.Took = time.Since(start)
	return o, j.err
}

func isProgram(verb string) bool { return verb == "tenon" || verb == "sh" }

// argv is the command line of a program verb.
func (p *plan) argv(words []string) []string {
	if p.verb == "sh" {
		return append([]string{"/bin/sh", "-c"}, words...)
	}
	return append([]string{p.verb}, words...)
}

// runProgram runs tenon or a shell command line, in a session's shell, on a
// terminal or in several copies as the plan says. Copies see their number as
// {i}; their outputs follow each other in that order.
func (s *scene) runProgram(ctx context.Context, p *plan, j *job) (outcome, error) {
	if p.parallel == 0 {
		return s.Run(ctx, p.command(p.words, j))
	}
	outs, errs := make([]outcome, p.parallel), make([]error, p.parallel)
	var all sync.WaitGroup
	for i := range p.parallel {
		all.Go(func() {
			words := make([]string, len(p.words))
			for k, w := range p.words {
				words[k] = strings.ReplaceAll(w, "{i}", fmt.Sprint(i))
			}
			outs[i], errs[i] = s.Run(ctx, p.command(words, nil))
		})
	}
	all.Wait()
	var whole outcome
	for _, o := range outs {
		whole.Stdout = append(whole.Stdout, o.Stdout...)
		whole.Stderr = append(whole.Stderr, o.Stderr...)
		if o.Code != 0 {
			whole.Code = o.Code
		}
		whole.Took = max(whole.Took, o.Took)
	}
	return whole, errors.Join(errs...)
}

func (p *plan) command(words []string, j *job) rig.Command {
	c := rig.Command{Argv: p.argv(words), Dir: p.dir, Env: p.env, Input: p.input, As: p.as}
	switch {
	case p.terminal && j != nil && j.terminal != nil:
		c.Terminal = j.terminal
	case p.terminal:
		c.Terminal = rig.NewTerminal()
	}
	return c
}
