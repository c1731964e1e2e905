package jsonc

import (
	"bytes"

	"github.com/tailscale/hujson"
)

// Plugin is an entry of opencode's "plugin" list: [path, options].
type Plugin struct {
	Path    string
	Options map[string]any // empty: only the path is written
}

func (p Plugin) entry() any {
	if len(p.Options) == 0 {
		return p.Path
	}
	return []any{p.Path, p.Options}
}

var pluginPath = []string{"plugin"}

// AddPlugin adds p to the "plugin" list of an opencode document. An entry with
// the same path and options leaves the document as it is; one with other
// options gets p's. RemovePlugin undoes it byte for byte.
func AddPlugin(doc []byte, p Plugin) ([]byte, error) {
	t, err := open(doc)
	if err != nil {
		return nil, err
	}
	list, i, err := t.plugin(p.Path)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return Append(doc, pluginPath, p.entry())
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

// HasPlugin reports whether the "plugin" list has an entry with that path.
func HasPlugin(doc []byte, path string) (bool, error) {
	t, err := open(doc)
	if err != nil {
		return false, err
	}
	_, i, err := t.plugin(path)
	return i >= 0, err
}

// RemovePlugin takes out every entry with that path. A list that AddPlugin
// made is taken out with its last entry; it is told by the way it is written.
func RemovePlugin(doc []byte, path string) ([]byte, error) {
	for {
		t, err := open(doc)
		if err != nil {
			return nil, err
		}
		list, i, err := t.plugin(path)
		if err != nil || i < 0 {
			return doc, err
		}
		if t.madeHere(list) {
			return Remove(doc, pluginPath)
		}
		if doc, err = RemoveElement(doc, pluginPath, i); err != nil {
			return nil, err
		}
	}
}

// plugin finds an entry by its path; i is -1 when there is none.
func (t *text) plugin(path string) (list *hujson.Value, i int, err error) {
	v, rest, err := t.find(pluginPath)
	if err != nil || len(rest) > 0 {
		return nil, -1, err
	}
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, -1, errorAt(t.b, v.StartOffset, "plugin is not a list")
	}
	for i := range array.Elements {
		entry := &array.Elements[i]
		if pair, ok := entry.Value.(*hujson.Array); ok && len(pair.Elements) > 0 {
			entry = &pair.Elements[0]
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
