package signature

import (
	"encoding/json"
	"slices"
	"strings"
)

// shape is the properties of a type that is certainly an object.
type shape struct {
	members []placedMember
	index   *typ
	indexIn scope
	open    bool // there may be more
}

type placedMember struct {
	member
	in scope
}

// flat collects the properties of an object, of an intersection of objects and
// of the library's helpers; nil when t may be something else.
func (r *resolver) flat(t *typ, in scope, depth int) *shape {
	if r.size++; t == nil || depth > maxDepth || r.size > maxSize {
		return nil
	}
	switch t.form {
	case objectForm:
		s := &shape{index: t.index, indexIn: in}
		for _, m := range t.members {
			s.add(placedMember{m, in})
		}
		return s
	case bothForm:
		return r.merged(t.items, in, depth)
	case named:
	default:
		return nil
	}
	if c, ok := in.generics[t.name]; ok {
		return r.flat(c.t, c.in, depth+1)
	}
	d, at, ok := r.files.lookup(t, in)
	if !ok {
		return r.helper(t, in, depth)
	}
	if d == nil || d.unknown {
		return nil
	}
	s := r.flat(d.value, at, depth+1)
	if s == nil || len(d.extends) == 0 {
		return s
	}
	out := &shape{}
	for _, parent := range d.extends {
		if p := r.flat(parent, at, depth+1); p != nil {
			out.take(p)
		} else {
			out.open = true
		}
	}
	out.take(s)
	return out
}

// merged is all of items together. Two that have a property each of one name are
// more than can be said here.
func (r *resolver) merged(items []*typ, in scope, depth int) *shape {
	out := &shape{}
	for _, item := range items {
		s := r.flat(item, in, depth+1)
		if s == nil {
			return nil
		}
		for _, m := range s.members {
			if out.find(m.name) >= 0 {
				return nil
			}
		}
		if out.index != nil || s.index != nil { // it would bind the other's properties
			out.open = true
			s.index, out.index = nil, nil
		}
		out.take(s)
	}
	return out
}

func (s *shape) find(name string) int {
	return slices.IndexFunc(s.members, func(m placedMember) bool { return m.name == name })
}

// add puts a property in; a later one takes the place of an earlier one.
func (s *shape) add(m placedMember) {
	if i := s.find(m.name); i >= 0 {
		s.members[i] = m
		return
	}
	s.members = append(s.members, m)
}

func (s *shape) take(from *shape) {
	for _, m := range from.members {
		s.add(m)
	}
	s.open = s.open || from.open
	if from.index != nil {
		s.index, s.indexIn = from.index, from.indexIn
	}
}

// helper is one of the library's types that make objects of others.
func (r *resolver) helper(t *typ, in scope, depth int) *shape {
	argument := func(i int) *typ {
		if i < len(t.items) {
			return t.items[i]
		}
		return nil
	}
	switch t.name {
	case "Readonly", "Awaited", "Promise", "NonNullable":
		return r.flat(argument(0), in, depth+1)
	case "Record":
		keys, open, ok := r.keys(argument(0), in, depth)
		if !ok || argument(1) == nil {
			return &shape{open: true}
		}
		s := &shape{}
		if open {
			s.index, s.indexIn = argument(1), in
		}
		for _, key := range keys {
			s.add(placedMember{member{name: key, value: argument(1)}, in})
		}
		return s
	case "Partial", "Required":
		s := r.flat(argument(0), in, depth+1)
		if s == nil {
			return nil
		}
		out := &shape{index: s.index, indexIn: s.indexIn, open: s.open}
		for _, m := range s.members {
			m.optional = t.name == "Partial"
			out.add(m)
		}
		return out
	case "Pick", "Omit":
		s := r.flat(argument(0), in, depth+1)
		keys, open, ok := r.keys(argument(1), in, depth)
		if s == nil || !ok || open {
			return nil
		}
		out := &shape{open: s.open}
		for _, m := range s.members {
			if slices.Contains(keys, m.name) == (t.name == "Pick") {
				out.add(m)
			}
		}
		return out
	}
	return nil
}

// keys are the strings of a type of keys; open is whether it is every string.
func (r *resolver) keys(t *typ, in scope, depth int) (keys []string, open, ok bool) {
	s := r.schema(t, in, depth+1)
	values, _ := s.get("enum").([]json.RawMessage)
	if one, is := s.get("const").(json.RawMessage); is {
		values = []json.RawMessage{one}
	}
	if s.get("type") == "string" || s.get("type") == "number" {
		return nil, true, true
	}
	for _, v := range values {
		text := string(v)
		if strings.HasPrefix(text, `"`) {
			if json.Unmarshal(v, &text) != nil {
				return nil, false, false
			}
		}
		keys = append(keys, text)
	}
	return keys, false, len(keys) > 0
}
