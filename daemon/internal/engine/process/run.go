package process

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
)

// run is one program in one process. Everything but the calls' own goroutines,
// the pipes and the watch happens on the goroutine of execute.
type run struct {
	e      *Engine
	parent context.Context // of the caller
	ctx    context.Context // ends with the run
	cancel context.CancelFunc
	job    Job
	p      engine.Program
	script *script.Program
	host   engine.Host
	out    *engine.Outcome

	rt        Runtime
	proc      *proctree.Proc
	channel   *channel
	outbox    [][]byte
	unsent    int64 // bytes of the answers in it
	stdout    *capture
	stderr    *capture
	calls     guest.Calls
	names     guest.Names
	keep      guest.Keeper
	unhandled guest.Rejections

	computing bool // the clock runs: the process starts
	ready     bool // the program was read
	unread    bool // the runtime could not read it
	unfit     string
	done      bool           // the program's promise was fulfilled
	drained   bool           // its event loop is empty
	failure   *guest.Failure // it was rejected
}

func newRun(ctx context.Context, e *Engine, j Job, h engine.Host, out *engine.Outcome) *run {
	r := &run{
		e: e, parent: ctx, job: j, p: j.Program, script: j.Compiled, host: h, out: out,
		names: guest.NewNames(j.Program.Namespaces),
		keep:  guest.Keeper{Limits: j.Program.Limits, Script: j.Compiled, Host: h, Out: out},
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.calls = guest.NewCalls(r.ctx, j.Program.Limits)
	return r
}

// execute runs the program to its end and fills the outcome.
func (r *run) execute(rt Runtime, at place, mode sandbox.Mode) {
	defer r.cancel()
	r.rt = rt
	err := r.start(at, mode)
	if err == nil {
		err = r.loop()
	}
	r.cancel()
	r.park()
	ended := make(chan struct{})
	go func() { // the calls are given up while the process ends
		defer close(ended)
		r.calls.Drain()
	}()
	r.end(err)
	<-ended
	r.finish(err)
}

// firstMessage is what comes first: what the prelude in the process needs.
type firstMessage struct {
	Setup struct {
		Namespaces []string           `json:"namespaces"`
		Globals    []string           `json:"globals"`
		Args       []string           `json:"args"`
		Session    engine.SessionInfo `json:"session"`
	} `json:"setup"`
	Tools map[string][]string `json:"tools"`
	Code  string              `json:"code"`
	Input *string             `json:"input"`
	Stdin *string             `json:"stdin"`
	Big   bool                `json:"big"`
	Float int64               `json:"float"` // ms
	Cwd   string              `json:"cwd"`
}

func (r *run) setup() ([]byte, error) {
	s := firstMessage{Tools: map[string][]string{}, Code: r.script.Code, Float: r.p.Limits.Float.Milliseconds(), Cwd: r.p.Cwd, Stdin: r.p.Stdin}
	s.Setup.Args, s.Setup.Session = r.p.Args, r.p.Session
	for _, ns := range r.p.Namespaces {
		s.Setup.Namespaces = append(s.Setup.Namespaces, ns.Name)
		if ns.Global {
			s.Setup.Globals = append(s.Setup.Globals, ns.Name)
		}
		s.Tools[ns.Name], s.Tools[ns.Server] = r.names.Tools(ns.Name), r.names.Tools(ns.Name)
	}
	if len(r.p.Input) > 0 {
		depth, big := guest.Inspect(r.p.Input)
		if depth > r.p.Limits.Depth {
			return nil, fault.New(fault.UsageError, "the input is nested deeper than %d levels", r.p.Limits.Depth)
		}
		text := string(r.p.Input)
		s.Input, s.Big = &text, big
	}
	return line(s)
}

// start starts the process. It counts as computing until the program begins: that
// is when it costs most.
func (r *run) start(at place, mode sandbox.Mode) error {
	if r.p.Cwd != "" {
		if st, err := os.Stat(r.p.Cwd); err != nil || !st.IsDir() {
			return fault.New(fault.UsageError, "the directory %s is not there", r.p.Cwd).WithHint("give another with --cwd")
		}
	}
	first, err := r.setup()
	if err != nil {
		return err
	}
	profile := r.e.profile(r.rt, r.p, at, mode)
	argv, err := sandbox.Command(r.e.o.Executable, profile, command(r.rt, r.p, at, profile))
	if err != nil {
		return fault.New(fault.EngineUnavailable, "%s cannot run in %s here: %w", r.rt.Name, mode, err).
			WithHint("choose a directory that holds none of tenon's own: --cwd DIR; or --sandbox full, which confines nothing")
	}
	if c := r.p.Clock; c != nil {
		if err := c.Resume(r.ctx); err != nil {
			return err
		}
		r.computing = true
	}
	stdin := r.job.Stdin
	if stdin == nil {
		if stdin, err = os.Open(os.DevNull); err != nil {
			return err
		}
		defer stdin.Close()
	}
	if r.channel, err = newChannel(r.p.Limits.Memory); err != nil {
		return err
	}
	r.proc, err = r.e.o.Record.Start(proctree.Options{
		Command: argv, Env: environ(r.rt, r.p, at, mode), Dir: at.dir, Label: "program on " + r.rt.Name,
		Stdin: stdin, Files: r.channel.files(),
	})
	if err != nil {
		r.channel.closeTheirs()
		r.channel.close()
		r.channel = nil
		return fault.New(fault.EngineUnavailable, "%s does not start: %w", r.rt.Name, err)
	}
	r.channel.handOver()
	r.stdout = newCapture(r.proc.Stdout, r.p.Limits.Capture, r.job.Stdout)
	r.stderr = newCapture(r.proc.Stderr, r.p.Limits.Capture, r.job.Stderr)
	r.outbox, r.unsent = append(r.outbox, first), int64(len(first))
	return nil
}

func (r *run) park() {
	if r.computing {
		r.computing = false
		r.p.Clock.Park()
	}
}

var (
	errDeadlock = errors.New("deadlock")
	errEnded    = errors.New("the process ended")
	errMemory   = errors.New("memory")
	errDeep     = errors.New("an emitted value is nested too deep")
)

// lastWords is how long a process that has ended may have left something in the
// pipe: a child of it may hold the pipe open.
const lastWords = 300 * time.Millisecond

// loop carries messages both ways until nothing is left to wait for.
func (r *run) loop() error {
	watch := newWatch(r.ctx, r.proc.PID(), r.p.Limits.Memory)
	gone := r.proc.Done()
	var float, late <-chan time.Time
	for {
		switch {
		case r.failure != nil:
			return nil
		case r.drained && r.done:
			return nil
		case r.drained:
			return errDeadlock
		case r.done && float == nil:
			t := time.NewTimer(r.p.Limits.Float)
			defer t.Stop()
			float = t.C
		}
		var out chan<- []byte
		var next []byte
		if len(r.outbox) > 0 {
			out, next = r.channel.out, r.outbox[0]
		}
		select {
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		case <-float:
			return nil
		case <-watch:
			return errMemory
		case out <- next:
			r.unsent -= int64(len(next))
			r.outbox[0] = nil
			r.outbox = r.outbox[1:]
		case a := <-r.calls.Answers():
			r.calls.Answered(a.ID)
			text, err := answer(a, r.p.Limits.Depth)
			if err != nil {
				return err
			}
			// A program that asks and never reads would have us keep it all.
			if r.unsent += int64(len(text)); r.unsent > r.p.Limits.Memory+int64(len(text)) {
				return errMemory
			}
			r.outbox = append(r.outbox, text)
		case m, open := <-r.channel.in:
			if !open {
				return r.silent()
			}
			if err := r.message(m); err != nil {
				return err
			}
		case <-gone:
			gone = nil
			t := time.NewTimer(lastWords)
			defer t.Stop()
			late = t.C
		case <-late:
			return errEnded
		}
	}
}

// silent is what it means that the process says nothing any more.
func (r *run) silent() error {
	if err := r.channel.err; errors.Is(err, errMessage) {
		return errMemory
	} else if err != nil {
		return fault.New(fault.ScriptError, "the program's channel broke: %w", err)
	}
	t := time.NewTimer(lastWords)
	defer t.Stop()
	select {
	case <-r.proc.Done():
	case <-t.C:
	}
	return errEnded
}

// The operations beside those of package guest; guest.js has the same list.
const (
	opReady = iota + guest.OpOwn
	opDrained
	opRejected
	opHandled
	opUnfit
)

// open are the names of calls as the process tells them, in its own names.
func (r *run) open(text string) (names []string) {
	var list [][2]string
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	for _, x := range list {
		name := x[1]
		if x[0] != "" {
			server, tool := r.names.Wire(x[0], x[1])
			name = server + "." + tool
		}
		names = append(names, guest.Clip(name, 600))
	}
	return names
}

// message handles one message of the process. The program can write there as
// well; it only ever speaks for itself.
func (r *run) message(m message) error {
	whole := true
	switch m.op() {
	case guest.OpCall:
		ask := guest.Ask{ID: int64(m.number(0)), Space: m.text(1), Tool: m.text(2), Args: []byte(m.text(3)), Raw: m.truth(4)}
		if m.has(5) {
			ask.Timeout = func() (time.Duration, error) { return guest.Timeout(m.text(5), m.isText(5), m.number(5)) }
		}
		if !json.Valid(ask.Args) {
			return nil
		}
		whole = r.calls.Call(r.host, r.names, r.p.Limits.Depth, ask)
	case guest.OpSearch:
		whole = r.calls.Search(r.host, int64(m.number(0)), []byte(m.text(1)))
	case guest.OpDescribe:
		whole = r.calls.Describe(r.host, int64(m.number(0)), m.text(1))
	case guest.OpResource:
		whole = r.calls.Resource(r.host, int64(m.number(0)), m.text(1), []byte(m.text(2)))
	case guest.OpRun:
		var input []byte
		if m.has(2) {
			if input = []byte(m.text(2)); !json.Valid(input) {
				return nil
			}
		}
		whole = r.calls.RunScript(r.host, r.p.Limits.Depth, int64(m.number(0)), m.text(1), input)
	case guest.OpArtifact:
		whole = r.calls.Artifact(r.host, int64(m.number(0)), m.text(1), m.text(2), m.text(3), m.truth(4))
	case guest.OpLog:
		r.keep.Log(m.text(0), m.text(1), m.text(2), frames(m.text(3)))
	case guest.OpEmit:
		if text := m.text(0); json.Valid([]byte(text)) && !r.keep.Emit(text) {
			return errDeep
		}
	case guest.OpWarn:
		r.keep.Warn(m.text(0), m.text(1))
	case guest.OpDone:
		r.done = true
		r.calls.FloatWith(r.open(m.text(1)))
		if text := m.text(0); json.Valid([]byte(text)) {
			r.failure = r.keep.Value(text)
		}
	case guest.OpFail:
		r.failure = guest.ParseFailure(m.text(0))
		r.failure.Stack = frames(r.failure.Stack)
	case opReady:
		r.ready, r.unread = true, m.truth(0)
		r.park()
	case opDrained:
		r.drained = true
	case opRejected:
		r.unhandled.Note(int64(m.number(0)), m.text(1), false)
	case opHandled:
		r.unhandled.Note(int64(m.number(0)), "", true)
	case opUnfit:
		if !r.ready {
			r.unfit = guest.Clip(m.text(0), 100)
		}
	}
	if !whole {
		return errMemory
	}
	return nil
}
