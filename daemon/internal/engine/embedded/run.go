package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

// run is one program in one realm. Everything but the calls' own goroutines
// happens on one goroutine: that of execute, or that of its relay.
type run struct {
	parent  context.Context // of the caller
	ctx     context.Context // ends with the run
	cancel  context.CancelFunc
	realm   *realm
	script  *script.Program
	program engine.Program
	host    engine.Host
	out     *engine.Outcome

	calls     guest.Calls
	timers    timers
	names     guest.Names
	keep      guest.Keeper
	fetches   map[int64]context.CancelFunc // requests without an answer
	clock     stopwatch
	unhandled guest.Rejections
	relay     *relay // nil: the loop is on the goroutine of execute

	done    bool           // the program's promise was fulfilled
	failure *guest.Failure // it was rejected
	trapped error
	unread  bool // the engine could not read the compiled program
}

func newRun(ctx context.Context, r *realm, s *script.Program, p engine.Program, h engine.Host, out *engine.Outcome) *run {
	x := &run{
		parent: ctx, realm: r, script: s, program: p, host: h, out: out,
		names: guest.NewNames(p.Namespaces),
		keep:  guest.Keeper{Limits: p.Limits, Script: s, Host: h, Out: out},
	}
	x.ctx, x.cancel = context.WithCancel(ctx)
	x.clock = stopwatch{limit: p.Limits.CPU, grace: p.Limits.Grace, done: ctx.Done()}
	x.calls = guest.NewCalls(x.ctx, p.Limits)
	x.calls.HoldLone()
	r.host = x
	return x
}

// execute runs the program to its end and fills the outcome.
func (r *run) execute() {
	err := r.start()
	if err == nil {
		err = r.loop()
	}
	r.cancel()
	r.calls.Drain()
	r.finish(err)
	r.out.CPU, r.out.Memory = r.clock.used, int64(len(r.realm.mem()))
}

// inside calls f with the realm computing: the daemon's compute token is held,
// and the time counts.
func (r *run) inside(f func() error) error {
	if c := r.program.Clock; c != nil {
		if err := c.Resume(r.ctx); err != nil {
			return &refused{err}
		}
		defer c.Park()
	}
	r.clock.start()
	defer r.clock.stop()
	return r.realm.guard(f)
}

// refused is the clock's reason for ending the run.
type refused struct{ error }

func (e *refused) Unwrap() error { return e.error }

// setup is what the prelude's start gets.
type setup struct {
	Seed       [4]int32           `json:"seed"`
	Namespaces []string           `json:"namespaces"`
	Globals    []string           `json:"globals"`
	Args       []string           `json:"args"`
	Session    engine.SessionInfo `json:"session"`
	Fetch      bool               `json:"fetch"`
}

