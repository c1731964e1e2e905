package config

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"tenon/daemon/internal/config/jsonc"
)

// parseJSON reads JSON with comments and trailing commas.
func parseJSON(doc []byte) (*node, error) {
	value, err := jsonc.Parse(doc)
	var bad *jsonc.Error
	if errors.As(err, &bad) {
		return nil, &placed{at: place{bad.Line, bad.Column}, message: bad.Message}
	}
	if err != nil {
		return nil, err
	}
	return fromJSON(value, indexLines(doc))
}

func fromJSON(v *hujson.Value, lines lineIndex) (*node, error) {
	n := &node{at: lines.place(v.StartOffset)}
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.kind = objectNode
		for i := range t.Members {
			m := &t.Members[i]
			name, _ := m.Name.Value.(hujson.Literal)
			child, err := fromJSON(&m.Value, lines)
			if err != nil {
				return nil, err
			}
			if err := n.add(member{name.String(), lines.place(m.Name.StartOffset), child}); err != nil {
				return nil, err
			}
		}
	case *hujson.Array:
		n.kind = arrayNode
		for i := range t.Elements {
			child, err := fromJSON(&t.Elements[i], lines)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, child)
		}
	case hujson.Literal:
		switch t.Kind() {
		case '"':
			n.kind, n.text = stringNode, t.String()
			if !utf8.Valid(t) {
				return nil, badAt(n, "string is not valid UTF-8")
			}
		case '0':
			n.kind, n.text = numberNode, string(t)
		case 'n':
			n.kind = nullNode
		default:
			n.kind, n.text = boolNode, strings.TrimSpace(string(t))
		}
	}
	return n, nil
}
