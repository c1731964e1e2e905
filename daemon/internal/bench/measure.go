package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	parallelCalls = 50  // in flight at once, and in the sequence
	warmCalls     = 200 // inside one warm script, for the cost of one call

	// restFor is when a daemon that has run something is at rest: it gives memory
	// back after 30 s, and looks every 15.
	restFor = 50 * time.Second
)

// probe is one thing that is measured once a round.
type probe struct {
	name string
	take func(context.Context) (float64, error) // milliseconds, or MiB
}

// samples are what a probe gave, round by round.
type samples map[string][]float64

// timed makes a probe's function of something to be timed, in milliseconds.
func timed(f func(context.Context) error) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		start := time.Now()
		err := f(ctx)
		return float64(time.Since(start).Nanoseconds()) / 1e6, err
	}
}

// sequence is a program that makes n calls, one after the other; none for 0.
func sequence(server string, n int) string {
	return fmt.Sprintf(`for (let i = 0; i < %d; i++) await tools.%s.echo({text: %q}); return "done"`, n, server, word)
}

// atOnce is a program that makes n calls at the same time.
func atOnce(server string, n int) string {
	return fmt.Sprintf(`await Promise.all(Array.from({length: %d}, () => tools.%s.echo({text: %q}))); return "done"`, n, server, word)
}

// measure builds what is needed beside tenon, takes every probe in every round
// and reports the medians. rest is how long a daemon that has run something is
// left alone until it counts as resting.
func measure(ctx context.Context, tenon string, rounds int, rest time.Duration, say io.Writer) (*Report, error) {
	tenon, err := filepath.Abs(tenon)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	tools, err := os.MkdirTemp("", "tb")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tools)
	floor := filepath.Join(tools, "floor")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", floor, "tenon/daemon/internal/bench/floor")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build floor: %w: %s", err, out)
	}
	servers := map[string][]string{"sdk": {self, sdkServerArg}, "fake": {tenon, "fake-server"}}
	warm, err := newRig(tenon, servers)
	if err != nil {
		return nil, err
	}
	defer warm.close()

	var probes []probe
	for name, command := range servers {
		d, err := dialDirect(ctx, command, warm.env)
		if err != nil {
			return nil, err
		}
		defer d.close()
		probes = append(probes, callProbes(name, d, warm)...)
	}
	slices.SortFunc(probes, func(a, b probe) int { return strings.Compare(a.name, b.name) })
	socket := filepath.Join(tools, "floor.sock")
	stop, err := background(floor, "serve", socket)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := until(func() bool { _, err := os.Stat(socket); return err == nil }); err != nil {
		return nil, err
	}
	probes = append(probes, shellProbes(floor, socket, warm)...)
	probes = append(probes, lifeProbes(tenon, servers)...)

	if _, err := warm.run("daemon", "start"); err != nil {
		return nil, err
	}
	resting, err := newRig(tenon, servers)
	if err != nil {
		return nil, err
	}
	defer resting.close()
	if _, err := resting.run("exec", "-e", "1"); err != nil {
		return nil, err
	}
	began := time.Now()
	got, err := takeAll(ctx, probes, rounds, say)
	if err != nil {
		return nil, err
	}
	select { // most of it has passed
	case <-time.After(rest - time.Since(began)):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	memory, _, err := resting.memory()
	if err != nil {
		return nil, err
	}
	got["memory rest"] = []float64{memory}
	return summarise(got, rounds), nil
}

// takeAll goes round by round through all probes, so that a slow minute of the
// machine falls on all of them. The first round warms up and is thrown away.
func takeAll(ctx context.Context, probes []probe, rounds int, say io.Writer) (samples, error) {
	got := samples{}
	for round := range rounds + 1 {
		for _, p := range probes {
			v, err := p.take(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			if round > 0 {
				got[p.name] = append(got[p.name], v)
			}
		}
		fmt.Fprintf(say, "round %d of %d\n", round, rounds)
	}
	return got, nil
}

func callProbes(server string, d *direct, r *rig) []probe {
	run := func(code string) func(context.Context) (float64, error) {
		return timed(func(ctx context.Context) error { return r.exec(ctx, code, `"done"`) })
	}
	return []probe{
		{"direct one " + server, perCall(timed(func(ctx context.Context) error { return d.sequence(ctx, warmCalls) }))},
		{"direct sequence " + server, timed(func(ctx context.Context) error { return d.sequence(ctx, parallelCalls) })},
		{"direct parallel " + server, timed(func(ctx context.Context) error { return d.parallel(ctx, parallelCalls) })},
		{"one " + server, perCall(beyond(run(sequence(server, warmCalls)), run(sequence(server, 0))))},
		{"sequence " + server, beyond(run(sequence(server, parallelCalls)), run(sequence(server, 0)))},
		{"parallel " + server, beyond(run(atOnce(server, parallelCalls)), run(sequence(server, 0)))},
	}
}

func perCall(take func(context.Context) (float64, error)) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		v, err := take(ctx)
		return v / warmCalls, err
	}
}

