package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Host is a test's hold on the process of one double of a plugin's host. Its
// methods may be called at the same time.
type Host struct {
	cmd  *exec.Cmd
	rpc  *rpc.Client
	said *os.File     // the double's stderr
	ids  atomic.Int64 // of requests
}

// Session is a session that a double has attached.
type Session struct {
	Host           *Host
	Dir            string
	Ticket, Socket string
}

// HostOptions says how a double introduces itself. The zero value is one whose
// user can be asked.
type HostOptions struct {
	Config string // configuration file that the host gives
	Silent bool   // nobody can be asked
	Env    []string
}

// StartHost starts the double of an opencode with tenon's plugin in dir. It
// connects, and starts the daemon where needed, with its first request.
func (s *Scene) StartHost(name, dir string, opts HostOptions) (*Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	said, err := os.Create(filepath.Join(s.Work, "host-"+name+".stderr"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Dir, cmd.Stderr = s.Environ(roleEnv+"=host"), dir, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h := &Host{cmd: cmd, said: said, rpc: rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})}
	s.mu.Lock()
	s.hosts[name] = h
	env := map[string]string{}
	for _, n := range []string{"PATH", "HOME", "LANG", "TERM", "TMPDIR", "WORK"} {
		env[n] = s.env[n]
	}
	hello := Hello{Socket: s.env["SOCKET"], Dir: dir, Config: opts.Config, Interactive: !opts.Silent, Env: env}
	s.mu.Unlock()
	for _, kv := range opts.Env {
		n, v, _ := strings.Cut(kv, "=")
		env[n] = v
	}
	return h, h.rpc.Call("Double.Configure", hello, &Nothing{})
}

// Host is the host that was started under the name.
func (s *Scene) Host(name string) (*Host, error) {
	s.mu.Lock()
	h := s.hosts[name]
	s.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("no host %q", name)
	}
	return h, nil
}

// KillHost ends a host as a crash would; its name is free again.
func (s *Scene) KillHost(name string) error {
	h, err := s.Host(name)
	if err != nil {
		return err
	}
	h.Kill()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hosts, name)
	return nil
}

// Kill ends the double as a crash would, and reaps it.
func (h *Host) Kill() {
	_ = h.cmd.Process.Kill()
	_ = h.rpc.Close()
	_ = h.cmd.Wait()
	_ = h.said.Close()
}

// Attach attaches a session of a host and keeps its ticket.
func (s *Scene) Attach(h *Host, a proto.Attach) (Outcome, error) {
	o, err := h.Request(proto.MethodAttach, a, 0)
	if err != nil || o.Code != 0 {
		return o, err
	}
	var attachment proto.AttachResult
	if err := json.Unmarshal(o.Stdout, &attachment); err != nil {
		return o, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[a.Session] = &Session{Host: h, Dir: a.Directory, Ticket: attachment.Ticket, Socket: attachment.Socket}
	return o, nil
}

// Session is a session that was attached.
func (s *Scene) Session(id string) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.sessions[id]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("no session %q", id)
}

// Forget drops what is kept of a session, once it is detached.
func (s *Scene) Forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

// AllowAll is what an agent without rules of its own may do: everything.
func AllowAll(agent string) *proto.RuleList {
	return &proto.RuleList{
		Version: "all", Agent: agent, Confirmed: true,
		Rules: []proto.Rule{{Permission: "*", Pattern: "*", Action: "allow"}},
	}
}

// NextID is a request id that was not used.
func (h *Host) NextID() int64 { return h.ids.Add(1) }

