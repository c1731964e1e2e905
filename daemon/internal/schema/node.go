package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// node is one compiled schema. A nil field or a zero asks nothing, except that
// limits are -1 where there is none.
type node struct {
	at    string // where in the document: a JSON pointer
	never bool   // the schema false

	ref   *node
	types []string
	enum  map[string]bool // by canonical text; nil: anything
	words string          // how the enum reads

	allOf, anyOf, oneOf    []*node
	not, when, then, else_ *node

	multipleOf, minimum, maximum, above, below *big.Rat

	minLength, maxLength int
	pattern              *pattern

	prefix                   []*node
	items, contains          *node
	unevaluatedItems         *node
	minItems, maxItems       int
	minContains, maxContains int
	unique                   bool

	properties         map[string]*node
	order              []string // of properties, so that messages do not vary
	patterns           []patternProperty
	additional, names  *node
	unevaluated        *node
	required           []string
	minProps, maxProps int
	dependentRequired  map[string][]string
	dependent          map[string]*node
}

type patternProperty struct {
	pattern *pattern
	node    *node
}

// pattern is a regular expression; a nil Regexp is one that Go's syntax does
// not know (look-ahead, back-references) and matches everything, so that the
// rest of the schema still counts.
type pattern struct {
	*regexp.Regexp
	text string
}

func newPattern(text string) *pattern {
	re, err := regexp.Compile(text)
	if err != nil {
		re = nil
	}
	return &pattern{re, text}
}

// typeNames are the words that the keyword type knows.
var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// typeOf is the type of a decoded value; integers are numbers here.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// canonical is a text that two values share exactly if JSON Schema holds them
// for equal: numbers by value, objects whatever the order.
func canonical(v any) string {
	var b strings.Builder
	writeCanonical(&b, v)
	return b.String()
}

func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case json.Number:
		text := v.String()
		if strings.ContainsAny(text, ".eE") || text == "-0" {
			if r := rational(v); r != nil {
				text = r.RatString()
			}
		}
		b.WriteString(text)
	case string:
		fmt.Fprintf(b, "%q", v)
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			writeCanonical(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(b, "%q:", name)
			writeCanonical(b, v[name])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}

// Numbers beyond these bounds are compared by nobody: their exact value alone
// would take seconds to work with.
const (
	maxDigits   = 1000
	maxExponent = 1000
)

// rational is a number's exact value, or nil beyond the bounds.
func rational(n json.Number) *big.Rat {
	text := n.String()
	if len(text) > maxDigits {
		return nil
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if e := exponent(text[i+1:]); e > maxExponent || e < -maxExponent {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// exponent reads an exponent's digits, and stops counting out of bounds.
func exponent(text string) int {
	e, sign := 0, 1
	for _, c := range text {
		switch {
		case c == '-':
			sign = -1
		case c >= '0' && c <= '9' && e <= maxExponent:
			e = e*10 + int(c-'0')
		}
	}
	return sign * e
}

// integral reports whether a number has no fraction, however it is written.
func integral(n json.Number) bool {
	text := n.String()
	if !strings.ContainsAny(text, ".eE") {
		return true
	}
	if r := rational(n); r != nil {
		return r.IsInt()
	}
	return !strings.Contains(text, "e-") && !strings.Contains(text, "E-")
}
