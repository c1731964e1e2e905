package config

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads a TOML document. The values come from the ordinary decoder;
// a second pass over the syntax gives each key its place.
func parseTOML(doc []byte) (*node, error) {
	if !shallow(doc) {
		return nil, fmt.Errorf("nested too deeply: at most %d levels are read", maxDepth)
	}
	var values map[string]any
	if err := toml.Unmarshal(doc, &values); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			line, column := bad.Position()
			return nil, &placed{at: place{line, column}, message: "not valid TOML: " + strings.TrimPrefix(bad.Error(), "toml: ")}
		}
		return nil, err
	}
	return fromTOML(values, tomlPlaces(doc), "", 0)
}

// shallow is a rough guard in front of a decoder that recurses without a limit
// of its own: it counts brackets in strings and comments too, hence the room.
func shallow(doc []byte) bool {
	depth := 0
	for _, c := range doc {
		switch c {
		case '[', '{':
			if depth++; depth > 16*maxDepth {
				return false
			}
		case ']', '}':
			depth--
		}
	}
	return true
}

func fromTOML(value any, places map[string]place, path string, depth int) (*node, error) {
	n := &node{at: places[path]}
	if depth > maxDepth {
		return nil, badAt(n, "nested too deeply: at most %d levels are read", maxDepth)
	}
	switch v := value.(type) {
	case map[string]any:
		n.kind = objectNode
		for name, child := range v {
			below := path + "\x00" + name
			c, err := fromTOML(child, places, below, depth+1)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{name, places[below], c})
		}
		// The decoder gives a map: order of writing comes back from the places.
		sort.Slice(n.members, func(i, j int) bool {
			a, b := n.members[i], n.members[j]
			if a.at != b.at {
				return a.at.line < b.at.line || a.at.line == b.at.line && a.at.column < b.at.column
			}
			return a.name < b.name
		})
	case []any:
		n.kind = arrayNode
		for _, item := range v {
			child, err := fromTOML(item, places, path, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, child)
		}
	case string:
		n.kind, n.text = stringNode, v
	case bool:
		n.kind, n.text = boolNode, strconv.FormatBool(v)
	case int64:
		n.kind, n.text = numberNode, strconv.FormatInt(v, 10)
	case float64:
		n.kind, n.text = numberNode, strconv.FormatFloat(v, 'g', -1, 64)
	default: // dates and times: no setting is one
		n.kind, n.text = stringNode, fmt.Sprint(v)
	}
	return n, nil
}

// tomlPlaces maps each key's path (parts joined by NUL) to where it is first
// written. Elements of an array of tables share the path of the array.
func tomlPlaces(doc []byte) map[string]place {
	lines := indexLines(doc)
	places := map[string]place{"": {1, 1}}
	var p unstable.Parser
	p.Reset(doc)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = walkKey(e, "", lines, places)
		case unstable.KeyValue:
			walkKeyValue(e, table, lines, places)
		}
	}
	return places
}

func walkKey(n *unstable.Node, path string, lines lineIndex, places map[string]place) string {
	for it := n.Key(); it.Next(); {
		part := it.Node()
		path += "\x00" + string(part.Data)
		if _, seen := places[path]; !seen {
			places[path] = lines.place(int(part.Raw.Offset))
		}
	}
	return path
}

func walkKeyValue(n *unstable.Node, path string, lines lineIndex, places map[string]place) {
	path = walkKey(n, path, lines, places)
	if v := n.Value(); v != nil && v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			if child := it.Node(); child.Kind == unstable.KeyValue {
				walkKeyValue(child, path, lines, places)
			}
		}
	}
}
