// Package script makes a program as its author wrote it, TypeScript or
// JavaScript, into one JavaScript expression whose value is an async function:
// types are removed, the last expression becomes the result, and positions can
// be mapped back. It knows no engine.
package script

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tenon/daemon/internal/fault"
)

// Program is a compiled source. It is immutable and safe for concurrent use.
type Program struct {
	// Code is an expression; its value is the program as an async function
	// without parameters, in strict mode.
	Code string `json:"code"`
	// Mappings and what follows lead from Code back to the source: esbuild's
	// mappings, what was changed in its output, and lines of ours on both sides.
	Mappings string `json:"mappings"`
	Above    int    `json:"above"` // lines of Code before esbuild's first
	Skip     int    `json:"skip"`  // lines of the mapped source before the author's first
	Edits    []Edit `json:"edits"`
	// Sources are the files that the mappings speak of, by their numbers, the
	// program's own being ""; none: there is only that one.
	Sources []string `json:"sources,omitempty"`

	decode   sync.Once
	segments []segment
}

// Edit is a piece of one line of esbuild's output that was replaced. Line and
// Column count from 0, as they are in the final text.
type Edit struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Old    int `json:"old"` // bytes before
	New    int `json:"new"` // bytes after
}

// Frame is one level of a stack in the source as written. Function is empty for
// the program's top level.
type Frame struct {
	Function string
	fault.Position
}

// Module reports whether the source has exports, so that it was compiled as a
// module's statements and not as the body of a function.
func (p *Program) Module() bool { return p.Skip == 0 }

// Size is about how many bytes p holds.
func (p *Program) Size() int { return len(p.Code) + len(p.Mappings) + 16*len(p.Edits) + 256 }

// Position maps a place in Code, both numbers from 1, to the source. ok is
// false where nothing of the author's stands there.
func (p *Program) Position(line, column int) (pos fault.Position, ok bool) {
	p.decode.Do(func() { p.segments = decodeMappings(p.Mappings) })
	l, c := line-1-p.Above, column-1
	moved := 0
	for _, e := range p.Edits {
		switch {
		case e.Line != l || e.Column > c:
		case e.Column+e.New > c: // inside what was put in
			moved += c - e.Column
		default:
			moved += e.New - e.Old
		}
	}
	s, ok := find(p.segments, l, c-moved)
	if !ok || s.sourceLine < p.Skip {
		return pos, false
	}
	return p.at(s), true
}

func (p *Program) at(s segment) fault.Position {
	at := fault.Position{Line: s.sourceLine - p.Skip + 1, Column: s.sourceColumn + 1}
	if s.source >= 0 && s.source < len(p.Sources) {
		at.File = p.Sources[s.source]
	}
	return at
}

// begin is where the program begins, for a place in Code (line from 1) before
// all of the author's: the engine names a function's head for a loop without a
// call in it, and that of the top level is ours.
func (p *Program) begin(line int) (pos fault.Position, ok bool) {
	for _, s := range p.segments { // decoded by Position
		if s.sourceLine >= p.Skip {
			return p.at(s), line-1-p.Above <= s.line
		}
	}
	return pos, false
}

// maxFrames bounds a mapped stack; a recursion shows its innermost levels.
const maxFrames = 20

// Frames maps the lines "at f (file:1:2)" of a stack whose file is file; other
// lines are left out.
func (p *Program) Frames(stack, file string) []Frame {
	var out []Frame
	for line := range strings.SplitSeq(stack, "\n") {
		m := frameLine().FindStringSubmatch(line)
		if m == nil || m[2] != file {
			continue
		}
		l, _ := strconv.Atoi(m[3])
		c, _ := strconv.Atoi(m[4])
		pos, ok := p.Position(l, c)
		if !ok && m[1] == mainName {
			pos, ok = p.begin(l)
		}
		if !ok {
			continue
		}
		name := m[1]
		if name == mainName || name == "<anonymous>" {
			name = ""
		}
		if out = append(out, Frame{name, pos}); len(out) == maxFrames {
			break
		}
	}
	return out
}

var frameLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*at (?:(.*?) \()?([^()]*):(\d+):(\d+)\)?\s*$`)
})
