package guest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// Calls are a run's host calls: those in flight, and those that wait for one of
// the places, first come first served. All methods belong to one goroutine, that
// of the engine's loop.
type Calls struct {
	ctx    context.Context // ends with the run
	events chan Answer
	memory int64

	open     map[int64]openCall // every call without an answer
	tools    lane
	searches lane
	scripts  lane
	queued   int64 // bytes of both queues
	floating bool  // the program has ended
	late     []string
	wg       sync.WaitGroup  // calls being made
	idle     chan queuedCall // to a goroutine that has made a call before
	holds    bool            // see HoldLone
	held     queuedCall      // has a place and is not begun; without do there is none
}

// Answer is a call's.
type Answer struct {
	ID    int64
	Value engine.CallValue
	Err   error
}

// NewCalls returns the books of one run; the calls' context is ctx.
func NewCalls(ctx context.Context, l engine.Limits) Calls {
	return Calls{ctx: ctx, events: make(chan Answer), memory: l.Memory, tools: lane{places: l.Concurrency}, searches: lane{places: searchPlaces}, scripts: lane{places: scriptPlaces}}
}

// lane is a number of places, and the calls that wait for one.
type lane struct {
	places   int
	inFlight int // calls that hold a place
	queue    []queuedCall
}

// searchPlaces are those of searches and descriptions, which cost a program
// nothing: they have their own, so that calls that hang hold up none of them.
const searchPlaces = 64

// scriptPlaces are those of saved scripts that a program runs: each is a program
// with a memory of its own.
const scriptPlaces = 4

// maxName bounds a name of a server or tool, in bytes: no longer one is known,
// and calls keep theirs.
const maxName = 300

// maxLate bounds the names of calls that a program did not await.
const maxLate = 10_000

// Answers are what Calls gives back; each must go to [Calls.Answered].
func (c *Calls) Answers() <-chan Answer { return c.events }

type openCall struct {
	name string
	lane *lane
}

// CallFunc makes one call.
type CallFunc func(ctx context.Context) (engine.CallValue, error)

type queuedCall struct {
	id   int64
	do   CallFunc
	size int64
}

// Waiting is how many calls have no answer.
func (c *Calls) Waiting() int { return len(c.open) }

// names are those of the open calls, oldest first.
func (c *Calls) names() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		if name := c.open[id].name; name != "" {
			out = append(out, name)
		}
	}
	return out
}

// Drop says that the program wants no answer to a call any more: no warning names
// it.
func (c *Calls) Drop(id int64) {
	if call, open := c.open[id]; open {
		call.name = ""
		c.open[id] = call
	}
}

// Float says that the program has ended: what is open now or comes later is not
// awaited by it.
func (c *Calls) Float() { c.FloatWith(c.names()) }

// FloatWith is Float where the program itself has told which calls it did not
// await: some may have been answered meanwhile.
func (c *Calls) FloatWith(names []string) {
	c.floating = true
	names = slices.DeleteFunc(names, func(name string) bool { return name == keeps })
	c.late = names[:min(len(names), maxLate)]
}

// queueOverhead is what a queued call takes beside its arguments.
const queueOverhead = 256

// Add makes a call of size bytes, or lets it wait for a place: for one that
// counts against the concurrency when tool is set, else for one of a search. The
// ids of open calls are the program's to keep apart: a second of the same id is
// not made. False: what waits has outgrown the run's memory.
func (c *Calls) Add(id int64, name string, tool bool, size int, do CallFunc) bool {
	l := &c.searches
	if tool {
		l = &c.tools
	}
	return c.add(id, name, l, size, do)
}

func (c *Calls) add(id int64, name string, l *lane, size int, do CallFunc) bool {
	c.Begin()
	if c.open == nil {
		c.open = map[int64]openCall{}
	}
	if _, twice := c.open[id]; twice {
		return true
	}
	c.open[id] = openCall{name, l}
	if c.floating && len(c.late) < maxLate && name != keeps {
		c.late = append(c.late, name)
	}
	if l.inFlight >= l.places {
		// The queue is outside the program's memory, so it is bounded like it.
		q := queuedCall{id, do, int64(size) + queueOverhead}
		if c.queued += q.size; c.queued > c.memory {
			return false
		}
		l.queue = append(l.queue, q)
		return true
	}
	l.inFlight++
	if c.holds && l == &c.tools && len(c.open) == 1 {
		c.held = queuedCall{id: id, do: do}
		return true
	}
	c.fly(id, do)
	return true
}

