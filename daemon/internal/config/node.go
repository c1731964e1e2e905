package config

import (
	"fmt"
	"strconv"
)

// nodeKind is the type of a value in a parsed document.
type nodeKind string

const (
	objectNode nodeKind = "object"
	arrayNode  nodeKind = "list"
	stringNode nodeKind = "string"
	numberNode nodeKind = "number"
	boolNode   nodeKind = "true or false"
	nullNode   nodeKind = "null"
)

// node is one value of a document with the place where it was written. All
// four formats are read into this one shape, so that every check and message
// is written once and keys keep their case and order.
type node struct {
	kind    nodeKind
	at      place
	members []member // objectNode, in order of writing, names unique
	items   []*node  // arrayNode
	text    string   // stringNode: the string; numberNode, boolNode: as written
}

// member is one name and value of an object.
type member struct {
	name  string
	at    place // of the name
	value *node
}

// place is a position in a file; both numbers start at 1, 0 is unknown.
type place struct{ line, column int }

// get returns the value named name, or nil.
func (n *node) get(name string) *node {
	if n == nil || n.kind != objectNode {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

// plain turns a node into maps, slices and scalars for the settings layer.
func (n *node) plain() any {
	switch n.kind {
	case objectNode:
		out := make(map[string]any, len(n.members))
		for _, m := range n.members {
			out[m.name] = m.value.plain()
		}
		return out
	case arrayNode:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	case stringNode:
		return n.text
	case numberNode:
		if i, err := strconv.ParseInt(n.text, 0, 64); err == nil {
			return i
		}
		f, _ := strconv.ParseFloat(n.text, 64)
		return f
	case boolNode:
		return n.text == "true"
	}
	return nil
}

// integer returns the node's whole number.
func (n *node) integer() (int64, bool) {
	if n.kind != numberNode {
		return 0, false
	}
	if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
		return i, true
	}
	if f, err := strconv.ParseFloat(n.text, 64); err == nil && f == float64(int64(f)) {
		return int64(f), true
	}
	return 0, false
}

// strings returns the node's list of strings.
func (n *node) strings() ([]string, bool) {
	if n.kind != arrayNode {
		return nil, false
	}
	out := make([]string, 0, len(n.items))
	for _, item := range n.items {
		if item.kind != stringNode {
			return nil, false
		}
		out = append(out, item.text)
	}
	return out, true
}

// add appends a member, refusing a name that is there already.
func (n *node) add(m member) error {
	for i := range n.members {
		if n.members[i].name == m.name {
			return &placed{at: m.at, message: fmt.Sprintf("key %q is written twice (first in line %d)", m.name, n.members[i].at.line)}
		}
	}
	n.members = append(n.members, m)
	return nil
}
