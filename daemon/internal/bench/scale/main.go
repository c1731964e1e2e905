// Command scale measures what grows with the number of sessions, of tools and of
// runs at once: time of a call and of a run, memory of the daemon. It uses the
// binary as it is shipped, a daemon of its own, and doubles of a plugin's host.
// Usage: scale --tenon bin/tenon [--samples 200] [--only sessions|runs|tools]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"tenon/daemon/internal/rig"
)

func main() {
	rig.PlayRole()
	tenon := flag.String("tenon", "bin/tenon", "the binary to measure, as it is shipped")
	samples := flag.Int("samples", 200, "how often each time is taken")
	only := flag.String("only", "", "sessions, runs or tools; all of them without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *tenon, *samples, *only); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// sizes are those of the question: how many sessions, tools or runs.
var (
	sessionCounts = []int{1, 10, 100, 1000}
	toolCounts    = []int{10, 100, 1000}
	runCounts     = []int{1, 10, 100, 500}
)

func measure(ctx context.Context, tenon string, samples int, only string) error {
	tenon, err := filepath.Abs(tenon)
	if err != nil {
		return err
	}
	if only == "" || only == "sessions" {
		if err := bySessions(ctx, tenon, samples); err != nil {
			return fmt.Errorf("by sessions: %w", err)
		}
	}
	if only == "" || only == "runs" {
		if err := byRuns(ctx, tenon); err != nil {
			return fmt.Errorf("by runs: %w", err)
		}
	}
	if only != "" && only != "tools" {
		return nil
	}
	for _, n := range toolCounts {
		if err := byTools(ctx, tenon, n, samples); err != nil {
			return fmt.Errorf("%d tools: %w", n, err)
		}
	}
	return nil
}

// lab is one private installation with a host's double.
type lab struct {
	*rig.Scene
	api  *rig.API
	host *rig.Host
	dir  string
}

// newLab makes an installation with this configuration, $WORK filled in, after
// prepare has put further files into its directory.
func newLab(tenon, config string, prepare func(work string) error) (*lab, error) {
	work, err := os.MkdirTemp("", "ts")
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(work, "config", "tenon")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if prepare != nil {
		if err := prepare(work); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "config.jsonc"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	s, err := rig.New(work, tenon)
	if err != nil {
		return nil, err
	}
	l := &lab{Scene: s, api: s.NewAPI(), dir: work}
	l.host, err = s.StartHost("host", work, rig.HostOptions{})
	return l, err
}

// close stops everything; what was left is said, and is no reason to fail.
func (l *lab) close() {
	l.api.Close()
	l.TearDown(judge{}, rig.GoneBound)
	_ = os.RemoveAll(l.dir)
}

type judge struct{}

func (judge) Log(args ...any) { fmt.Fprintln(os.Stderr, args...) }
func (judge) FailNow()        {}

// times takes the time of f n times; the first tenth warms up.
func times(n int, f func(i int) error) ([]time.Duration, error) {
	var all []time.Duration
	for i := range n + n/10 {
		start := time.Now()
		if err := f(i); err != nil {
			return nil, err
		}
		if i >= n/10 {
			all = append(all, time.Since(start))
		}
	}
	return all, nil
}
