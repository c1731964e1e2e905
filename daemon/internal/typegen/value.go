package typegen

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// value is one JSON value whose objects keep their order, as a reader of the
// types expects what the author wrote.
type value struct {
	kind  byte           // '{' '[' '"' '0' 't' 'n'; 't' is for both booleans
	text  string         // of a string, decoded; of a number as written; "true" or "false"
	names []string       // of an object's members, in order, each once
	items []*value       // of an array, or of an object's members
	place map[string]int // of members, once there are many
}

// get is a member of an object; nil when there is none, or it is no object.
func (v *value) get(name string) *value {
	if v == nil || v.kind != '{' {
		return nil
	}
	if i := v.find(name); i >= 0 {
		return v.items[i]
	}
	return nil
}

// find is where a member stands, or -1.
func (v *value) find(name string) int {
	if v.place == nil {
		return slices.Index(v.names, name)
	}
	if i, ok := v.place[name]; ok {
		return i
	}
	return -1
}

// is reports whether v is that boolean.
func (v *value) is(b bool) bool {
	return v != nil && v.kind == 't' && (v.text == "true") == b
}

// str is the text of a string, else empty.
func (v *value) str() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

// list is the items of an array, else nil.
func (v *value) list() []*value {
	if v == nil || v.kind != '[' {
		return nil
	}
	return v.items
}

// isSchema reports whether v can be a schema.
func (v *value) isSchema() bool { return v != nil && (v.kind == '{' || v.kind == 't') }

var errDeep = errors.New("it is nested too deep")

// parse reads one JSON document. Of members with one name the last one counts.
func parse(text []byte) (*value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := read(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

func read(d *json.Decoder, depth int) (*value, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > 4*maxDepth { // a level of schema is two of JSON, and a half
		return nil, errDeep
	}
	switch t := t.(type) {
	case string:
		return &value{kind: '"', text: t}, nil
	case json.Number:
		return &value{kind: '0', text: t.String()}, nil
	case bool:
		if t {
			return &value{kind: 't', text: "true"}, nil
		}
		return &value{kind: 't', text: "false"}, nil
	case json.Delim:
		v := &value{kind: byte(t)}
		return v, v.fill(d, depth)
	}
	return &value{kind: 'n', text: "null"}, nil
}

// fill reads what is inside an object or array, its end included.
func (v *value) fill(d *json.Decoder, depth int) error {
	for d.More() {
		name := ""
		if v.kind == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			name = t.(string) // the decoder lets nothing else stand here
		}
		item, err := read(d, depth+1)
		if err != nil {
			return err
		}
		if v.kind == '[' {
			v.items = append(v.items, item)
			continue
		}
		if i := v.find(name); i >= 0 {
			v.items[i] = item
			continue
		}
		v.names, v.items = append(v.names, name), append(v.items, item)
		if v.place != nil {
			v.place[name] = len(v.names) - 1
		} else if len(v.names) == 32 {
			v.place = make(map[string]int, 64)
			for i, n := range v.names {
				v.place[n] = i
			}
		}
	}
	_, err := d.Token()
	return err
}
