package cases

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
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// host is the runner's hold on one double's process.
type host struct {
	cmd  *exec.Cmd
	rpc  *rpc.Client
	said *os.File     // the double's stderr
	ids  atomic.Int64 // of requests
}

// mainHost is the host that sessions belong to unless they say otherwise.
const mainHost = "host"

func (s *scene) startHost(name, dir string, opts map[string]string) (*host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	said, err := os.Create(filepath.Join(s.work, "host-"+name+".stderr"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Dir, cmd.Stderr = s.environ(roleEnv+"=host"), dir, said
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
	h := &host{cmd: cmd, said: said, rpc: rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in})}
	s.mu.Lock()
	s.hosts[name] = h
	env := map[string]string{}
	for _, n := range []string{"PATH", "HOME", "LANG", "TERM", "TMPDIR", "WORK"} {
		env[n] = s.env[n]
	}
	hello := Hello{
		Socket: s.env["SOCKET"], Dir: dir, Config: opts["config"],
		Interactive: opts["interactive"] != "false", Env: env,
	}
	s.mu.Unlock()
	for _, kv := range strings.Fields(opts["env"]) {
		n, v, _ := strings.Cut(kv, "=")
		env[n] = v
	}
	return h, h.rpc.Call("Double.Configure", hello, &Nothing{})
}

// kill ends the double as a crash would, and reaps it.
func (h *host) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.rpc.Close()
	_ = h.cmd.Wait()
	_ = h.said.Close()
}

func (s *scene) host(name string) (*host, error) {
	s.mu.Lock()
	h := s.hosts[name]
	s.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("no host %q", name)
	}
	return h, nil
}

// hostVerb starts the double of an opencode with tenon's plugin.
func hostVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) < 1 {
		return outcome{}, usage("host NAME [interactive=false] [config=FILE] [env='K=V …']")
	}
	_, err := s.startHost(p.words[0], p.dir, options(p.words[1:]))
	return outcome{}, err
}

// sessionVerb attaches a session and keeps its ticket, also as TICKET_ID.
func sessionVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) < 1 {
		return outcome{}, usage("session ID [parent=ID] [dir=DIR] [agent=NAME] [rules=FILE] [host=NAME]")
	}
	id, opts := p.words[0], options(p.words[1:])
	name := opts["host"]
	if name == "" {
		name = mainHost
	}
	h, err := s.host(name)
	if err != nil {
		if h, err = s.startHost(name, p.dir, nil); err != nil {
			return outcome{}, err
		}
	}
	a := proto.Attach{Session: id, Parent: opts["parent"], Directory: p.dir, Agent: opts["agent"], Title: "case " + id}
	if opts["dir"] != "" {
		a.Directory = filepath.Join(p.dir, opts["dir"])
		if filepath.IsAbs(opts["dir"]) {
			a.Directory = opts["dir"]
		}
	}
	if a.Agent == "" {
		a.Agent = "build"
	}
	if a.Rules, err = rules(p.dir, opts["rules"], a.Agent); err != nil {
		return outcome{}, err
	}
	o, err := h.request(proto.MethodAttach, a, 0)
	if err != nil || o.code != 0 {
		return o, err
	}
	var attachment proto.AttachResult
	if err := json.Unmarshal(o.stdout, &attachment); err != nil {
		return o, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[id] = &attached{host: h, dir: a.Directory, ticket: attachment.Ticket, socket: attachment.Socket}
	s.env["TICKET_"+id] = attachment.Ticket
	return o, nil
}

// allowAll is what an agent without rules of its own may do.
var allowAll = []proto.Rule{{Permission: "*", Pattern: "*", Action: "allow"}}

// rules reads a file of opencode's rules: a list of {permission, pattern,
// action}. Without a file everything is allowed.
func rules(dir, file, agent string) (*proto.RuleList, error) {
	list := &proto.RuleList{Version: "all", Agent: agent, Confirmed: true, Rules: allowAll}
	if file == "" {
		return list, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list.Version, list.Rules = file, nil
	return list, json.Unmarshal(raw, &list.Rules)
}

// request sends one request; id 0 takes the next free one. A failure's exit
// code is that of its kind, and the failure is the stdout.
func (h *host) request(method string, params any, id int64) (outcome, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return outcome{}, err
	}
	if id == 0 {
		id = h.ids.Add(1)
	}
	var reply Reply
	if err := h.rpc.Call("Double.Do", Request{ID: id, Method: method, Params: raw}, &reply); err != nil {
		var remote rpc.ServerError
		if errors.As(err, &remote) {
			return no("%v", err), nil
		}
		return outcome{}, err
	}
	o := outcome{stdout: reply.Result, took: reply.Took}
	if reply.Failure == nil {
		return o, nil
	}
	var failure proto.RPCError
	if err := json.Unmarshal(reply.Failure, &failure); err != nil {
		return o, err
	}
	o.code, o.stderr, o.stdout = 1, []byte(failure.Message), reply.Failure
	if failure.Data != nil {
		o.code = exitOf(failure.Data.Kind)
		o.stdout, err = json.Marshal(map[string]any{"error": failure.Data})
	}
	return o, err
}

func (s *scene) session(id string) (*attached, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.sessions[id]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("no session %q", id)
}

// runAs runs a command below the session's host with what its shell hook puts
// into the environment of the agent's shell.
func (s *scene) runAs(ctx context.Context, p *plan, argv []string) (outcome, error) {
	a, err := s.session(p.as)
	if err != nil {
		return outcome{}, err
	}
	path, err := s.find(argv[0])
	if err != nil {
		return outcome{}, err
	}
	c := Command{Argv: append([]string{path}, argv[1:]...), Dir: p.dir, Bound: hung}
	c.Env = s.environ(append([]string{
		"OPENCODE=1", "TENON_SESSION_ID=" + p.as, "TENON_TICKET=" + a.ticket, "TENON_SOCKET=" + a.socket,
	}, p.env...)...)
	if p.input != "" {
		if c.Input, err = os.ReadFile(p.input); err != nil {
			return outcome{}, err
		}
	}
	var r Ran
	call := a.host.rpc.Go("Double.Run", c, &r, nil)
	select {
	case <-call.Done:
		err = call.Error
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	}
	if err == nil && r.Problem != "" {
		err = errors.New(r.Problem)
	}
	return outcome{stdout: r.Stdout, stderr: r.Stderr, code: r.Code, took: r.Took}, err
}

// millis reads "2s" as the number of milliseconds that messages carry.
func millis(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	return d.Milliseconds(), err
}

func callID(n int64) string { return "call-" + strconv.FormatInt(n, 10) }

func exitOf(kind string) int { return fault.Kind(kind).ExitCode() }