// HoldLone keeps a tool's call that is the only one without an answer from
// beginning: the engine's loop makes it itself where the program waits for
// nothing else, see Lone, and lets it go with Begin as soon as the program goes on
// without it.
func (c *Calls) HoldLone() { c.holds = true }

// Begin begins the call that is held, if there is one.
func (c *Calls) Begin() {
	if held := c.held; held.do != nil {
		c.held = queuedCall{}
		c.fly(held.id, held.do)
	}
}

// Holds reports whether a call is held.
func (c *Calls) Holds() bool { return c.held.do != nil }

// Lone takes the call that is held. Who takes it makes it, with the context of the
// run, and gives its id to Answered.
func (c *Calls) Lone() (id int64, do CallFunc) {
	held := c.held
	c.held = queuedCall{}
	return held.id, held.do
}

// fly makes one call in a goroutine that makes no other meanwhile: one that is
// idle, since its stack has grown to what a call needs, else a new one. The
// answer goes nowhere once the run has ended.
func (c *Calls) fly(id int64, do CallFunc) {
	if c.idle == nil {
		c.idle = make(chan queuedCall)
	}
	c.wg.Add(1) // Done at the end of the call
	next := queuedCall{id: id, do: do}
	select {
	case c.idle <- next:
	default:
		go c.makeCalls(next)
	}
}

