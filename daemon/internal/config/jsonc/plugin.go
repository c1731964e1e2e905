package jsonc

import (
	"bytes"

	"github.com/tailscale/hujson"
)

// Plugin is an entry of one of opencode's plugin lists.
type Plugin struct {
	List    string // the list's key: "plugin" of v1 (also in tui.json), "plugins" of v2
	Path    string
	Options map[string]any // empty: only the path is written
}

// entry is how the list's own generation writes it: [path, options] in
// "plugin", {package, options} in "plugins".
func (p Plugin) entry() any {
	switch {
	case len(p.Options) == 0:
		return p.Path
	case p.List == "plugins":
		return map[string]any{"package": p.Path, "options": p.Options}
	}
	return []any{p.Path, p.Options}
}

// AddPlugin adds p to its list in an opencode document. An entry with the same
// path and options leaves the document as it is; one with other options gets
// p's. RemovePlugin undoes it byte for byte.
func AddPlugin(doc []byte, p Plugin) ([]byte, error) {
	t, err := open(doc)
	if err != nil {
		return nil, err
	}
	list, i, err := t.plugin(p.List, p.Path)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return Append(doc, []string{p.List}, p.entry())
	}
	v := &list.Value.(*hujson.Array).Elements[i]
	old, err := decode(v)
	if err != nil {
		return nil, err
	}
	if same(old, p.entry()) {
		return doc, nil
	}
	line, err := compact(p.entry())
	if err != nil {
		return nil, err
	}
	return t.apply(edit{v.StartOffset, v.EndOffset, line})
}

// HasPlugin reports whether the list of that key has an entry with that path.
func HasPlugin(doc []byte, list, path string) (bool, error) {
	t, err := open(doc)
	if err != nil {
		return false, err
	}
	_, i, err := t.plugin(list, path)
	return i >= 0, err
}

// Plugins are the paths and package names that a list has, in its order. A
// document without the list has none.
func Plugins(doc []byte, list string) ([]string, error) {
	value, ok, err := Get(doc, []string{list})
	if err != nil || !ok {
		return nil, err
	}
	entries, _ := value.([]any)
	var names []string
	for _, entry := range entries {
		switch e := entry.(type) {
		case []any:
			if len(e) > 0 {
				entry = e[0]
			}
		case map[string]any:
			entry = e["package"]
		}
		if name, ok := entry.(string); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// RemovePlugin takes out every entry of the list with that path. A list that
// AddPlugin made is taken out with its last entry; it is told by the way it is
// written.
func RemovePlugin(doc []byte, list, path string) ([]byte, error) {
	for {
		t, err := open(doc)
		if err != nil {
			return nil, err
		}
		value, i, err := t.plugin(list, path)
		if err != nil || i < 0 {
			return doc, err
		}
		if t.madeHere(value) {
			return Remove(doc, []string{list})
		}
		if doc, err = RemoveElement(doc, []string{list}, i); err != nil {
			return nil, err
		}
	}
}

// plugin finds an entry by its path; i is -1 when there is none.
func (t *text) plugin(name, path string) (list *hujson.Value, i int, err error) {
	v, rest, err := t.find([]string{name})
	if err != nil || len(rest) > 0 {
		return nil, -1, err
	}
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, -1, errorAt(t.b, v.StartOffset, name+" is not a list")
	}
	for i := range array.Elements {
		entry := &array.Elements[i]
		switch e := entry.Value.(type) {
		case *hujson.Array:
			if len(e.Elements) > 0 {
				entry = &e.Elements[0]
			}
		case *hujson.Object:
			if m := memberOf(e, "package"); m >= 0 {
				entry = &e.Members[m].Value
			}
		}
		if name, ok := entry.Value.(hujson.Literal); ok && name.Kind() == '"' && name.String() == path {
			return v, i, nil
		}
	}
	return v, -1, nil
}

// madeHere reports whether a list of one entry is written exactly as Append
// writes a new list.
func (t *text) madeHere(list *hujson.Value) bool {
	c := t.container(list)
	if len(c.spans) != 1 || c.spans[0].comma >= 0 {
		return false
	}
	before, after := t.b[c.open+1:c.spans[0].start], t.b[c.spans[0].end:c.close]
	if string(before) == " " && string(after) == " " {
		return true
	}
	indent := t.indentOf(c.close)
	return bytes.Equal(before, []byte(t.nl+indent+t.unit)) && bytes.Equal(after, []byte(t.nl+indent))
}
