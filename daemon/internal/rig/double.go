package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tenon/proto"
)

// The double of a plugin's host runs as a process of its own, since the daemon
// looks at who started whom: a shell below it is an agent's shell, and the
// runner beside it is the user's. The runner tells it what to do over its
// standard input and output (net/rpc).

// hostMain is the double's process: it serves until its input ends.
func hostMain() int {
	d := &double{sessions: map[string]proto.Attach{}}
	server := rpc.NewServer()
	if err := server.RegisterName("Double", d); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	server.ServeConn(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
	return 0
}

// double is what an opencode with tenon's plugin is to the daemon.
type double struct {
	mu       sync.Mutex
	hello    Hello
	bridge   *bridge
	sessions map[string]proto.Attach
	order    []string // of sessions, parents first
	policies []Policy // the last that matches counts
	asks     []*Asked
	notices  []proto.Notice
	changes  atomic.Int64 // catalog/changed so far; counted by the reader, which must not wait
}

// Hello says how the double introduces itself and where the daemon is.
type Hello struct {
	Socket, Dir, Config string
	Interactive         bool
	Env                 map[string]string
}

// Policy is how questions are answered. A Key of "" is every question.
type Policy struct {
	Key, Reply, Feedback string
	After                time.Duration
	Unshown              bool // never say that it is before the user
}

// Asked is one question as the double saw it.
type Asked struct {
	proto.Ask
	State string `json:"state"` // open, answered, withdrawn, lost
	Reply string `json:"reply,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Request is one request to the daemon. ID is chosen by the runner, so that it
// can be cancelled.
type Request struct {
	ID     int64
	Method string
	Params []byte
}

// Reply is the daemon's answer: a result or a failure.
type Reply struct {
	Result  []byte
	Failure []byte // proto.RPCError, or none
	Took    time.Duration
}

// Nothing is the argument of calls that need none.
type Nothing struct{}

var errNoBridge = errors.New("the bridge is closed")

// Configure keeps how to connect; the first request connects.
func (d *double) Configure(h Hello, _ *Nothing) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hello = h
	return nil
}

// Answer adds a policy.
func (d *double) Answer(p Policy, _ *Nothing) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.policies = append(d.policies, p)
	return nil
}

// Do sends one request and waits for its answer, connecting first where
// needed: starting the daemon, saying hello and attaching every session again.
func (d *double) Do(r Request, reply *Reply) error {
	b, err := d.connected()
	if err != nil {
		return err
	}
	start := time.Now()
	m, err := b.request(r.ID, r.Method, r.Params)
	if err != nil {
		return err
	}
	reply.Took = time.Since(start)
	reply.Result = m.Result
	if m.Error != nil {
		reply.Failure, err = json.Marshal(m.Error)
		return err
	}
	return d.keep(r)
}

// keep remembers what must be attached again on a new connection.
func (d *double) keep(r Request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r.Method {
	case proto.MethodAttach:
		var a proto.Attach
		if err := json.Unmarshal(r.Params, &a); err != nil {
			return err
		}
		if _, known := d.sessions[a.Session]; !known {
			d.order = append(d.order, a.Session)
		}
		d.sessions[a.Session] = a
	case proto.MethodDetach:
		var a proto.Detach
		if err := json.Unmarshal(r.Params, &a); err != nil {
			return err
		}
		delete(d.sessions, a.Session)
		d.order = slices.DeleteFunc(d.order, func(id string) bool { return id == a.Session })
	}
	return nil
}

// Notify sends a notification.
func (d *double) Notify(r Request, _ *Nothing) error {
	d.mu.Lock()
	b := d.bridge
	d.mu.Unlock()
	if b == nil {
		return errNoBridge
	}
	return b.send(proto.RPCMessage{Method: r.Method, Params: r.Params})
}

// Close closes the bridge as a plugin does that is unloaded.
func (d *double) Close(Nothing, *Nothing) error {
	d.mu.Lock()
	b := d.bridge
	d.bridge = nil
	d.mu.Unlock()
	if b != nil {
		b.close()
	}
	return nil
}

// Seen gives the questions and notices so far, as JSON.
func (d *double) Seen(_ Nothing, out *[]byte) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*out, err = json.Marshal(map[string]any{"asks": d.asks, "notices": d.notices, "catalogChanged": d.changes.Load()})
	return err
}

// AgentCommand is a program to run below the double, as the agent's shell tool would.
type AgentCommand struct {
	Argv, Env []string
	Dir       string
	Input     []byte
	Bound     time.Duration
}

// Ran is what came of it.
type Ran struct {
	Stdout, Stderr []byte
	Code           int
	Took           time.Duration
	Problem        string
}

// Run runs a command below the double, in a session of its own.
func (d *double) Run(c AgentCommand, r *Ran) error {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	ctx, cancel := context.WithTimeout(context.Background(), c.Bound)
	defer cancel()
	o, err := runCommand(ctx, cmd)
	*r = Ran{Stdout: o.Stdout, Stderr: o.Stderr, Code: o.Code, Took: o.Took}
	if err != nil {
		r.Problem = err.Error()
	}
	return nil
}

// connected returns the live bridge, making one where there is none.
func (d *double) connected() (*bridge, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bridge != nil && d.bridge.alive() {
		return d.bridge, nil
	}
	start := exec.Command("tenon", "daemon", "start")
	start.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := runBounded(start, time.Minute); err != nil {
		return nil, fmt.Errorf("tenon daemon start: %w: %s", err, out)
	}
	b, err := dial(d.hello.Socket, d)
	if err != nil {
		return nil, err
	}
	hello, err := json.Marshal(proto.Hello{
		Protocol: proto.Protocol, Build: proto.Build{Version: "devel", Commit: ""},
		Plugin: "opencode-tenon", Host: "opencode-v1", HostVersion: "1.18.31", Runtime: "double",
		PID: os.Getpid(), Directory: d.hello.Dir, Worktree: d.hello.Dir,
		Interactive: d.hello.Interactive, Config: d.hello.Config, Env: d.hello.Env,
	})
	if err != nil {
		return nil, err
	}
	if err := b.must(proto.MethodHello, hello); err != nil {
		b.close()
		return nil, err
	}
	for _, id := range d.order {
		params, err := json.Marshal(d.sessions[id])
		if err == nil {
			err = b.must(proto.MethodAttach, params)
		}
		if err != nil {
			b.close()
			return nil, err
		}
	}
	d.bridge = b
	return b, nil
}

// answer plays the user: it says that the question is shown, waits as long as
// the policy says, and replies, unless the question is taken back meanwhile.
func (d *double) answer(b *bridge, ask proto.Ask, withdrawn <-chan string) proto.AskReply {
	d.mu.Lock()
	seen := &Asked{Ask: ask, State: "open"}
	d.asks = append(d.asks, seen)
	policy := Policy{Reply: "never"}
	for _, p := range d.policies {
		if p.Key == "" || p.Key == ask.Key {
			policy = p
		}
	}
	d.mu.Unlock()
	if !policy.Unshown {
		params, _ := json.Marshal(proto.AskShown{ID: ask.ID})
		_ = b.send(proto.RPCMessage{Method: proto.MethodAskShown, Params: params})
	}
	settle := func(state, reply, why string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		seen.State, seen.Reply, seen.Why = state, reply, why
	}
	var decided <-chan time.Time // never, unless the policy decides
	if policy.Reply != "never" {
		t := time.NewTimer(policy.After)
		defer t.Stop()
		decided = t.C
	}
	select {
	case <-decided:
		settle("answered", policy.Reply, policy.Feedback)
		if policy.Reply == "deny" {
			return proto.AskReply{Reply: "reject", Denied: true}
		}
		return proto.AskReply{Reply: policy.Reply, Feedback: policy.Feedback}
	case why := <-withdrawn:
		settle("withdrawn", "", why)
	case <-b.gone:
		settle("lost", "", "bridge closed")
	}
	return proto.AskReply{Reply: "unavailable"}
}

func (d *double) resolve(r proto.Resolve) proto.Resolved {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.sessions[r.Session]
	if !ok {
		return proto.Resolved{Session: r.Session}
	}
	root := a
	for root.Parent != "" {
		root = d.sessions[root.Parent]
	}
	return proto.Resolved{
		Known: true, Session: a.Session, Parent: a.Parent, Root: root.Session,
		Directory: a.Directory, Agent: a.Agent, Rules: a.Rules,
	}
}

func (d *double) notice(n proto.Notice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notices = append(d.notices, n)
}
