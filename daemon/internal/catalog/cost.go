package catalog

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// part is a schema within a schema, and what of the value it applies to.
type part struct {
	kind   kind
	step   string // from the outer schema's path
	schema *jsonschema.Schema
	node   int
}

type kind int

const (
	aside    kind = iota // nothing, unless a reference leads there
	same                 // the same value
	property             // the property of that name
	member               // properties
	position             // the item at that place
	element              // items
)

var (
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// partsOf lists the schemas of every keyword that the validator looks into.
func partsOf(s *jsonschema.Schema) (out []part) {
	one := func(k kind, step string, sub *jsonschema.Schema) {
		if sub != nil { // the validator itself complains of null in lists
			out = append(out, part{kind: k, step: "/" + step, schema: sub})
		}
	}
	list := func(k kind, name string, subs []*jsonschema.Schema) {
		for i, sub := range subs {
			one(k, name+"/"+strconv.Itoa(i), sub)
		}
	}
	table := func(k kind, name string, subs map[string]*jsonschema.Schema) {
		for _, key := range slices.Sorted(maps.Keys(subs)) {
			one(k, name+"/"+pointerEscape.Replace(key), subs[key])
		}
	}
	table(aside, "$defs", s.Defs)
	table(aside, "definitions", s.Definitions)
	one(aside, "contentSchema", s.ContentSchema)
	list(same, "allOf", s.AllOf)
	list(same, "anyOf", s.AnyOf)
	list(same, "oneOf", s.OneOf)
	one(same, "not", s.Not)
	one(same, "if", s.If)
	one(same, "then", s.Then)
	one(same, "else", s.Else)
	table(same, "dependentSchemas", s.DependentSchemas)
	table(same, "dependencies", s.DependencySchemas)
	table(property, "properties", s.Properties)
	table(member, "patternProperties", s.PatternProperties)
	one(member, "additionalProperties", s.AdditionalProperties)
	one(member, "unevaluatedProperties", s.UnevaluatedProperties)
	one(member, "propertyNames", s.PropertyNames)
	list(position, "prefixItems", s.PrefixItems)
	list(position, "items", s.ItemsArray)
	one(element, "items", s.Items)
	one(element, "additionalItems", s.AdditionalItems)
	one(element, "contains", s.Contains)
	one(element, "unevaluatedItems", s.UnevaluatedItems)
	return out
}

// measure reckons what a check costs, without checking anything: how many
// schemas stand in a row, and how many one path through a value of a given
// depth is held against. A row without an end has no cost and is refused.
func (c *checker) measure() error {
	order := make([]int, 0, len(c.nodes)) // each after all that apply to the same value
	row := make([]int, len(c.nodes))      // 0 unknown, -1 being reckoned
	var visit func(int) error
	visit = func(i int) error {
		if row[i] < 0 {
			return errors.New("its references lead back to themselves")
		}
		if row[i] > 0 {
			return nil
		}
		row[i] = -1
		longest := 0
		for _, j := range c.nodes[i].same() {
			if err := visit(j); err != nil {
				return err
			}
			longest = max(longest, row[j])
		}
		row[i] = longest + 1
		c.chain = max(c.chain, row[i])
		order = append(order, i)
		return nil
	}
	for i := range c.nodes {
		if err := visit(i); err != nil {
			return err
		}
	}
	// held is, by schema, how many schemas one part of the value is held against
	// when it stands depth levels below what that schema applies to.
	held, sum := make([]int, len(c.nodes)), 0
	for depth := 0; depth <= maxDepth && sum < maxSteps; depth++ {
		next := make([]int, len(c.nodes))
		for _, i := range order {
			n := &c.nodes[i]
			if depth == 0 {
				next[i] = 1
				c.weight = max(c.weight, 1+len(n.schema.Enum)+len(n.schema.Properties)+len(n.schema.Required))
			} else {
				next[i] = n.below(held)
			}
			for _, j := range n.same() {
				next[i] = min(next[i]+next[j], maxSteps)
			}
		}
		sum += next[0]
		c.work = append(c.work, sum)
		if slices.Equal(held, next) {
			break // and so it goes on, the same at each level
		}
		held = next
	}
	return nil
}

// same lists the schemas that apply to the same value.
func (n *subschema) same() (out []int) {
	if n.ref >= 0 {
		out = append(out, n.ref)
	}
	for _, p := range n.parts {
		if p.kind == same {
			out = append(out, p.node)
		}
	}
	return out
}

// below adds up what one part of the value is held against: it is a property
// or an item, and has one name or place only.
func (n *subschema) below(held []int) int {
	var by [element + 1]int
	for _, p := range n.parts {
		switch p.kind {
		case property, position:
			by[p.kind] = max(by[p.kind], held[p.node])
		case member, element:
			by[p.kind] = min(by[p.kind]+held[p.node], maxSteps)
		}
	}
	return min(max(by[property]+by[member], by[position]+by[element]), maxSteps)
}

// affordable reports whether a value can be checked. What it allows for the
// text keeps the schemas in a row, and so the stack, below some ten thousand.
func (c *checker) affordable(raw []byte) bool {
	depth, parts := extent(raw)
	if depth > maxDepth {
		return false
	}
	row, last := (depth+1)*c.chain, len(c.work)-1
	work := c.work[min(depth, last)]
	if depth > last {
		work += (depth - last) * (c.work[last] - c.work[last-1])
	}
	return c.matchable(len(raw), work) && work <= maxSteps/(parts*c.weight) && work <= maxText/((len(raw)+row*c.longest)*row)
}

// extent tells how deep arrays and objects stand in each other, and how many
// values there are at most.
func extent(raw []byte) (depth, parts int) {
	level, quoted := 0, false
	parts = 1
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			level++
			parts++
			depth = max(depth, level)
		case b == '}' || b == ']':
			level--
		case b == ',':
			parts++
		}
	}
	return depth, parts
}
