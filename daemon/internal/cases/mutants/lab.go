package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Names of the runner of cases in daemon/internal/cases.
const (
	binaryEnv  = "TENON_CASES_BINARY"  // the program under test
	pluginsEnv = "TENON_CASES_PLUGINS" // where the built plugins are
	overlayEnv = "TENON_CASES_OVERLAY" // of "go test", for cases at unit level
	slackEnv   = "TENON_CASES_SLACK"   // factor of every upper bound
)

// caseBound is when a case on a broken build is given up. It is far above what
// any needs: a case that only runs out of time has noticed nothing.
const caseBound = 8 * time.Minute

// outcome is what became of one case on its broken build.
type outcome struct {
	Killed bool
	Line   string // of the case, the first that failed
	Said   string // how it failed, or what went wrong instead
}

func (o outcome) verdict() string {
	if o.Killed {
		return "killed by"
	}
	return "SURVIVED"
}

func (o outcome) String() string {
	if o.Killed {
		return "killed by: " + o.Line
	}
	return strings.TrimSpace("SURVIVED " + o.Line + "\n" + o.Said)
}

// lab builds and runs. Everything it makes is in one directory of its own.
type lab struct {
	top, dir string
	tests    string // the runner of cases, built once
}

func newLab(ctx context.Context, top string) (*lab, error) {
	dir, err := os.MkdirTemp("", "tenon-mutants-")
	if err != nil {
		return nil, err
	}
	l := &lab{top: top, dir: dir, tests: filepath.Join(dir, "cases.test")}
	if out, err := l.command(ctx, top, nil, "go", "test", "-c", "-o", l.tests, "./daemon/internal/cases"); err != nil {
		l.close()
		return nil, fmt.Errorf("cannot build the runner of cases: %w\n%s", err, out)
	}
	return l, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// command runs one at low priority, in a group that ends with ctx.
func (l *lab) command(ctx context.Context, dir string, env []string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", "5"}, argv...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.CombinedOutput()
}

// subject is a case whose broken program is there to be tried, or what is known
// of it without.
type subject struct {
	n     *note
	key   string
	env   []string // leads the runner to the broken program
	known *outcome // of an earlier run, or why there is nothing to try
	kept  bool     // known is of an earlier run
	took  time.Duration
	free  func() // gives the place of the build back
}

// builds makes the broken programs one after the other, at most one ahead of
// who takes them: most of a case's time is waiting. The channel is closed after
// the last, or when ctx ends.
func (l *lab) builds(ctx context.Context, all []*note, kept map[string]outcome) <-chan *subject {
	out := make(chan *subject)
	places := make(chan string, 2)
	places <- filepath.Join(l.dir, "1")
	places <- filepath.Join(l.dir, "2")
	go func() {
		defer close(out)
		for _, n := range all {
			var place string
			select {
			case place = <-places:
			case <-ctx.Done():
				return
			}
			s := l.prepare(ctx, place, n, kept)
			s.free = func() { places <- place }
			select {
			case out <- s:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (l *lab) prepare(ctx context.Context, place string, n *note, kept map[string]outcome) *subject {
	began := time.Now()
	s := &subject{n: n}
	changed, err := n.apply(l.top)
	if err != nil {
		s.known = &outcome{Said: err.Error()}
		return s
	}
	s.key = n.key(changed)
	if o, ok := kept[s.key]; ok && o.Killed {
		s.known, s.kept = &o, true
		return s
	}
	if s.env, err = l.build(ctx, place, changed); err != nil {
		s.known = &outcome{Said: "the broken build does not build: " + err.Error()}
	}
	s.took = time.Since(began)
	return s
}

// judge runs the case of a subject.
func (l *lab) judge(ctx context.Context, s *subject) outcome {
	if s.known != nil {
		return *s.known
	}
	o := l.try(ctx, s.n, s.env)
	if err := s.n.check(); err != nil { // it was run all the same: its first failing line is what the note lacks
		o.Killed = false
		o.Said = err.Error() + "\n" + o.Said
	}
	return o
}

// recorded settles a case whose note has only now been told where it failed.
func (l *lab) recorded(n *note, o outcome) (outcome, string) {
	changed, err := n.apply(l.top)
	if err == nil {
		err = n.check()
	}
	if err != nil {
		o.Said += "\n" + err.Error()
		return o, ""
	}
	o.Killed = true
	return o, n.key(changed)
}

// build makes the broken program in a place of its own and gives the environment
// that leads the runner to it.
func (l *lab) build(ctx context.Context, place string, changed map[string][]byte) ([]string, error) {
	if err := os.RemoveAll(place); err != nil {
		return nil, err
	}
	var env []string
	replace := map[string]string{}
	put := func(name string, data []byte) error {
		to := filepath.Join(place, "overlay", filepath.FromSlash(name))
		replace[filepath.Join(l.top, filepath.FromSlash(name))] = to
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600))
	}
	plugins := false
	for name, data := range changed {
		plugins = plugins || strings.HasPrefix(name, "plugins/")
		if err := put(name, data); err != nil {
			return nil, err
		}
	}
	if plugins {
		built, carried, err := l.plugins(ctx, filepath.Join(place, "workspace"), changed)
		if err != nil {
			return nil, err
		}
		env = append(env, pluginsEnv+"="+built)
		for name, data := range carried {
			if err := put(name, data); err != nil {
				return nil, err
			}
		}
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay, binary := filepath.Join(place, "overlay.json"), filepath.Join(place, "tenon")
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		return nil, err
	}
	out, err := l.command(ctx, l.top, []string{"CGO_ENABLED=0"}, "go", "build", "-overlay", overlay, "-ldflags", "-s -w", "-o", binary, "./daemon/cmd/tenon")
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return append(env, binaryEnv+"="+binary, overlayEnv+"="+overlay), nil
}

// failed is what the runner says of the first line that did not hold.
var failed = regexp.MustCompile(`(?m)^\s*FAIL: .*\.txtar:(\d+): (.*)$`)

// noFinding are failures that prove nothing: the runner gave up, or could not
// do what the line says.
var noFinding = regexp.MustCompile(`hung for|is not on the PATH of the case|^usage:|unknown verb|cannot run in the background`)

// try runs the case on what was built.
func (l *lab) try(ctx context.Context, n *note, env []string) outcome {
	bounded, cancel := context.WithTimeout(ctx, caseBound)
	defer cancel()
	if os.Getenv(slackEnv) == "" {
		env = append(env, slackEnv+"=2") // the machine is busy with builds besides
	}
	out, err := l.command(bounded, filepath.Join(l.top, "daemon", "internal", "cases"), env,
		l.tests, "-test.run", "^TestCases$/^"+regexp.QuoteMeta(n.name)+"$", "-test.v", "-test.timeout", caseBound.String())
	m := failed.FindSubmatch(out)
	switch {
	case bounded.Err() != nil:
		return outcome{Said: "the case did not end within " + caseBound.String()}
	case err == nil && bytes.Contains(out, []byte("--- SKIP")):
		return outcome{Said: "the case skips itself on this machine:\n" + ending(out)}
	case err == nil:
		return outcome{Said: "every line holds on the broken build"}
	case m == nil:
		return outcome{Said: "no line of the case failed, but something else:\n" + ending(out)}
	}
	number, _ := strconv.Atoi(string(m[1]))
	o := outcome{Line: strings.Split(n.script, "\n")[number-1], Said: string(m[2])}
	switch {
	case noFinding.MatchString(o.Said):
		o.Said = "the runner gave up: " + o.Said
	case !slices.Contains(n.caught, o.Line):
		o.Said = "it failed at another line than its note says: " + o.Said
	default:
		o.Killed = true
	}
	return o
}

func ending(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-25):], "\n")
}