// beyond measures what a whole run costs more than an empty one beside it: the
// calls themselves, as a program sees them.
func beyond(whole, empty func(context.Context) (float64, error)) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		a, errA := empty(ctx)
		b, errB := whole(ctx)
		return b - a, errors.Join(errA, errB)
	}
}

func shellProbes(floor, socket string, r *rig) []probe {
	says := func(want, program string, args ...string) func(context.Context) (float64, error) {
		return timed(func(context.Context) error {
			got, err := r.command(program, args...)
			if err == nil && got != want {
				err = fmt.Errorf("%s printed %q, want %q", filepath.Base(program), got, want)
			}
			return err
		})
	}
	return []probe{
		{"floor", says(word, floor, socket)},
		{"trivial", timed(func(ctx context.Context) error { return r.exec(ctx, "1", "1") })},
		{"shell exec", says(word, r.tenon, "exec", "-e", `await tools.fake.echo({text: "`+word+`"})`)},
		{"shell call", says(word, r.tenon, "call", "fake", "echo", "text="+word)},
	}
}

// lifeProbes start a daemon of their own each time.
func lifeProbes(tenon string, servers map[string][]string) []probe {
	var idle, helper, busy float64
	return []probe{
		{"cold", func(ctx context.Context) (float64, error) {
			r, err := newRig(tenon, servers)
			if err != nil {
				return 0, err
			}
			defer r.close()
			took, err := timed(func(context.Context) error { _, err := r.run("exec", "-e", "1"); return err })(ctx)
			if err != nil {
				return 0, err
			}
			if idle, helper, err = r.memory(); err != nil {
				return 0, err
			}
			busy, err = r.inFlight(ctx)
			return took, err
		}},
		{"memory idle", func(context.Context) (float64, error) { return idle, nil }},
		{"memory helper", func(context.Context) (float64, error) { return helper, nil }},
		{"memory busy", func(context.Context) (float64, error) { return busy, nil }},
	}
}

// memory is what the daemon and its other processes hold, servers not counted.
func (r *rig) memory() (daemon, others float64, err error) {
	pid, err := r.pid()
	if err != nil {
		return 0, 0, err
	}
	if daemon, err = resident(pid); err != nil {
		return 0, 0, err
	}
	// Children are listed by the thread that started them.
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, 0, err
	}
	for _, list := range lists {
		children, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for child := range strings.FieldsSeq(string(children)) {
			command, _ := os.ReadFile("/proc/" + child + "/cmdline")
			id, err := strconv.Atoi(child)
			if err != nil || !strings.Contains(string(command), "internal-compile") {
				continue
			}
			m, err := resident(id)
			if err != nil {
				return 0, 0, err
			}
			others += m
		}
	}
	return daemon, others, nil
}

// inFlight is the daemon's memory while a program waits for 50 calls.
func (r *rig) inFlight(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- r.exec(ctx, fmt.Sprintf(`await Promise.all(Array.from({length: %d}, () => tools.fake.sleep({ms: 60000}))); return "done"`, parallelCalls), `"done"`)
	}()
	defer func() { cancel(); <-ended }()
	err := until(func() bool {
		out, err := r.run("ls", "fake", "--json")
		return err == nil && strings.Contains(strings.ReplaceAll(out, " ", ""), fmt.Sprintf(`"inFlight":%d`, parallelCalls))
	})
	if err != nil {
		return 0, fmt.Errorf("50 calls in flight: %w", err)
	}
	daemon, _, err := r.memory()
	return daemon, err
}
