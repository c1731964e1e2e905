package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// remote starts the server over HTTP whose instances cost no process each.
func (l *lab) remote() (address string, err error) {
	cmd := exec.Command(filepath.Join(l.Work, "bin", "tenon"), "fake-server", "--http", "127.0.0.1:0", "--respond", "json")
	cmd.Env = l.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	l.AtEnd(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(line), err
}

func session(n int) string { return fmt.Sprintf("session-%d", n) }

func (l *lab) attach(n int) error {
	o, err := l.Attach(l.host, proto.Attach{Session: session(n), Directory: l.dir, Agent: "build", Rules: rig.AllowAll("build")})
	return failed(o, err)
}

// failed makes an error of an outcome that is one.
func failed(o rig.Outcome, err error) error {
	if err == nil && o.Code != 0 {
		err = fmt.Errorf("exit code %d: %s%s", o.Code, o.Stderr, rig.Tail(o.Stdout, 500))
	}
	return err
}

// call makes one call as a session, over the bridge.
func (l *lab) call(n int, server, tool, arguments string) error {
	return failed(l.host.Request(proto.MethodCallStart, proto.CallStart{
		Origin: l.origin(n), Directory: l.dir, Server: server, Tool: tool, Arguments: json.RawMessage(arguments),
	}, 0))
}

func (l *lab) origin(n int) proto.Origin {
	return proto.Origin{Session: session(n), Call: rig.CallID(l.host.NextID()), Agent: "build"}
}

// run runs a program as a session, over the bridge.
func (l *lab) run(n int, code string) error {
	return failed(l.host.Start(proto.RunStart{Origin: l.origin(n), Directory: l.dir, Code: code}, 0))
}

// resident is the daemon's memory in MiB.
func (l *lab) resident() (float64, error) {
	pid, err := l.DaemonPID()
	if err != nil {
		return 0, err
	}
	rss, err := rig.Memory(pid, "VmRSS")
	return float64(rss) / (1 << 20), err
}

const echo = `{"text":"hello"}`

// remoteLab is a lab whose server all is remote; close it.
func remoteLab(tenon string) (*lab, error) {
	l, err := newLab(tenon, "", nil)
	if err != nil {
		return nil, err
	}
	address, err := l.remote()
	if err == nil {
		err = l.configure(address)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// bySessions measures with more and more sessions attached, first such that have
// nothing but the server that all share, then with an instance of their own each.
func bySessions(_ context.Context, tenon string, samples int) error {
	l, err := remoteLab(tenon)
	if err != nil {
		return err
	}
	defer l.close()
	t := newTable("sessions", "attach", "call p50", "call p99", "trivial run p50", "run p99", "daemon", "call of an own instance p50", "p99", "daemon with leases")
	attached, leased := 0, 0
	for _, want := range sessionCounts {
		var attaching time.Duration
		for ; attached < want; attached++ {
			start := time.Now()
			if err := l.attach(attached); err != nil {
				return err
			}
			attaching = time.Since(start) // of the last
		}
		calls, err := times(samples, func(i int) error { return l.call(i*7%want, "all", "echo", echo) })
		if err != nil {
			return err
		}
		runs, err := times(samples, func(i int) error { return l.run(i*7%want, "1") })
		if err != nil {
			return err
		}
		idle, err := l.resident()
		if err != nil {
			return err
		}
		for ; leased < want; leased++ {
			if err := l.call(leased, "own", "echo", echo); err != nil {
				return err
			}
		}
		own, err := times(samples, func(i int) error { return l.call(i*7%want, "own", "echo", echo) })
		if err != nil {
			return err
		}
		busy, err := l.resident()
		if err != nil {
			return err
		}
		t.row(fmt.Sprint(want), took(attaching), p50(calls), p99(calls), p50(runs), p99(runs), mib(idle), p50(own), p99(own), mib(busy))
	}
	return t.print()
}

// byRuns measures memory with more and more runs at once that wait for a call.
func byRuns(ctx context.Context, tenon string) error {
	l, err := remoteLab(tenon)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.attach(0); err != nil {
		return err
	}
	if err := l.run(0, `await tools.all.echo(`+echo+`)`); err != nil { // starts what is started once
		return err
	}
	hosts := []*rig.Host{l.host} // one may have 256 requests in work
	for i := 1; i < 4; i++ {
		h, err := l.StartHost(fmt.Sprintf("host%d", i), l.dir, rig.HostOptions{})
		if err != nil {
			return err
		}
		a := proto.Attach{Session: session(i), Directory: l.dir, Agent: "build", Rules: rig.AllowAll("build")}
		if err := failed(l.Attach(h, a)); err != nil {
			return err
		}
		hosts = append(hosts, h)
	}
	t := newTable("runs at once", "until all of them wait", "daemon")
	for _, n := range runCounts {
		start := time.Now()
		ids, ended := make([]int64, n), make(chan error, n)
		for i := range n {
			h := hosts[i%len(hosts)]
			ids[i] = h.NextID()
			go func() {
				ended <- failed(h.Start(proto.RunStart{Origin: l.origin(i % len(hosts)), Directory: l.dir, Code: `await tools.all.sleep({ms: 600000})`}, ids[i]))
			}()
		}
		err := l.untilCalls(ctx, n, ended)
		waited := time.Since(start)
		held, errHeld := l.resident()
		for i, id := range ids {
			_ = hosts[i%len(hosts)].Cancel(id, "user") // all of them are awaited next
		}
		for range n {
			<-ended
		}
		if err != nil {
			return err
		}
		if errHeld != nil {
			return errHeld
		}
		t.row(fmt.Sprint(n), took(waited), mib(held))
	}
	return t.print()
}

// untilCalls waits until the shared server has n calls in flight. A run that has
// ended by then has failed.
func (l *lab) untilCalls(ctx context.Context, n int, ended chan error) error {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		var leases []proto.Lease
		if err := l.api.Get(ctx, l.dir, "/v1/leases", &leases); err != nil {
			return err
		}
		uses := 0
		for _, lease := range leases {
			uses += lease.Uses
		}
		if uses == n {
			return nil
		}
		select {
		case err := <-ended:
			ended <- err // it is counted
			return fmt.Errorf("a run of %d at once: %w", n, err)
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d calls in flight after 2 min, want %d", uses, n)
		}
		rig.Pause()
	}
}