// Request sends one request to the daemon and waits for its answer; id 0 takes
// the next free one. A failure's exit code is that of its kind, and the failure
// is the stdout; a bridge that could not be had or was lost is code 1.
func (h *Host) Request(method string, params any, id int64) (Outcome, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return Outcome{}, err
	}
	if id == 0 {
		id = h.NextID()
	}
	var reply Reply
	if err := h.rpc.Call("Double.Do", Request{ID: id, Method: method, Params: raw}, &reply); err != nil {
		var remote rpc.ServerError
		if errors.As(err, &remote) {
			return No("%v", err), nil
		}
		return Outcome{}, err
	}
	o := Outcome{Stdout: reply.Result, Took: reply.Took}
	if reply.Failure == nil {
		return o, nil
	}
	var failure proto.RPCError
	if err := json.Unmarshal(reply.Failure, &failure); err != nil {
		return o, err
	}
	o.Code, o.Stderr, o.Stdout = 1, []byte(failure.Message), reply.Failure
	if failure.Data != nil {
		o.Code = exitOf(failure.Data.Kind)
		o.Stdout, err = json.Marshal(map[string]any{"error": failure.Data})
	}
	return o, err
}

// Start is a request of run/start; a run that failed has the exit code that it
// has on the command line.
func (h *Host) Start(run proto.RunStart, id int64) (Outcome, error) {
	o, err := h.Request(proto.MethodRunStart, run, id)
	return AsRun(o), err
}

// AsRun gives the answer to run/start the exit code that the same run has on
// the command line.
func AsRun(o Outcome) Outcome {
	var done proto.RunDone
	if o.Code != 0 || json.Unmarshal(o.Stdout, &done) != nil || done.Result.OK || done.Result.Error == nil {
		return o
	}
	o.Code = exitOf(done.Result.Error.Kind)
	o.Stderr = []byte(done.Result.Error.Kind + ": " + done.Result.Error.Message)
	return o
}

// Cancel takes a request back, as the plugin does on abort.
func (h *Host) Cancel(id int64, reason string) error {
	params, err := json.Marshal(proto.CancelRequest{ID: fmt.Append(nil, id), Reason: reason})
	if err != nil {
		return err
	}
	return h.rpc.Call("Double.Notify", Request{Method: proto.MethodCancelRequest, Params: params}, &Nothing{})
}

// Answer adds a policy of how the double's user answers questions.
func (h *Host) Answer(p Policy) error { return h.rpc.Call("Double.Answer", p, &Nothing{}) }

// Seen gives the questions and notices so far, as JSON.
func (h *Host) Seen() ([]byte, error) {
	var seen []byte
	err := h.rpc.Call("Double.Seen", Nothing{}, &seen)
	return seen, err
}

// Close closes the bridge as a plugin does that is unloaded.
func (h *Host) Close() error { return h.rpc.Call("Double.Close", Nothing{}, &Nothing{}) }

// PID is the process id of the double.
func (h *Host) PID() int { return h.cmd.Process.Pid }

// runAs runs a command below the double of the session's host, in the
// environment that the plugin gives to an agent's shell.
func (s *Scene) runAs(ctx context.Context, c Command) (Outcome, error) {
	a, err := s.Session(c.As)
	if err != nil {
		return Outcome{}, err
	}
	path, err := s.find(c.Argv[0])
	if err != nil {
		return Outcome{}, err
	}
	b := AgentCommand{Argv: append([]string{path}, c.Argv[1:]...), Dir: c.Dir, Bound: Hung}
	b.Env = s.Environ(append([]string{
		"OPENCODE=1", "TENON_SESSION_ID=" + c.As, "TENON_TICKET=" + a.Ticket, "TENON_SOCKET=" + a.Socket,
	}, c.Env...)...)
	if c.Input != "" {
		if b.Input, err = os.ReadFile(c.Input); err != nil {
			return Outcome{}, err
		}
	}
	var r Ran
	call := a.Host.rpc.Go("Double.Run", b, &r, nil)
	select {
	case <-call.Done:
		err = call.Error
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	}
	if err == nil && r.Problem != "" {
		err = errors.New(r.Problem)
	}
	return Outcome{Stdout: r.Stdout, Stderr: r.Stderr, Code: r.Code, Took: r.Took}, err
}

// CallID is the id of the nth tool call of a host.
func CallID(n int64) string { return "call-" + strconv.FormatInt(n, 10) }

func exitOf(kind string) int { return fault.Kind(kind).ExitCode() }
