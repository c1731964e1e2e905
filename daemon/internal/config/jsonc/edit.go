package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Get returns the value at path, decoded as encoding/json does; ok is false
// when there is none.
func Get(doc []byte, path []string) (value any, ok bool, err error) {
	t, err := open(doc)
	if err != nil {
		return nil, false, err
	}
	v, rest, err := t.find(path)
	if err != nil || len(rest) > 0 {
		return nil, false, err
	}
	value, err = decode(v)
	return value, err == nil, err
}

// Set writes value at path. A value that is there already is replaced, and
// left alone when it is equal; missing objects on the way are made, as the
// last member of the object they belong to. Object keys of value are written
// in order of their names.
func Set(doc []byte, path []string, value any) ([]byte, error) {
	if len(path) == 0 {
		return nil, fmt.Errorf("a path must name something")
	}
	t, err := open(doc)
	if err != nil {
		return nil, err
	}
	v, rest, err := t.find(path)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return t.replace(doc, v, value)
	}
	for i := len(rest) - 1; i > 0; i-- {
		value = map[string]any{rest[i]: value}
	}
	return t.addMember(v, rest[0], value)
}

func (t *text) replace(doc []byte, v *hujson.Value, value any) ([]byte, error) {
	old, err := decode(v)
	if err != nil {
		return nil, err
	}
	if same(old, value) {
		return doc, nil
	}
	replacement, err := compact(value)
	if bytes.IndexByte(t.b[v.StartOffset:v.EndOffset], '\n') >= 0 {
		replacement, err = t.spread(value, t.indentOf(v.StartOffset), true)
	}
	if err != nil {
		return nil, err
	}
	return t.apply(edit{v.StartOffset, v.EndOffset, replacement})
}

func (t *text) addMember(v *hujson.Value, name string, value any) ([]byte, error) {
	c := t.container(v)
	lines := bytes.IndexByte(t.b[c.open:c.close], '\n') >= 0
	indent := t.indentOf(c.close) + t.unit
	if len(c.spans) > 0 {
		if lead, ok := t.leadOf(c.spans[len(c.spans)-1].start); ok {
			indent = lead
		} else {
			lines = false
		}
	}
	body, err := t.spread(value, indent, lines)
	if err != nil {
		return nil, err
	}
	return t.apply(t.insert(c, scalar(name)+": "+body)...)
}

// Append adds value as the last element of the array at path; an array that
// is not there is made. The element is written on one line.
func Append(doc []byte, path []string, value any) ([]byte, error) {
	t, err := open(doc)
	if err != nil {
		return nil, err
	}
	v, rest, err := t.find(path)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return Set(doc, path, []any{value})
	}
	if _, ok := v.Value.(*hujson.Array); !ok {
		return nil, errorAt(t.b, v.StartOffset, strings.Join(path, ".")+" is not a list")
	}
	line, err := compact(value)
	if err != nil {
		return nil, err
	}
	return t.apply(t.insert(t.container(v), line)...)
}

// Remove takes out the member at path; a document without it is returned as
// it is. Comments around it stay.
func Remove(doc []byte, path []string) ([]byte, error) {
	if len(path) == 0 {
		return nil, fmt.Errorf("a path must name something")
	}
	t, err := open(doc)
	if err != nil {
		return nil, err
	}
	parent, rest, err := t.find(path[:len(path)-1])
	if err != nil || len(rest) > 0 {
		return doc, err
	}
	object, ok := parent.Value.(*hujson.Object)
	if !ok {
		return doc, nil
	}
	i := memberOf(object, path[len(path)-1])
	if i < 0 {
		return doc, nil
	}
	return t.apply(t.remove(t.container(parent), i)...)
}

// RemoveElement takes out element i of the array at path.
func RemoveElement(doc []byte, path []string, i int) ([]byte, error) {
	t, err := open(doc)
	if err != nil {
		return nil, err
	}
	v, rest, err := t.find(path)
	if err != nil {
		return nil, err
	}
	array, ok := v.Value.(*hujson.Array)
	if len(rest) > 0 || !ok || i < 0 || i >= len(array.Elements) {
		return nil, fmt.Errorf("%s has no element %d", strings.Join(path, "."), i)
	}
	return t.apply(t.remove(t.container(v), i)...)
}

// find follows path as far as it goes: v is the last value that exists, rest
// the names that do not. Something else than an object on the way is an error.
func (t *text) find(path []string) (v *hujson.Value, rest []string, err error) {
	v = t.root
	for i := 0; ; i++ {
		if i == len(path) {
			return v, nil, nil
		}
		object, ok := v.Value.(*hujson.Object)
		if !ok {
			what := "the document"
			if i > 0 {
				what = strings.Join(path[:i], ".")
			}
			return nil, nil, errorAt(t.b, v.StartOffset, what+" is not an object")
		}
		m := memberOf(object, path[i])
		if m < 0 {
			return v, path[i:], nil
		}
		v = &object.Members[m].Value
	}
}

// memberOf returns the last member of that name, the one that readers use
// when a name is written twice, or -1.
func memberOf(o *hujson.Object, name string) int {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if literal, ok := o.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == name {
			return i
		}
	}
	return -1
}

func decode(v *hujson.Value) (any, error) {
	c := v.Clone()
	c.Standardize()
	var out any
	if err := json.Unmarshal(c.Pack(), &out); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	return out, nil
}

// same compares two values as JSON.
func same(a, b any) bool {
	x, errX := compact(a)
	y, errY := compact(b)
	return errX == nil && errY == nil && x == y
}
