package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// compiler makes nodes of a document. References are resolved after everything
// that stands in schema positions is known.
type compiler struct {
	doc         any
	dialect     dialect
	nodes       map[string]*node  // by pointer into the document
	bases       map[string]string // of each node: what its references are relative to
	resources   map[string]string // $id, absolute, to the pointer of its schema
	anchors     map[string]string // $id#anchor to the pointer of its schema
	references  []reference
	unevaluated bool
}

type reference struct {
	from *node
	to   string
}

func compile(doc any) (*Schema, error) {
	c := &compiler{
		doc: doc, nodes: map[string]*node{}, bases: map[string]string{},
		resources: map[string]string{"": ""}, anchors: map[string]string{},
	}
	if top, ok := doc.(map[string]any); ok {
		var err error
		if c.dialect, err = dialectOf(top["$schema"]); err != nil {
			return nil, err
		}
	}
	root, err := c.node(doc, "", "")
	if err != nil {
		return nil, err
	}
	for len(c.references) > 0 { // one may lead to where nothing was compiled yet
		next := c.references[0]
		c.references = c.references[1:]
		if next.from.ref, err = c.resolve(next); err != nil {
			return nil, err
		}
	}
	return &Schema{root: root, unevaluated: c.unevaluated}, nil
}

// dialect is what differs between the versions of the standard, where one
// cannot simply understand both.
type dialect struct {
	refAlone bool   // $ref hides what stands beside it (to draft-07)
	id       string // the keyword that names a schema
}

// dialectOf reads $schema; without it the newest dialect holds, as MCP has it.
func dialectOf(v any) (dialect, error) {
	text, ok := v.(string)
	if !ok {
		return dialect{id: "$id"}, nil
	}
	_, name, _ := strings.Cut(strings.TrimSuffix(text, "#"), "://json-schema.org/")
	switch name {
	case "draft-04/schema":
		return dialect{refAlone: true, id: "id"}, nil
	case "draft-06/schema", "draft-07/schema":
		return dialect{refAlone: true, id: "$id"}, nil
	case "schema", "draft/2019-09/schema", "draft/2020-12/schema":
		return dialect{id: "$id"}, nil
	}
	return dialect{}, fmt.Errorf("its dialect %s is not known", clip(text))
}

// clip keeps what a server wrote short enough for one line.
func clip(text string) string {
	if r := []rune(text); len(r) > 100 {
		text = string(r[:100]) + "…"
	}
	return strconv.Quote(text)
}

// node compiles what stands at a pointer of the document.
func (c *compiler) node(v any, at, base string) (*node, error) {
	if n, ok := c.nodes[at]; ok {
		return n, nil
	}
	n := &node{
		at: at, minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minContains: -1, maxContains: -1, minProps: -1, maxProps: -1,
	}
	c.nodes[at] = n
	switch v := v.(type) {
	case bool:
		n.never = !v
	case map[string]any:
		ref, _ := v["$ref"].(string)
		alone := c.dialect.refAlone && ref != ""
		if !alone {
			base = c.name(v, at, base)
		}
		c.bases[at] = base
		if ref != "" {
			c.references = append(c.references, reference{n, ref})
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			compileKey, known := keywords[key]
			if alone && key != "definitions" && key != "$defs" || !known || v[key] == nil && key != "const" {
				continue // null is how some servers write that there is none
			}
			if err := compileKey(&keyword{c, n, v, key, base}, v[key]); err != nil {
				return nil, err
			}
		}
	default:
		return nil, fmt.Errorf("#%s is neither an object nor a boolean", at)
	}
	return n, nil
}

// name notes what a schema calls itself and gives the base of its references.
func (c *compiler) name(v map[string]any, at, base string) string {
	if id, ok := v[c.dialect.id].(string); ok {
		if absolute, anchor, ok := join(base, id); ok {
			if anchor != "" {
				c.anchors[absolute+"#"+anchor] = at
			} else {
				base = absolute
				c.resources[base] = at
			}
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := v[key].(string); ok {
			c.anchors[base+"#"+anchor] = at
		}
	}
	return base
}

// join resolves a reference against its base and parts it from its fragment.
func join(base, ref string) (absolute, fragment string, ok bool) {
	b, err := url.Parse(base)
	if err != nil {
		return "", "", false
	}
	u, err := b.Parse(ref)
	if err != nil {
		return "", "", false
	}
	fragment = u.Fragment
	u.Fragment, u.RawFragment = "", ""
	return u.String(), fragment, true
}

// resolve finds the node that a reference names, within the document only.
func (c *compiler) resolve(r reference) (*node, error) {
	lost := fmt.Errorf("reference to %s is not followed", clip(r.to))
	base, fragment, ok := join(c.bases[r.from.at], r.to)
	if !ok {
		return nil, lost
	}
	at, ok := c.resources[base]
	if !ok {
		return nil, lost
	}
	if fragment != "" && fragment[0] != '/' {
		if at, ok = c.anchors[base+"#"+fragment]; !ok {
			return nil, lost
		}
		fragment = ""
	}
	at += fragment
	if n, ok := c.nodes[at]; ok {
		return n, nil
	}
	v, ok := lookUp(c.doc, at)
	if !ok {
		return nil, lost
	}
	return c.node(v, at, base)
}

var pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")

// lookUp follows a JSON pointer.
func lookUp(v any, pointer string) (any, bool) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = pointerUnescape.Replace(token)
		var ok bool
		switch at := v.(type) {
		case map[string]any:
			v, ok = at[token]
		case []any:
			i, err := strconv.Atoi(token)
			if ok = err == nil && i >= 0 && i < len(at); ok {
				v = at[i]
			}
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// keyword is one keyword being compiled into its node.
type keyword struct {
	*compiler
	n      *node
	schema map[string]any // that it stands in
	key    string
	base   string
}

func (k *keyword) ill(want string) error {
	return fmt.Errorf("%s in #%s is not %s", k.key, k.n.at, want)
}

func (k *keyword) sub(v any, tokens ...string) (*node, error) {
	at := k.n.at + "/" + k.key
	for _, token := range tokens {
		at += "/" + pointerEscape.Replace(token)
	}
	return k.node(v, at, k.base)
}

func (k *keyword) list(v any) ([]*node, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, k.ill("a list of schemas")
	}
	out := make([]*node, len(list))
	for i, each := range list {
		var err error
		if out[i], err = k.sub(each, strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (k *keyword) table(v any) (map[string]*node, error) {
	table, ok := v.(map[string]any)
	if !ok {
		return nil, k.ill("an object of schemas")
	}
	out := make(map[string]*node, len(table))
	for name, each := range table {
		var err error
		if out[name], err = k.sub(each, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (k *keyword) names(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, k.ill("a list of names")
	}
	out := make([]string, len(list))
	for i, each := range list {
		if out[i], ok = each.(string); !ok {
			return nil, k.ill("a list of names")
		}
	}
	return out, nil
}

func (k *keyword) limit(v any) (int, error) {
	number, _ := v.(json.Number)
	r := rational(number)
	if r == nil || !r.IsInt() || r.Sign() < 0 {
		return 0, k.ill("a count")
	}
	if !r.Num().IsInt64() {
		return 1<<62 - 1, nil
	}
	return int(r.Num().Int64()), nil
}

func (k *keyword) number(v any) (*big.Rat, error) {
	number, _ := v.(json.Number)
	r := rational(number)
	if r == nil {
		return nil, k.ill("a number")
	}
	return r, nil
}
