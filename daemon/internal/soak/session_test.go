package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// slot is the place of one host, which may be killed and started again.
type slot struct {
	name   string
	deaths disturbance
	mu     sync.Mutex
	host   *rig.Host // guarded by mu
}

func (h *slot) start(w *world) error {
	made, err := w.s.StartHost(h.name, w.s.Work, rig.HostOptions{})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.host = made
	return nil
}

func (h *slot) current() *rig.Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.host
}

// hangs is when a deed is said to hang. The longest bound of the product within
// one is a start of the daemon, then the wait for an instance and for its start.
const hangs = 3 * time.Minute

// guest is one session of a host, and what it must find in its own instance.
type guest struct {
	w     *world
	slot  *slot
	host  *rig.Host
	id    string
	at    place
	state string // last set in its instance of own
	calm  int64  // mark of the daemon's kills when it was
	lost  bool   // the daemon does not know the session any more
}

// session attaches, does some deeds, and leaves.
func (w *world) session(ctx context.Context, h *slot) error {
	w.pause(ctx)
	g := &guest{w: w, slot: h, host: h.current(), id: fmt.Sprintf("s-%d", w.ids.Add(1)), at: w.place()}
	if ok, err := g.attach(g.id, ""); err != nil || !ok {
		return err
	}
	for range 3 + rand.IntN(12) {
		w.pause(ctx)
		if ctx.Err() != nil || g.lost {
			break
		}
		d := pick()
		if err := d.do(g); err != nil {
			return fmt.Errorf("session %s in %s: %s: %w", g.id, g.at.dir, d.name, err)
		}
	}
	return g.leave(g.id, rand.IntN(2) == 0)
}

func (g *guest) attach(id, parent string) (bool, error) {
	a := proto.Attach{Session: id, Parent: parent, Directory: g.at.dir, Agent: "build", Rules: rig.AllowAll("build")}
	_, ok, err := g.try("attach", nil, func() (rig.Outcome, error) { return g.w.s.Attach(g.host, a) })
	return ok, err
}

// leave detaches, again where a killed daemon did not hear it.
func (g *guest) leave(id string, deleted bool) error {
	defer g.w.s.Forget(id)
	for !g.lost {
		_, ok, err := g.try("detach", nil, g.request(proto.MethodDetach, proto.Detach{Session: id, Deleted: deleted}))
		if err != nil || ok {
			return err
		}
	}
	return nil
}

func (g *guest) request(method string, params any) func() (rig.Outcome, error) {
	return func() (rig.Outcome, error) { return g.host.Request(method, params, 0) }
}

// try does something that must succeed, or fail as one of the kinds allowed,
// unless the daemon or the host was killed meanwhile.
func (g *guest) try(what string, allowed []fault.Kind, f func() (rig.Outcome, error)) (rig.Outcome, bool, error) {
	deaths := g.slot.deaths.mark()
	if g.slot.current() != g.host { // its place is taken by another already
		g.lost = true
		return rig.Outcome{}, false, nil
	}
	o, ok, err := g.w.try(what, allowed, f)
	if err != nil && g.died(deaths) {
		g.lost = true
		g.w.book.count(what + ", its host was killed")
		return o, false, nil
	}
	return o, ok, err
}

// died tells whether the host was killed since the mark.
func (g *guest) died(mark int64) bool {
	return g.slot.deaths.excuses(mark) || g.slot.current() != g.host
}

// try is the same for what needs no host.
func (w *world) try(what string, allowed []fault.Kind, f func() (rig.Outcome, error)) (rig.Outcome, bool, error) {
	kills, start := w.kills.mark(), time.Now()
	o, err := f()
	took := time.Since(start)
	if took > hangs {
		w.wrong("%s took %s", what, took.Round(time.Second))
	}
	if err != nil {
		return o, false, fmt.Errorf("%s: %w", what, err)
	}
	if o.Code == 0 {
		w.book.timed(what, took)
		return o, true, nil
	}
	for _, kind := range allowed {
		if o.Code == kind.ExitCode() {
			w.book.count(what + ", " + string(kind))
			return o, false, nil
		}
	}
	if w.kills.excuses(kills) {
		w.book.count(what + ", the daemon was killed")
		return o, false, nil
	}
	return o, false, fmt.Errorf("%s: exit code %d: %s%s", what, o.Code, o.Stderr, rig.Tail(o.Stdout, 800))
}

// modelLimits are those the plugin for opencode v1 asks for.
var modelLimits = proto.TextLimits{Bytes: 48 << 10, Lines: 1900}

func (g *guest) program(id, code string) proto.RunStart {
	return proto.RunStart{
		Origin:    proto.Origin{Session: id, Call: rig.CallID(g.w.ids.Add(1)), Agent: "build"},
		Directory: g.at.dir, Code: code, Text: modelLimits,
		TimeoutMS: (hangs - 10*time.Second).Milliseconds(), // on a busy machine a run may last
	}
}

// run runs a program. ok is false for a failure that is allowed or excused.
func (g *guest) run(what, code string, allowed ...fault.Kind) (r proto.RunResult, ok bool, err error) {
	return g.runFor(what, g.program(g.id, code), allowed...)
}

func (g *guest) runFor(what string, start proto.RunStart, allowed ...fault.Kind) (r proto.RunResult, ok bool, err error) {
	o, ok, err := g.try(what, allowed, func() (rig.Outcome, error) { return g.host.Start(start, 0) })
	var done proto.RunDone
	if json.Unmarshal(o.Stdout, &done) == nil && done.Result.ID != "" {
		g.w.book.given(done.Result)
	} else if ok && err == nil {
		err = fmt.Errorf("%s was answered without a result: %s", what, rig.Tail(o.Stdout, 300))
	}
	return done.Result, ok, err
}

// wants compares a program's value.
func wants(r proto.RunResult, want any) error {
	text, err := json.Marshal(want)
	if err == nil && string(text) != string(r.Value) {
		err = fmt.Errorf("run %s: got %s, want %s: values were mixed or lost", r.ID, rig.Tail(r.Value, 600), text)
	}
	return err
}

func warned(r proto.RunResult, kind string) bool {
	return slices.ContainsFunc(r.Warnings, func(w proto.Warning) bool { return w.Kind == kind })
}
