package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
)

// reply is how a pending request ends.
type reply struct {
	result []byte
	err    error
}

// pending is one request whose answer is awaited. It is reused: whoever takes
// it out of conn.calls may settle it, exactly once, and its owner frees it only
// after it was settled or taken by the owner itself.
type pending struct {
	id   int64
	done chan reply    // one place
	kick chan struct{} // one place: the clocks changed
	// timer is the owner's, kept because making one costs more than setting it.
	timer *time.Timer
	tool  bool // work for somebody: a question may belong to it; set before others see p
	owner string
	log   func(Log)

	// Others reach a pending request by its id, and it may have been freed and
	// used again since: under the lock they compare the id first.
	mu        sync.Mutex
	live      int64 // the id; 0 when free
	progress  func(Progress)
	questions Questions
	moved     bool          // progress since the owner looked
	asking    int           // questions being answered
	asked     time.Time     // since when, while asking > 0
	human     time.Duration // time spent on questions
	ends      []func()      // end the questions, when the call is over
}

var pendings = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &pending{done: make(chan reply, 1), kick: make(chan struct{}, 1), timer: t}
}}

// newPending makes the entry of one request; call is nil for what is no
// tools/call.
func newPending(id int64, call *Call) *pending {
	p := pendings.Get().(*pending)
	p.id, p.tool, p.owner, p.log = id, call != nil, "", nil
	if call != nil {
		p.owner, p.log = call.Owner, call.Log
	}
	p.mu.Lock()
	p.live = id
	if call != nil {
		p.progress, p.questions = call.Progress, call.Questions
	}
	p.moved, p.asking, p.human = false, 0, 0
	p.mu.Unlock()
	return p
}

func (p *pending) free() {
	select {
	case <-p.kick:
	default:
	}
	p.mu.Lock()
	p.live, p.progress, p.questions = 0, nil, nil
	ends := p.ends
	p.ends = nil
	p.mu.Unlock()
	for _, end := range ends {
		end()
	}
	pendings.Put(p)
}

// heard notes progress and passes it on; id says which use of p is meant.
func (p *pending) heard(id int64, g Progress) {
	p.mu.Lock()
	if p.live != id {
		p.mu.Unlock()
		return
	}
	p.moved = true
	f := p.progress
	p.mu.Unlock()
	p.touch()
	if f != nil {
		f(g)
	}
}

// question stops the clocks of the call until the returned function is called;
// end is called when the call is over.
func (p *pending) question(id int64, end func()) (Questions, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live != id {
		return nil, func() {}
	}
	if p.asking == 0 {
		p.asked = time.Now()
	}
	p.asking++
	p.ends = append(p.ends, end)
	p.touch()
	return p.questions, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.live != id {
			return
		}
		if p.asking--; p.asking == 0 {
			p.human += time.Since(p.asked)
			p.moved = true
		}
		p.touch()
	}
}

func (p *pending) settle(result []byte, err error) { p.done <- reply{result, err} }

// touch tells the owner to look at the clocks again.
func (p *pending) touch() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

func (c *conn) Call(ctx context.Context, call Call) (json.RawMessage, error) {
	if len(call.Arguments) > 0 && !isObject(call.Arguments) {
		return nil, fault.New(fault.InvalidToolInput, "the arguments of %s are not a JSON object", call.Tool).At(c.spec.Name, call.Tool)
	}
	if ctx.Err() != nil {
		return nil, endOf(ctx, c.spec.Name, call.Tool)
	}
	began := time.Now()
	result, err := c.round(ctx, &call, 0, nil)
	if !c.unfinished(result, err) {
		return result, err
	}
	return c.further(ctx, call, began, result, err)
}

// round sends the call once and waits for what the server answers. Used is the
// part of the call's wall that rounds before it have taken.
func (c *conn) round(ctx context.Context, call *Call, used time.Duration, more []byte) (json.RawMessage, error) {
	p := newPending(c.next.Add(1), call)
	defer p.free()
	buf := buffers.Get().(*[]byte)
	if call.Method == "" {
		*buf = frameCall((*buf)[:0], p.id, call.Tool, call.Arguments, c.requestMeta(), more)
	} else {
		*buf = frameRequest((*buf)[:0], p.id, call.Method, call.Arguments, c.requestMeta(), more)
	}
	err := c.send(p, *buf)
	if cap(*buf) <= keepBuffer {
		buffers.Put(buf)
	}
	if err != nil {
		return nil, at(err, call.Tool)
	}
	r := c.await(ctx, p, call, used)
	if r.err != nil && call.Method != "" {
		return nil, at(c.missing(r.err, call), call.Tool)
	}
	if r.err != nil {
		return nil, at(r.err, call.Tool)
	}
	return r.result, nil
}