// makeCalls makes one call after the other, until the run ends.
func (c *Calls) makeCalls(next queuedCall) {
	for {
		c.makeCall(next)
		select {
		case next = <-c.idle:
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *Calls) makeCall(next queuedCall) {
	defer c.wg.Done()
	v, err := next.do(c.ctx)
	select {
	case c.events <- Answer{next.id, v, err}:
	case <-c.ctx.Done():
	}
}

// Answered takes a call off the books and gives its place to the next.
func (c *Calls) Answered(id int64) {
	l := c.open[id].lane
	delete(c.open, id)
	if len(l.queue) == 0 {
		l.inFlight--
		return
	}
	next := l.queue[0]
	l.queue[0] = queuedCall{}
	l.queue = l.queue[1:]
	c.queued -= next.size
	c.fly(next.id, next.do)
}

// SettleTime is how long cancelled calls are given to return before the outcome
// is.
const SettleTime = 250 * time.Millisecond

// Drain waits a moment for calls that were cancelled with the run, so that what
// they cost is known when it ends. One that does not listen is left alone: its
// answer goes nowhere.
func (c *Calls) Drain() {
	if len(c.open) == 0 {
		return
	}
	gone := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(gone)
	}()
	t := time.NewTimer(SettleTime)
	defer t.Stop()
	select {
	case <-gone:
	case <-t.C:
	}
}

// Ask is one call as a program makes it.
type Ask struct {
	ID          int64
	Space, Tool string
	Args        []byte // valid JSON
	Raw         bool
	Timeout     func() (time.Duration, error) // nil: not given
}

// Call makes a call by its names; what is wrong with it is its answer.
func (c *Calls) Call(h engine.Host, names Names, depth int, a Ask) bool {
	server, tool := names.Wire(Clip(a.Space, maxName), Clip(a.Tool, maxName))
	o := engine.CallOptions{Raw: a.Raw}
	var err error
	if a.Timeout != nil {
		o.Timeout, err = a.Timeout()
	}
	if d, _ := Inspect(a.Args); err == nil && d > depth {
		err = fault.New(fault.InvalidToolInput, "the arguments are nested deeper than %d levels", depth)
	}
	if err != nil {
		err = fault.From(err).At(server, tool)
		return c.Add(a.ID, server+"."+tool, false, 0, func(context.Context) (engine.CallValue, error) { return engine.CallValue{}, err })
	}
	args := a.Args // nothing else of a is kept: its names can be of any length
	return c.Add(a.ID, server+"."+tool, true, len(args), func(ctx context.Context) (engine.CallValue, error) {
		return h.Call(ctx, server, tool, args, o)
	})
}

// Search and Describe are the globals of these names; they take no place of a
// tool's call.
func (c *Calls) Search(h engine.Host, id int64, query []byte) bool {
	return c.Add(id, "search", false, len(query), func(ctx context.Context) (engine.CallValue, error) {
		v, err := h.Search(ctx, query)
		return engine.CallValue{Value: v}, err
	})
}

// Describe is the global of this name.
func (c *Calls) Describe(h engine.Host, id int64, path string) bool {
	path = Clip(path, 2*maxName)
	return c.Add(id, "describe", false, len(path), func(ctx context.Context) (engine.CallValue, error) {
		v, err := h.Describe(ctx, path)
		return engine.CallValue{Value: v}, err
	})
}

// Resource is a method of the globals resources and prompts. It has a place of a
// tool's call: it goes to a server like one.
func (c *Calls) Resource(h engine.Host, id int64, method string, params []byte) bool {
	method = Clip(method, maxName)
	return c.Add(id, method, true, len(params), func(ctx context.Context) (engine.CallValue, error) {
		v, err := h.Resource(ctx, method, params)
		return engine.CallValue{Value: v}, err
	})
}

// RunScript is the global run. A script has a place of its own kind: it makes
// calls, for which its own places must be free.
func (c *Calls) RunScript(h engine.Host, depth int, id int64, name string, input []byte) bool {
	name = Clip(name, maxName)
	return c.add(id, "run("+name+")", &c.scripts, len(input), func(ctx context.Context) (engine.CallValue, error) {
		if d, _ := Inspect(input); d > depth {
			return engine.CallValue{}, fault.New(fault.InvalidToolInput, "the input of the script %s is nested deeper than %d levels", name, depth)
		}
		v, err := h.RunScript(ctx, name, input)
		return engine.CallValue{Value: v}, err
	})
}

// keeps is the name of a call of the global artifact. Keeping something is no
// less done because nobody waits for it.
const keeps = "artifact"

// Artifact is the global of this name. Bytes come as base64, text as it is.
func (c *Calls) Artifact(h engine.Host, id int64, name, mimeType, data string, encoded bool) bool {
	a := engine.Artifact{Name: Clip(name, maxName), MimeType: Clip(mimeType, maxName), Data: []byte(data)}
	var err error
	if encoded {
		if a.Data, err = base64.StdEncoding.DecodeString(data); err != nil { // not of the prelude's making
			err = fault.New(fault.InvalidToolInput, "the data of the artifact %s cannot be read: %w", a.Name, err)
		}
	}
	if len(a.Data) > engine.MaxArtifact {
		err = fault.New(fault.InvalidToolInput, "the artifact %s has %d bytes, and one may have %d", a.Name, len(a.Data), engine.MaxArtifact).
			WithHint("keep it in parts, or return less")
	}
	if err != nil {
		a.Data = nil
	}
	return c.Add(id, keeps, false, len(a.Data), func(ctx context.Context) (engine.CallValue, error) {
		if err != nil {
			return engine.CallValue{}, err
		}
		v, err := h.Artifact(ctx, a)
		return engine.CallValue{Value: v}, err
	})
}

// Read is an answer as the prelude's settle takes it: a state, JSON, and the
// whole result or nothing.
func (a Answer) Read(depth int) (state int, text, raw []byte, err error) {
	state, text, raw = StatePlain, a.Value.Value, a.Value.Raw
	if a.Err == nil {
		d, big := Inspect(text)
		if big {
			state = StateBig
		}
		if d > depth {
			a.Err = fault.New(fault.InvalidToolOutput, "the result is nested deeper than %d levels", depth)
		}
	}
	if a.Err != nil {
		state, raw = StateFailed, nil
		text, err = json.Marshal(fault.From(a.Err).Wire())
	}
	return state, text, raw, err
}
