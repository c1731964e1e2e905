package catalog

import (
	"errors"
	"regexp/syntax"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Expressions are matched in time that is linear in the text, whatever they are;
// but "(.{30}){30}" is nine bytes and a thousand instructions, each of which may
// be carried out at every byte of a text.
const (
	maxInstructions = 20_000  // of all expressions of a schema
	maxMatching     = 1 << 29 // bytes of a value, times the instructions each is held against
)

// errPatterns refuses a schema for its expressions.
var errPatterns = errors.New("its patterns are too large")

// instructions is what an expression costs; false: it is none of ours, such as
// one with look-ahead.
func instructions(expression string) (int, bool) {
	if len(expression) > maxInstructions {
		return maxInstructions, true
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, false
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, false
	}
	return len(program.Inst), true
}

// takePatterns reckons the expressions of one schema. A pattern that cannot be
// used is left out: the server itself holds the text against it.
func (c *checker) takePatterns(s *jsonschema.Schema) error {
	var all []string
	for expression := range s.PatternProperties {
		all = append(all, expression)
	}
	if s.Pattern != "" {
		n, ok := instructions(s.Pattern)
		if !ok || c.matching+n > maxInstructions {
			s.Pattern = ""
		} else {
			c.matching, c.largest = c.matching+n, max(c.largest, n)
		}
	}
	slices.Sort(all)
	for _, expression := range all {
		n, ok := instructions(expression)
		if !ok {
			continue // the validator says so
		}
		if c.matching += n; c.matching > maxInstructions {
			return errPatterns
		}
		c.largest = max(c.largest, n)
	}
	return nil
}

// matchable reports whether the texts of a value can be held against the
// expressions, of which one path through the value meets those of work schemas.
func (c *checker) matchable(size, work int) bool {
	met := c.matching
	if c.largest > 0 && work < met/c.largest {
		met = work * c.largest
	}
	return met == 0 || size <= maxMatching/met
}