// missing gives what a server says of a request other than tools/call its kind:
// it has no such method, or not what the request names.
func (c *conn) missing(err error, call *Call) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	named := *fault.From(err)
	switch {
	case r.Code == codeMethodNotFound:
		named.Message = "server " + c.spec.Name + " does not offer " + call.Method
		named.Kind = fault.NotFound
	case r.Code == codeNoResource:
		named.Kind = fault.NotFound
	case named.Kind == fault.UnknownTool:
		named.Kind = fault.InvalidToolInput
	}
	return &named
}

// buffers hold requests while they are written; no wire keeps one.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const keepBuffer = 64 << 10

// at names the tool in an error of ours.
func at(err error, tool string) error {
	var e *fault.Error
	if errors.As(err, &e) && e.Tool == "" {
		named := *e
		named.Tool = tool
		return &named
	}
	return err
}

// await waits for the answer under the call's two clocks: Timeout begins anew
// with each progress notification, Wall does not. Both stand still while a
// human answers a question of the server.
func (c *conn) await(ctx context.Context, p *pending, call *Call, used time.Duration) reply {
	alive := time.Now()
	begin := alive.Add(-used)
	c.wire.linger(p)
	select { // answered in most cases, without any clock being set
	case r := <-p.done:
		return r
	default:
	}
	if call.Timeout <= 0 && call.Wall <= 0 {
		select {
		case r := <-p.done:
			return r
		case <-ctx.Done():
			return c.giveUp(p, reason(ctx), endOf(ctx, c.spec.Name, call.Tool))
		}
	}
	timer := p.timer
	timer.Reset(until(alive, alive, begin, call, 0))
	defer timer.Stop()
	for {
		select {
		case r := <-p.done:
			return r
		case <-ctx.Done():
			return c.giveUp(p, reason(ctx), endOf(ctx, c.spec.Name, call.Tool))
		case <-p.kick:
		case <-timer.C:
		}
		now := time.Now()
		p.mu.Lock()
		asking, human := p.asking > 0, p.human
		if p.moved || asking {
			alive, p.moved = now, false
		}
		p.mu.Unlock()
		if asking {
			timer.Stop() // the end of the question kicks
			continue
		}
		left := until(now, alive, begin, call, human)
		if left <= 0 {
			return c.giveUp(p, "timeout", c.timedOut(call, now.Sub(begin)-human))
		}
		timer.Reset(left)
	}
}

// until is the time to the nearer of the two limits.
func until(now, alive, begin time.Time, call *Call, human time.Duration) time.Duration {
	left := time.Duration(1<<63 - 1)
	if call.Timeout > 0 {
		left = alive.Add(call.Timeout).Sub(now)
	}
	if call.Wall > 0 {
		left = min(left, begin.Add(call.Wall+human).Sub(now))
	}
	return left
}

func (c *conn) timedOut(call *Call, took time.Duration) error {
	e := fault.New(fault.TimeoutExceeded, "%s on server %s gave no sign of life for %v (callTimeout)", call.Tool, c.spec.Name, call.Timeout).
		WithHint("raise callTimeout for this server or tool; a tool that reports progress is given more time")
	if call.Wall > 0 && took >= call.Wall {
		e = fault.New(fault.TimeoutExceeded, "%s on server %s reached its hard limit of %v (callWall)", call.Tool, c.spec.Name, call.Wall).
			WithHint("raise callWall for this server")
	}
	return e.At(c.spec.Name, call.Tool)
}

// giveUp ends the wait, tells the server, and still takes an answer that came
// in the same moment.
func (c *conn) giveUp(p *pending, why string, err error) reply {
	if r, answered := c.abandon(p, why); answered {
		return r
	}
	return reply{err: err}
}

// refused turns a JSON-RPC error into an error with a kind.
func (c *conn) refused(raw []byte) error {
	var r refusal
	if err := json.Unmarshal(raw, &r); err != nil {
		r = refusal{Message: "unreadable error answer"}
	}
	kind := fault.ToolFailure
	switch {
	case r.Code == codeMethodNotFound,
		r.Code == codeInvalidParams && strings.Contains(strings.ToLower(r.Message), "unknown tool"):
		kind = fault.UnknownTool
	case r.Code == codeInvalidParams:
		kind = fault.InvalidToolInput
	}
	e := fault.New(kind, "server %s refused: %s", c.spec.Name, c.mask.Replace(r.Error())).Because(&r)
	return e.At(c.spec.Name, "")
}

// JSON-RPC error codes that mean something to us.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeNoResource     = -32002
)
