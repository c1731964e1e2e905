package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// array checks the keywords of arrays.
func (c *check) array(n *node, v any, at *place, seen *marks) bool {
	list, is := v.([]any)
	if !is {
		return true
	}
	ok := true
	if len(list) < n.minItems {
		ok = c.tell(at, "minItems: got %d, want %d", len(list), n.minItems)
	}
	if n.maxItems >= 0 && len(list) > n.maxItems {
		ok = c.tell(at, "maxItems: got %d, want %d", len(list), n.maxItems)
	}
	if n.unique && ok {
		ok = c.distinct(list, at)
	}
	each := func(i int, n *node) {
		if ok || c.telling {
			ok = c.holds(n, list[i], at.in(strconv.Itoa(i)), nil) && ok
			seen.item(i)
		}
	}
	for i := range min(len(n.prefix), len(list)) {
		each(i, n.prefix[i])
	}
	if n.items != nil {
		for i := len(n.prefix); i < len(list); i++ {
			each(i, n.items)
		}
	}
	if n.contains != nil && (ok || c.telling) {
		ok = c.containing(n, list, at, seen) && ok
	}
	if n.unevaluatedItems != nil {
		for i := range list {
			if !seen.items[i] {
				each(i, n.unevaluatedItems)
			}
		}
	}
	return ok
}

func (c *check) distinct(list []any, at *place) bool {
	first := make(map[string]int, len(list))
	for i, v := range list {
		text := canonical(v)
		if j, twice := first[text]; twice {
			return c.tell(at, "items at %d and %d are equal", j, i)
		}
		first[text] = i
	}
	return true
}

func (c *check) containing(n *node, list []any, at *place, seen *marks) bool {
	found, least := 0, 1
	for i, v := range list {
		if c.quietly(n.contains, v, nil) {
			found++
			seen.item(i)
		}
	}
	if n.minContains >= 0 {
		least = n.minContains
	}
	if found < least {
		return c.tell(at, "contains: %d items match, want %d", found, least)
	}
	if n.maxContains >= 0 && found > n.maxContains {
		return c.tell(at, "contains: %d items match, want no more than %d", found, n.maxContains)
	}
	return true
}

// object checks the keywords of objects.
func (c *check) object(n *node, v any, at *place, seen *marks) bool {
	fields, is := v.(map[string]any)
	if !is {
		return true
	}
	ok := c.counts(n, fields, at)
	for name, schema := range sorted(n.dependent) {
		if _, has := fields[name]; has && (ok || c.telling) {
			ok = c.holds(schema, v, at, seen) && ok
		}
	}
	for _, name := range n.order {
		if child, has := fields[name]; has && (ok || c.telling) {
			ok = c.holds(n.properties[name], child, at.in(name), nil) && ok
			seen.property(name)
		}
	}
	if len(n.patterns) == 0 && n.additional == nil && n.names == nil && n.unevaluated == nil {
		return ok
	}
	var extra []string
	for name, child := range sorted(fields) {
		if !ok && !c.telling {
			return false
		}
		if n.names != nil {
			ok = c.holds(n.names, name, at.in(name), nil) && ok
		}
		_, known := n.properties[name]
		for _, p := range n.patterns {
			if c.matches(p.pattern, name) {
				known = true
				ok = c.holds(p.node, child, at.in(name), nil) && ok
				seen.property(name)
			}
		}
		switch {
		case known || n.additional == nil:
		case n.additional.never:
			extra = append(extra, name)
		default:
			ok = c.holds(n.additional, child, at.in(name), nil) && ok
			seen.property(name)
		}
	}
	if n.unevaluated != nil {
		for name, child := range sorted(fields) {
			switch {
			case seen.properties[name]:
			case n.unevaluated.never:
				extra = append(extra, name)
			default:
				ok = c.holds(n.unevaluated, child, at.in(name), nil) && ok
			}
			seen.property(name)
		}
	}
	if len(extra) > 0 {
		return c.tell(at, "additional properties %s not allowed", quoted(extra))
	}
	return ok
}

// counts checks which properties there are, not what is in them.
func (c *check) counts(n *node, fields map[string]any, at *place) bool {
	ok := c.present(n.required, fields, at, "")
	for name, required := range sorted(n.dependentRequired) {
		if _, has := fields[name]; has {
			ok = c.present(required, fields, at, ", which '"+name+"' needs") && ok
		}
	}
	if len(fields) < n.minProps {
		ok = c.tell(at, "minProperties: got %d, want %d", len(fields), n.minProps)
	}
	if n.maxProps >= 0 && len(fields) > n.maxProps {
		ok = c.tell(at, "maxProperties: got %d, want %d", len(fields), n.maxProps)
	}
	return ok
}

func (c *check) present(names []string, fields map[string]any, at *place, why string) bool {
	var missing []string
	for _, name := range names {
		if _, has := fields[name]; !has {
			missing = append(missing, name)
		}
	}
	switch len(missing) {
	case 0:
		return true
	case 1:
		return c.tell(at, "missing property %s%s", quoted(missing), why)
	default:
		return c.tell(at, "missing properties %s%s", quoted(missing), why)
	}
}

func quoted(names []string) string { return "'" + strings.Join(names, "', '") + "'" }

// sorted goes through a map in the order of its keys, so that the same mistake
// reads the same each time.
func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		if len(m) == 0 {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// marks are what keywords have looked at in one value; nil where no keyword asks.
type marks struct {
	properties map[string]bool
	items      map[int]bool
}

func (c *check) newMarks() *marks {
	if !c.schema.unevaluated {
		return nil
	}
	return &marks{properties: map[string]bool{}, items: map[int]bool{}}
}

func (s *marks) property(name string) {
	if s != nil {
		s.properties[name] = true
	}
}

func (s *marks) item(i int) {
	if s != nil {
		s.items[i] = true
	}
}

func (s *marks) add(more *marks) {
	if s != nil && more != nil {
		maps.Copy(s.properties, more.properties)
		maps.Copy(s.items, more.items)
	}
}
