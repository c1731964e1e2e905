// Package schema checks JSON values against JSON Schema as tools publish it:
// whatever the schema is, a check ends soon, reads nothing but its arguments,
// and says where in the value the mistake is.
//
// It is our own because validators that name the place compile the standard's
// metaschemas in every process that links them, which costs each command more
// than all the rest of its start. Dialects from draft-04 to 2020-12 are
// understood; `format` and the content keywords are remarks, as the newest
// dialect has it. A keyword that would have to be guessed at ($dynamicRef, a
// reference that leads out of the schema, an ill-formed value) makes the whole
// schema unusable rather than the check wrong.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Schema is a compiled schema; safe for concurrent use.
type Schema struct {
	root        *node
	unevaluated bool // some keyword asks what others have looked at
}

// Violation is what is wrong with a value: where, and in the schema's words.
type Violation struct {
	Pointer string // JSON pointer (RFC 6901); empty: the value itself
	Message string // at most three mistakes
}

// ErrGaveUp says that a value would take too many steps to check, as when
// references lead back to themselves without reaching a part of the value.
var ErrGaveUp = errors.New("it takes too many steps to check a value against it")

// Compile reads a schema. The error tells why it cannot be used, in one line.
func Compile(raw []byte) (*Schema, error) {
	doc, err := decode(raw)
	if err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	return compile(doc)
}

// Check holds a value against the schema. Nothing is wrong with a value that
// could not be checked to its end: then the error is ErrGaveUp.
func (s *Schema) Check(value []byte) (*Violation, error) {
	v, err := decode(value)
	if err != nil {
		return &Violation{Message: "is not valid JSON"}, nil
	}
	// Most values are fine: words are looked for in a second pass.
	first := newCheck(s, v)
	ok := first.holds(s.root, v, nil, nil)
	if first.gaveUp {
		return nil, ErrGaveUp
	}
	if ok || first.unsure {
		return nil, nil
	}
	second := newCheck(s, v)
	second.telling = true
	second.holds(s.root, v, &place{}, nil)
	return second.violation(), nil
}

// decode reads one JSON value, with numbers as they are written: an integer
// beyond 2^53 must not be rounded before it is compared.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// place is a part of the value, from the inside out.
type place struct {
	parent *place
	token  string
}

func (p *place) in(token string) *place {
	if p == nil {
		return nil // nobody will ask where this was
	}
	return &place{p, token}
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

func (p *place) pointer() string {
	if p == nil || p.parent == nil {
		return ""
	}
	return p.parent.pointer() + "/" + pointerEscape.Replace(p.token)
}

// maxWords bounds how many mistakes one message tells.
const maxWords = 3

// tell notes a mistake, if this is the pass that looks for words.
func (c *check) tell(at *place, format string, args ...any) bool {
	if c.telling && len(c.mistakes) < maxWords {
		m := Violation{Pointer: at.pointer(), Message: fmt.Sprintf(format, args...)}
		for _, other := range c.mistakes {
			if other == m {
				return false
			}
		}
		c.mistakes = append(c.mistakes, m)
	}
	return false
}

// violation joins what was told; all stands at the place of the first.
func (c *check) violation() *Violation {
	if len(c.mistakes) == 0 {
		return &Violation{Message: "does not match the schema"}
	}
	out := c.mistakes[0]
	for _, m := range c.mistakes[1:] {
		out.Message += "; "
		if m.Pointer != out.Pointer {
			out.Message += m.Pointer + ": "
		}
		out.Message += m.Message
	}
	return &out
}
