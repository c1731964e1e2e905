package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/shelf"
	"tenon/proto"
)

// part is a program within a run: a saved script that a program runs. Its calls,
// logs and emits are the run's, and so are its limits and its deadline.
type part struct {
	name    string
	engine  string
	chain   []string      // of the scripts that ran it, outermost first, and its own
	timeout time.Duration // of its own; 0: only the run's
	program engine.Program
}

// nest is the books of a run's parts.
type nest struct {
	runs    []proto.ScriptRun // in the order of their beginnings
	more    int               // that runs does not hold
	said    []voice           // outcomes of parts that have ended
	emitted []*host           // who emitted, in order, once there are parts
	kept    int64             // bytes of what they said
	dropped engine.Dropped
}

// voice is a part with what it said.
type voice struct {
	h *host
	o *engine.Outcome
}

// Bounds of what a result tells of parts.
const (
	maxParts   = 1000
	maxEmitted = 100_000
	maxSaid    = 16 << 20 // bytes; engine.Limits.Capture has the same for each program
)

// RunScript serves run(name, input).
func (h *host) RunScript(ctx context.Context, name string, input []byte) ([]byte, error) {
	r := h.r
	name = clip(name, maxName)
	chain := append(slices.Clone(h.chain), name)
	if len(chain) > maxNested {
		return nil, tooDeep(chain)
	}
	if h.closed {
		return nil, fault.New(fault.PermissionDenied, "a project's hook runs no saved scripts: nobody agreed to their content").
			WithHint("import what it needs: what a hook's script imports is trusted with it")
	}
	if r.m.o.Shelf == nil {
		return nil, fault.New(fault.NotFound, "there is no saved script %q", name)
	}
	c, err := r.m.o.Shelf.Load(h.scripts, name)
	if err != nil {
		return nil, err
	}
	chain[len(chain)-1] = c.Name
	given, err := c.Input(nil, input)
	if err != nil {
		own := *fault.From(err)
		own.Kind, own.Message = fault.InvalidToolInput, "script "+c.Name+": "+own.Message
		return nil, &own
	}
	o, err := r.part(ctx, h, partOf(c, chain, given, r.engine))
	if err != nil {
		return nil, err
	}
	if o.Err != nil {
		return nil, inScript(c.Name, o.Err)
	}
	return o.Value, nil
}

// partOf is a saved script as a part: on the engine that its header names, else
// on that of its run.
func partOf(c *shelf.Code, chain []string, input json.RawMessage, engineName string) part {
	if c.Engine != "" {
		engineName = c.Engine
	}
	return part{name: c.Name, engine: engineName, chain: chain, timeout: c.Timeout, program: engine.Program{
		Source: c.Text, Name: filepath.Base(c.File), Modules: c.Modules, Input: input, Sandbox: c.Sandbox,
	}}
}

// inScript is a part's failure as its caller sees it: the same kind, and where.
func inScript(name string, e *fault.Error) *fault.Error {
	own := *e
	if strings.HasPrefix(e.Message, deepWords) { // it names the chain by itself
		own.Position = nil
		return &own
	}
	where := ""
	if p := e.Position; p != nil {
		where = fmt.Sprintf(":%d:%d", p.Line, p.Column)
		if p.File != "" {
			where = " (" + p.File + where + ")"
		}
	}
	own.Message, own.Position = "script "+name+where+": "+e.Message, nil
	return &own
}

// part runs a part to its end, within the run's limits. The error means that it
// did not begin.
func (r *Run) part(ctx context.Context, by *host, p part) (*engine.Outcome, error) {
	e := r.m.o.Engines[p.engine]
	if e == nil {
		return nil, r.m.noEngine(p.engine)
	}
	release, over := r.wait(ctx, r.levels[len(p.chain)-1])
	if over != nil {
		return nil, over
	}
	defer release()
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.timeout, fault.New(fault.TimeoutExceeded, "%s exceeded its time of %s", p.name, p.timeout))
		defer cancel()
	}
	program := p.program
	program.Limits = r.limits.engine
	if program.Limits.CPU > 0 {
		if program.Limits.CPU -= r.clocks.computing(); program.Limits.CPU <= 0 {
			return nil, fault.New(fault.CPULimitExceeded, "the run computed for more than %v", r.limits.engine.CPU).
				WithHint("do less in the program, or raise the limit script.cpu")
		}
	}
	program.Namespaces = r.namespaces(by.request, program.Source)
	program.Fetch = r.fetches(p.engine)
	program.Session = engine.SessionInfo{ID: r.spec.Session.ID, Cwd: r.cwd(), RunID: r.ID}
	asked := narrower(program.Sandbox, r.spec.View, by.sandbox)
	if asked == "" {
		asked = by.sandbox
	}
	if failure := r.placeOn(&program, p.engine, asked); failure != nil {
		return nil, failure
	}
	clock := r.clocks.part()
	program.Clock = clock
	h := &host{r: r, request: by.request, chain: p.chain, mark: p.name, scripts: by.scripts, closed: by.closed, sandbox: asked}
	began := time.Now()
	at := r.partBegins(p)
	o := e.Run(ctx, program, h)
	clock.end(o.CPU)
	hintName(o.Err, program.Namespaces)
	r.partEnds(at, h, o, time.Since(began))
	return o, nil
}