func (r *run) start() error {
	s := setup{Args: r.program.Args, Session: r.program.Session, Fetch: r.program.Fetch}
	for i := range s.Seed {
		s.Seed[i] = int32(rand.Uint32())
	}
	for _, ns := range r.program.Namespaces {
		s.Namespaces = append(s.Namespaces, ns.Name)
		if ns.Global {
			s.Globals = append(s.Globals, ns.Name)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	depth, big := guest.Inspect(r.program.Input)
	if depth > r.program.Limits.Depth {
		return fault.New(fault.UsageError, "the input is nested deeper than %d levels", r.program.Limits.Depth)
	}
	return r.inside(func() error {
		fn, mod := r.realm.snap.fn, r.realm.mod
		input := r.realm.undefined()
		if len(r.program.Input) > 0 {
			input = r.realm.newString(string(r.program.Input))
		}
		if err := r.realm.do(fn.start, r.realm.newString(string(text)), input, r.boolean(big)); err != nil {
			return err
		}
		main, err := r.realm.eval(r.script.Code, guest.File)
		if err != nil {
			r.unread = true
			return err
		}
		return r.realm.do(fn.run, mod.Xqjs_dup_value(main))
	})
}

// rejected hears of promises that nobody handles.
func (r *run) rejected(promise int32, reason string, handled bool) {
	r.unhandled.Note(int64(promise), reason, handled)
}

func (r *run) boolean(b bool) int32 {
	if b {
		return r.realm.mod.Xqjs_dup_value(r.realm.mod.Xqjs_get_true())
	}
	return r.realm.mod.Xqjs_dup_value(r.realm.mod.Xqjs_get_false())
}

var errDeadlock = errors.New("deadlock")

// loop waits for answers and timers and hands them to the realm, until nothing
// is left to wait for.
func (r *run) loop() error {
	var float <-chan time.Time
	var floatEnd time.Time
	for {
		if !r.done && r.failure == nil && r.timers.len() == 0 && r.calls.Holds() {
			if r.relay == nil {
				return r.handOver()
			}
			if err := r.callAlone(); err != nil {
				return err
			}
			continue
		}
		r.calls.Begin()
		if r.failure != nil {
			return nil
		}
		now := time.Now()
		if r.done && float == nil {
			if !r.floating(now.Add(r.program.Limits.Float)) {
				return nil
			}
			r.calls.Float()
			floatEnd = now.Add(r.program.Limits.Float)
			t := time.NewTimer(r.program.Limits.Float)
			defer t.Stop()
			float = t.C
		}
		if r.done && !r.floating(floatEnd) {
			return nil
		}
		if !r.done && r.calls.Waiting() == 0 && r.timers.len() == 0 {
			return errDeadlock
		}
		var ev guest.Answer
		answered := false
		select {
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		case <-float:
			return nil
		case ev = <-r.calls.Answers():
			answered = true
		case <-r.timers.next(now):
		}
		if err := r.inside(func() error { return r.deliver(ev, answered) }); err != nil {
			return err
		}
	}
}

// floating reports whether a finished program still waits for something that can
// come before end.
func (r *run) floating(end time.Time) bool {
	return r.calls.Waiting() > 0 || r.timers.floating(end)
}

// deliver hands one answer, the answers that came meanwhile and the timers that
// are due to the realm.
func (r *run) deliver(ev guest.Answer, answered bool) error {
	for answered && r.failure == nil {
		if err := r.settle(ev); err != nil {
			return err
		}
		select {
		case ev = <-r.calls.Answers():
		default:
			answered = false
		}
	}
	for now := time.Now(); r.failure == nil; {
		id, ok := r.timers.pop(now)
		if !ok {
			return nil
		}
		if err := r.realm.do(r.realm.snap.fn.tick, r.realm.mod.Xqjs_new_number(float64(id))); err != nil {
			return err
		}
	}
	return nil
}

// settle gives one answer to the promise that waits for it.
func (r *run) settle(ev guest.Answer) error {
	r.calls.Answered(ev.ID)
	state, text, raw, err := ev.Read(r.program.Limits.Depth)
	if err != nil {
		return err
	}
	mod := r.realm.mod
	value, whole := r.realm.undefined(), r.realm.undefined()
	if len(text) > 0 {
		mod.Xqjs_free_value(value)
		value = r.realm.newString(string(text))
	}
	if cancel := r.fetches[ev.ID]; cancel != nil {
		cancel()
		delete(r.fetches, ev.ID)
		if state != guest.StateFailed {
			mod.Xqjs_free_value(whole)
			whole = r.realm.newBytes(string(raw))
		}
	} else if len(raw) > 0 {
		mod.Xqjs_free_value(whole)
		whole = r.realm.newString(string(raw))
	}
	return r.realm.do(r.realm.snap.fn.settle, mod.Xqjs_new_number(float64(ev.ID)), mod.Xqjs_new_number(float64(state)), value, whole)
}

// poll is asked by the engine while it computes: a call that was made meanwhile
// does not wait for the end of that.
func (r *run) poll() int32 {
	r.calls.Begin()
	return r.clock.poll()
}
