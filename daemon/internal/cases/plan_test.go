package cases

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tenon/daemon/internal/rig"
)

// plan is one line of a case: prefixes, a verb with its words, and perhaps a
// check of the output or a name for the background. README.md has the manual.
type plan struct {
	within     time.Duration // the verb must be done by then
	eventually time.Duration // repeat until it succeeds
	holds      time.Duration // repeat, and it must succeed each time
	exits      int           // the exit code wanted; anyFailure for "!"
	placed     bool          // "in" was given
	as         string        // session whose shell it runs in
	dir        string
	env        []string // changes to the environment
	input      string   // file for standard input
	terminal   bool     // runs on a terminal of its own
	parallel   int      // copies at once
	verb       string
	words      []string
	check      *check
	background string // name of the job
}

// anyFailure stands for every exit code but 0.
const anyFailure = -1

// outcome is what a verb gives back. Its code is an exit code; of a question
// ("processes", "distinct" …) it is 0 for yes and 1 for no, with the reason on
// stderr.
type outcome = rig.Outcome

// prefixes take that many words.
var prefixes = map[string]int{
	"within": 1, "eventually": 1, "holds": 1, "exits": 1, "as": 1,
	"in": 1, "with": 1, "input": 1, "terminal": 0, "parallel": 1, "!": 0,
}

// commands makes every prefix and verb a command of the archives: a line may
// start with any of them.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){}
	for name := range prefixes {
		if name != "!" { // at the start of a line it is testscript's
			all[name] = lineOf(name)
		}
	}
	for name := range verbs {
		all[name] = lineOf(name)
	}
	return all
}

func lineOf(first string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, rest []string) {
		s := sceneOf(ts)
		p, err := parsePlan(append([]string{first}, rest...))
		ts.Check(err)
		if neg {
			p.exits = anyFailure
		}
		p.dir = ts.MkAbs(p.dir)
		if p.input != "" {
			p.input = ts.MkAbs(p.input)
		}
		if p.background != "" {
			ts.Check(s.start(p))
			return
		}
		last := lastOutput(ts)
		o, err := s.carryOut(p, last)
		_, _ = ts.Stdout().Write(o.Stdout)
		_, _ = ts.Stderr().Write(o.Stderr)
		if err != nil {
			ts.Fatalf("%v", err)
		}
		if p.check != nil && p.check.variable != "" {
			s.Set(p.check.variable, p.check.captured)
			ts.Setenv(p.check.variable, p.check.captured)
		}
		if p.verb == "set" {
			for _, kv := range p.words {
				name, value, _ := strings.Cut(kv, "=")
				ts.Setenv(name, value)
			}
		}
	}
}

// lastOutput is the standard output of the line before, for verbs that judge it.
func lastOutput(ts *testscript.TestScript) []byte { return []byte(ts.ReadFile("stdout")) }

func parsePlan(words []string) (*plan, error) {
	p := &plan{}
	for len(words) > 0 {
		name := words[0]
		n, isPrefix := prefixes[name]
		if !isPrefix {
			break
		}
		if len(words) <= n {
			return nil, fmt.Errorf("%s: needs %d words and a verb", name, n)
		}
		if err := p.set(name, words[1:1+n]); err != nil {
			return nil, err
		}
		words = words[1+n:]
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("no verb")
	}
	p.verb, p.words = words[0], words[1:]
	if _, ok := verbs[p.verb]; !ok {
		return nil, fmt.Errorf("unknown verb %q", p.verb)
	}
	if n := len(p.words); n > 0 && len(p.words[n-1]) > 1 && p.words[n-1][0] == '&' {
		p.background, p.words = p.words[n-1][1:], p.words[:n-1]
	}
	if i := slices.Index(p.words, "::"); i >= 0 {
		c, err := parseCheck(p.words[i+1:])
		if err != nil {
			return nil, err
		}
		p.check, p.words = c, p.words[:i]
	}
	if p.background != "" && (p.check != nil || p.eventually+p.holds+p.within > 0) {
		return nil, fmt.Errorf("a command in the background is judged by join, not where it starts")
	}
	return p, nil
}

func (p *plan) set(name string, words []string) (err error) {
	switch name {
	case "within":
		p.within, err = time.ParseDuration(words[0])
	case "eventually":
		p.eventually, err = time.ParseDuration(words[0])
	case "holds":
		p.holds, err = time.ParseDuration(words[0])
	case "!":
		p.exits = anyFailure
	case "exits":
		if p.exits = anyFailure; words[0] != "any" {
			p.exits, err = strconv.Atoi(words[0])
		}
	case "as":
		p.as = words[0]
	case "in":
		p.dir, p.placed = words[0], true
	case "with":
		p.env = append(p.env, words[0])
	case "input":
		p.input = words[0]
	case "terminal":
		p.terminal = true
	case "parallel":
		p.parallel, err = strconv.Atoi(words[0])
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(words, " "), err)
	}
	return nil
}

// carryOut does what the plan says and judges it.
func (s *scene) carryOut(p *plan, last []byte) (outcome, error) {
	start := time.Now()
	for {
		o, err := verbs[p.verb](s, p, last)
		if err != nil {
			return o, fmt.Errorf("%s: %w", p.verb, err)
		}
		judged := p.judge(o)
		passed := time.Since(start)
		switch {
		case judged != nil && p.eventually > 0 && passed < p.eventually*slack:
		case judged == nil && p.holds > 0 && passed < p.holds:
		case judged != nil && p.eventually > 0:
			return o, fmt.Errorf("not within %s: %w", p.eventually, judged)
		case judged != nil && p.holds > 0:
			return o, fmt.Errorf("held only for %s: %w", passed.Round(time.Millisecond), judged)
		default:
			return o, judged
		}
		rig.Pause()
	}
}

func (p *plan) judge(o outcome) error {
	switch {
	case p.exits == anyFailure && o.Code == 0:
		return fmt.Errorf("%s succeeded and should not have", p.verb)
	case p.exits != anyFailure && o.Code != p.exits:
		return fmt.Errorf("%s: exit code %d, want %d: %s", p.verb, o.Code, p.exits, rig.Tail(o.Stderr, 600))
	case p.within > 0 && o.Took > p.within*slack:
		return fmt.Errorf("%s took %s, want at most %s", p.verb, o.Took.Round(time.Millisecond), p.within)
	case p.check != nil:
		return p.check.judge(o.Stdout)
	}
	return nil
}