// partBegins enters a part into the books.
func (r *Run) partBegins(p part) int {
	s := proto.ScriptRun{Name: p.name, Path: strings.Join(p.chain[:len(p.chain)-1], " > "), Engine: p.engine, Status: "running"}
	r.mu.Lock()
	at := len(r.nest.runs)
	if at < maxParts {
		r.nest.runs = append(r.nest.runs, s)
	} else {
		r.nest.more++
		at = -1
	}
	r.mu.Unlock()
	r.event("script", s, 128)
	return at
}

// partEnds settles it. What it said beyond maxSaid in all is not kept.
func (r *Run) partEnds(at int, h *host, o *engine.Outcome, took time.Duration) {
	status, kind := "ok", ""
	if o.Err != nil {
		status, kind = "failed", string(o.Err.Kind)
		if o.Err.Kind == fault.Cancelled {
			status = "cancelled"
		}
	}
	size := int64(len(o.Stdout) + len(o.Stderr))
	for _, l := range o.Logs {
		size += int64(len(l.Message)+len(l.Attrs)) + 64
	}
	for _, e := range o.Emits {
		size += int64(len(e))
	}
	r.mu.Lock()
	s := proto.ScriptRun{Name: h.mark, Path: strings.Join(h.chain[:len(h.chain)-1], " > "), Status: status, Kind: kind, MS: ms(took)}
	if at >= 0 {
		s.Engine = r.nest.runs[at].Engine
		r.nest.runs[at] = s
	}
	d := &r.nest.dropped
	d.LogRecords += o.Dropped.LogRecords
	d.LogBytes += o.Dropped.LogBytes
	d.EmitBytes += o.Dropped.EmitBytes
	d.OutputBytes += o.Dropped.OutputBytes
	switch {
	case size == 0:
	case r.nest.kept+size > maxSaid:
		d.LogRecords += len(o.Logs)
		d.OutputBytes += size
	default:
		r.nest.kept += size
		r.nest.said = append(r.nest.said, voice{h, o})
	}
	r.mu.Unlock()
	for _, w := range o.Warnings {
		r.warn(proto.Warning{Kind: w.Kind, Message: "script " + h.mark + ": " + w.Message})
	}
	r.event("script", s, 128)
}

// join adds what the parts said to the result, in the order in which all of it
// was said. Called with r.mu held.
func (r *Run) join(res *proto.RunResult, o *engine.Outcome) {
	res.Scripts = slices.Clone(r.nest.runs)
	for i := range res.Scripts {
		if res.Scripts[i].Status == "running" { // it did not end when the run did
			res.Scripts[i].Status = "cancelled"
		}
	}
	if n := r.nest.more; n > 0 {
		res.Warnings = append(res.Warnings, proto.Warning{Kind: "ScriptsNotListed", Message: fmt.Sprintf("%d more scripts ran than are listed", n)})
	}
	if len(r.nest.said) == 0 {
		return
	}
	type spoken struct {
		engine.LogRecord
		mark string
	}
	var logs []spoken
	for _, l := range o.Logs {
		logs = append(logs, spoken{l, ""})
	}
	emits := map[*host][]json.RawMessage{}
	for _, v := range r.nest.said {
		for _, l := range v.o.Logs {
			logs = append(logs, spoken{l, v.h.mark})
		}
		emits[v.h] = v.o.Emits
		res.Stdout += v.o.Stdout
		res.Stderr += v.o.Stderr
	}
	slices.SortStableFunc(logs, func(a, b spoken) int { return cmp.Compare(a.Time.UnixNano(), b.Time.UnixNano()) })
	res.Logs = make([]proto.Log, len(logs))
	for i, l := range logs {
		res.Logs[i] = l.Wire()
		res.Logs[i].Script = l.mark
	}
	emits[nil] = o.Emits
	res.Emits = []json.RawMessage{}
	take := func(h *host) {
		if left := emits[h]; len(left) > 0 {
			res.Emits, emits[h] = append(res.Emits, left[0]), left[1:]
		}
	}
	for _, h := range r.nest.emitted {
		take(h)
	}
	rest := func(h *host) { res.Emits = append(res.Emits, emits[h]...) } // beyond maxEmitted
	rest(nil)
	for _, v := range r.nest.said {
		rest(v.h)
	}
}

// dropped is what was left out of the run's own output and of its parts'.
func (r *Run) dropped(d engine.Dropped) engine.Dropped {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.nest.dropped
	d.LogRecords += n.LogRecords
	d.LogBytes += n.LogBytes
	d.EmitBytes += n.EmitBytes
	d.OutputBytes += n.OutputBytes
	return d
}
