package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of one check. A schema can be written whose check never ends in
// practice: alternatives that double at each reference, endless chains.
const (
	stepsPerValue = 2000      // how many schemas one part of a value may be held against, on average
	maxSteps      = 5_000_000 // about a second
	maxDepth      = 20_000    // nested schemas; bounds the stack
)

// check is one value being held against a schema.
type check struct {
	schema   *Schema
	steps    int // left
	depth    int
	guessing int  // within keywords that turn "it matches" into a refusal
	gaveUp   bool // out of steps: no verdict
	unsure   bool // a pattern nobody could match decided such a keyword
	telling  bool
	mistakes []Violation
}

func newCheck(s *Schema, v any) *check {
	return &check{schema: s, steps: min(maxSteps, stepsPerValue*values(v))}
}

// values counts the parts of a value.
func values(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += values(e)
		}
	case map[string]any:
		for _, e := range v {
			n += values(e)
		}
	}
	return n
}

// holds reports whether v matches n. Without words to tell it stops at the
// first mistake. What n looked at is added to seen when it matches.
func (c *check) holds(n *node, v any, at *place, seen *marks) bool {
	c.steps--
	if c.steps < 0 || c.depth >= maxDepth {
		c.gaveUp = true
	}
	if c.gaveUp || n == nil {
		return true
	}
	if n.never {
		return c.tell(at, "is not allowed")
	}
	c.depth++
	defer func() { c.depth-- }()
	mine := c.newMarks()
	ok := true
	for _, part := range parts {
		if !part(c, n, v, at, mine) {
			if ok = false; !c.telling {
				return false
			}
		}
	}
	if ok {
		seen.add(mine)
	}
	return ok
}

// parts are the groups of keywords. Those of unevaluated values come last: they
// ask what the others looked at.
var parts []func(c *check, n *node, v any, at *place, seen *marks) bool

func init() { // holds and its parts call each other
	parts = append(parts, (*check).kind, (*check).applied, (*check).number, (*check).text, (*check).array, (*check).object)
}

// kind checks type, enum and const.
func (c *check) kind(n *node, v any, at *place, _ *marks) bool {
	if len(n.types) > 0 {
		is := typeOf(v)
		number, _ := v.(json.Number)
		fits := slices.Contains(n.types, is) || is == "number" && slices.Contains(n.types, "integer") && integral(number)
		if !fits {
			return c.tell(at, "got %s, want %s", is, strings.Join(n.types, " or "))
		}
	}
	if n.enum != nil && !n.enum[canonical(v)] {
		return c.tell(at, "value must be %s", n.words)
	}
	return true
}

// applied checks the keywords that hold the same value against other schemas.
func (c *check) applied(n *node, v any, at *place, seen *marks) bool {
	ok := n.ref == nil || c.holds(n.ref, v, at, seen)
	for _, each := range n.allOf {
		if (ok || c.telling) && !c.holds(each, v, at, seen) {
			ok = false
		}
	}
	if !ok && !c.telling {
		return false
	}
	if len(n.anyOf) > 0 && c.matching(n.anyOf, 1, v, seen) == 0 {
		ok = c.tellEach(n.anyOf, v, at)
	}
	if len(n.oneOf) > 0 {
		c.guessing++
		matching := c.matching(n.oneOf, 2, v, seen)
		c.guessing--
		switch {
		case matching == 0:
			ok = c.tellEach(n.oneOf, v, at)
		case matching > 1:
			ok = c.tell(at, "matches more than one of %d alternatives", len(n.oneOf))
		}
	}
	if n.not != nil && c.quietly(n.not, v, nil) {
		ok = c.tell(at, "matches what it must not match")
	}
	if n.when != nil {
		branch := n.else_
		if c.quietly(n.when, v, seen) {
			branch = n.then
		}
		ok = c.holds(branch, v, at, seen) && ok
	}
	return ok
}

// quietly is holds without words, for keywords that turn the answer around.
func (c *check) quietly(n *node, v any, seen *marks) bool {
	c.guessing++
	defer func(telling bool) { c.guessing--; c.telling = telling }(c.telling)
	c.telling = false
	return c.holds(n, v, nil, seen)
}

// matching counts the alternatives that match, up to enough; with marks all are
// tried, as each may have looked at something.
func (c *check) matching(list []*node, enough int, v any, seen *marks) int {
	defer func(telling bool) { c.telling = telling }(c.telling)
	c.telling = false
	found := 0
	for _, each := range list {
		if c.holds(each, v, nil, seen) {
			if found++; found == enough && seen == nil {
				break
			}
		}
	}
	return found
}

// tellEach says why no alternative matches.
func (c *check) tellEach(list []*node, v any, at *place) bool {
	if c.telling {
		for _, each := range list {
			c.holds(each, v, at, nil)
		}
	}
	return false
}

// number checks the keywords of numbers.
func (c *check) number(n *node, v any, at *place, _ *marks) bool {
	written, is := v.(json.Number)
	if !is || n.multipleOf == nil && n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil {
		return true
	}
	r := rational(written)
	if r == nil {
		return c.guess()
	}
	switch {
	case n.minimum != nil && r.Cmp(n.minimum) < 0:
		return c.tell(at, "minimum: got %s, want %s", written, plain(n.minimum))
	case n.maximum != nil && r.Cmp(n.maximum) > 0:
		return c.tell(at, "maximum: got %s, want %s", written, plain(n.maximum))
	case n.above != nil && r.Cmp(n.above) <= 0:
		return c.tell(at, "exclusiveMinimum: got %s, want more than %s", written, plain(n.above))
	case n.below != nil && r.Cmp(n.below) >= 0:
		return c.tell(at, "exclusiveMaximum: got %s, want less than %s", written, plain(n.below))
	case n.multipleOf != nil && !new(big.Rat).Quo(r, n.multipleOf).IsInt():
		return c.tell(at, "multipleOf: got %s, want a multiple of %s", written, plain(n.multipleOf))
	}
	return true
}

func plain(r *big.Rat) string {
	if f, exact := r.Float64(); exact {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strings.TrimRight(r.FloatString(12), "0")
}

// guess is the answer to a question nobody can decide: it matches. A verdict
// that rests on it the other way round counts for nothing.
func (c *check) guess() bool {
	c.unsure = c.unsure || c.guessing > 0
	return true
}

func (c *check) matches(p *pattern, s string) bool {
	c.steps--
	if p.Regexp == nil {
		return c.guess()
	}
	return p.MatchString(s)
}

// text checks the keywords of strings.
func (c *check) text(n *node, v any, at *place, _ *marks) bool {
	s, is := v.(string)
	if !is {
		return true
	}
	if n.minLength >= 0 || n.maxLength >= 0 {
		length := utf8.RuneCountInString(s)
		if length < n.minLength {
			return c.tell(at, "minLength: got %d, want %d", length, n.minLength)
		}
		if n.maxLength >= 0 && length > n.maxLength {
			return c.tell(at, "maxLength: got %d, want %d", length, n.maxLength)
		}
	}
	if n.pattern != nil && !c.matches(n.pattern, s) {
		return c.tell(at, "does not match pattern '%s'", n.pattern.text)
	}
	return true
}
