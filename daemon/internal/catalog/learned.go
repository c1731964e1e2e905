package catalog

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"tenon/daemon/internal/typegen"
)

// Provenance says where the type of a tool's results comes from.
type Provenance string

// The three provenances.
const (
	Declared Provenance = "declared" // the server's output schema
	Learned  Provenance = "learned"  // the shapes of results that were seen
	Unknown  Provenance = "unknown"
)

// Which results of a tool are looked at: each of the first ones, then one in
// many. A shape that holds for so many seldom changes, and looking costs.
const (
	lookFirst = 16
	lookEvery = 64
)

// learned is what the results of one tool of one definition were like. It is
// shared by all lists that have the tool with that definition.
type learned struct {
	name, fingerprint string
	of                *kept

	calls atomic.Uint64 // results given since the daemon began, looked at or not
	seen  atomic.Uint64 // results that the shape was made of, in any daemon's life

	mu     sync.Mutex
	shape  *shape             // nil: none yet
	schema []byte             // of shape, when asked for
	short  *typegen.Signature // of schema, when asked for
}

// due reports whether the next result is to be looked at.
func (l *learned) due() bool {
	n := l.calls.Add(1)
	return n <= lookFirst || n%lookEvery == 0
}

// take adds one result, and reports whether that is worth being written down.
func (l *learned) take(fresh *shape) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.text()
	if l.shape == nil {
		l.shape = &shape{}
	}
	l.shape.merge(fresh)
	left := shapeNodes
	l.shape.bound(shapeDepth, &left)
	n := l.seen.Add(1)
	l.schema = nil
	changed := !bytes.Equal(before, l.text())
	if changed {
		l.short = nil
	}
	return changed || bits.OnesCount64(n) == 1 // how often it held is kept roughly
}

// text is the shape as JSON Schema; the caller holds mu.
func (l *learned) text() []byte {
	if l.schema == nil && l.shape != nil {
		l.schema = l.shape.appendSchema(nil)
	}
	return l.schema
}

// Returns is what is known of a tool's results.
type Returns struct {
	From    Provenance
	Schema  []byte // JSON Schema, of the server or made from what was seen; nil when unknown
	Results int    // how many results a learned type was made of
}

// Returns says what is known of the results of a tool, and from where.
func (t *Tool) Returns() Returns {
	if !absent(t.OutputSchema) {
		return Returns{From: Declared, Schema: t.OutputSchema}
	}
	if l := t.learned; l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if text := l.text(); !absent(text) {
			return Returns{From: Learned, Schema: text, Results: int(l.seen.Load())}
		}
	}
	return Returns{From: Unknown}
}

// ResultType is the type of a tool's results on one line, as a signature has it:
// what the server declares, what was learned, else "unknown".
func (t *Tool) ResultType() string {
	if r := t.shorten().Result; r != "unknown" || t.learned == nil {
		return r
	}
	l := t.learned
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text()
	if absent(text) {
		return "unknown"
	}
	if l.short == nil {
		short := typegen.Short(nil, text)
		l.short = &short
	}
	return l.short.Result
}

// Observe learns from one successful result of a tool: of which kinds its parts
// are and how its properties are called, never what they hold. Tools with an
// output schema need nothing learned. It looks at the first results and then at
// few, at 256 KiB of JSON at most; nothing is learned of one with a name that
// Options.Secret knows.
func (c *Catalog) Observe(t *Tool, result []byte) {
	l := t.learned
	if l == nil || c.forgetful.Load() || !l.due() {
		return
	}
	fresh := shapeOf(result)
	if fresh == nil || c.tells(fresh) {
		return
	}
	if l.take(fresh) {
		c.returns.changed(l)
	}
}

// tells reports whether a name of a shape gives a secret away.
func (c *Catalog) tells(s *shape) bool {
	return c.secret != nil && !s.names(func(name string) bool { return !c.secret(name) })
}

// appendSchema writes a shape as JSON Schema.
func (s *shape) appendSchema(b []byte) []byte {
	if s == nil || s.Any || s.Kinds == 0 {
		return append(b, "{}"...)
	}
	b = append(b, `{"type":[`...)
	first := true
	for _, k := range kindNames {
		if s.Kinds&k.kind == 0 {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, '"')
		b = append(b, k.name...)
		b = append(b, '"')
	}
	b = append(b, ']')
	if s.Kinds&kindArray != 0 {
		b = s.Item.appendSchema(append(b, `,"items":`...))
	}
	if s.Kinds&kindObject != 0 && s.Object != nil {
		b = s.Object.appendSchema(b)
	}
	return append(b, '}')
}

func (f *fields) appendSchema(b []byte) []byte {
	if f.Map != nil {
		return f.Map.appendSchema(append(b, `,"additionalProperties":`...))
	}
	names := f.order()
	if len(names) == 0 {
		return b
	}
	b = append(b, `,"properties":{`...)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = f.Named[name].appendSchema(b)
	}
	b = append(b, `},"required":[`...)
	for i, name := range slices.DeleteFunc(names, f.optional) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, name)
	}
	return append(b, ']')
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return append(b, `""`...)
	}
	return append(b, text...)
}
