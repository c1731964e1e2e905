package catalog

import (
	"strconv"
	"strings"
)

// maxCost bounds how many schemas one value may be held against at one place.
// A server can write a schema whose check never ends in practice (alternatives
// that double at each reference, endless chains); it is then not used at all.
const maxCost = 2000

// costs reckons how much work a schema is, without doing it.
type costs struct {
	root  any
	ids   map[string]any // $id and #$anchor to the schema that has it
	known map[string]int // by JSON pointer or id; 0 while it is being reckoned
	worst int
}

// costOf is the highest number of schemas that a value is held against at any
// one place of the schema, at most maxCost+1.
func costOf(doc any) int {
	c := &costs{root: doc, ids: map[string]any{}, known: map[string]int{}}
	c.index(doc)
	c.walk(doc, "#")
	return c.worst
}

// index finds what references can name.
func (c *costs) index(v any) {
	switch v := v.(type) {
	case map[string]any:
		if id, ok := v["$id"].(string); ok {
			c.ids[id] = v
		}
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if anchor, ok := v[key].(string); ok {
				c.ids["#"+anchor] = v
			}
		}
		for _, child := range v {
			c.index(child)
		}
	case []any:
		for _, child := range v {
			c.index(child)
		}
	}
}

// walk reckons every schema below v.
func (c *costs) walk(v any, at string) {
	switch v := v.(type) {
	case map[string]any:
		c.worst = max(c.worst, c.cost(v, at))
		for name, child := range v {
			c.walk(child, at+"/"+pointerEscape.Replace(name))
		}
	case []any:
		for i, child := range v {
			c.walk(child, at+"/"+strconv.Itoa(i))
		}
	}
}

// cost is that of one schema: itself and all that apply to the same value. A
// reference back to a schema being reckoned costs nothing more: the check
// notices it as well.
func (c *costs) cost(v any, at string) int {
	schema, ok := v.(map[string]any)
	if !ok {
		return 1
	}
	if n, ok := c.known[at]; ok {
		return n
	}
	c.known[at] = 0
	sum := 1
	add := func(child any, at string) {
		if sum <= maxCost {
			sum += c.cost(child, at)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		for i, child := range list {
			add(child, at+"/"+key+"/"+strconv.Itoa(i))
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if child, ok := schema[key]; ok {
			add(child, at+"/"+key)
		}
	}
	dependent, _ := schema["dependentSchemas"].(map[string]any)
	for name, child := range dependent {
		add(child, at+"/dependentSchemas/"+pointerEscape.Replace(name))
	}
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := schema[key].(string); ok {
			if target, found := c.resolve(ref); found {
				add(target, ref)
			}
		}
	}
	sum = min(sum, maxCost+1)
	c.known[at] = sum
	return sum
}

// resolve finds what a reference within the schema names. One that leads
// elsewhere is not followed by the check either.
func (c *costs) resolve(ref string) (any, bool) {
	if v, ok := c.ids[ref]; ok {
		return v, true
	}
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	v := c.root
	for _, token := range strings.Split(path, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch at := v.(type) {
		case map[string]any:
			v, ok = at[token]
		case []any:
			i, err := strconv.Atoi(token)
			if ok = err == nil && i >= 0 && i < len(at); ok {
				v = at[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}
