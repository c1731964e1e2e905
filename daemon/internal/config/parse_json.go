package config

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

var hujsonPlace = regexp.MustCompile(`^hujson: line (\d+), column (\d+): (?s)(.*)$`)

// parseJSON reads JSON with comments and trailing commas.
func parseJSON(doc []byte) (*node, error) {
	lines := indexLines(doc)
	if offset := tooDeep(doc); offset >= 0 {
		return nil, &placed{at: lines.place(offset), message: "nested too deeply: at most " + strconv.Itoa(maxDepth) + " levels are read"}
	}
	// The library wants a line end after a comment also at the end of the file.
	value, err := hujson.Parse(append(doc[:len(doc):len(doc)], '\n'))
	if err != nil {
		if m := hujsonPlace.FindStringSubmatch(err.Error()); m != nil {
			line, _ := strconv.Atoi(m[1])
			column, _ := strconv.Atoi(m[2])
			return nil, &placed{at: place{line, column}, message: "not valid JSON: " + m[3]}
		}
		return nil, err
	}
	return fromJSON(&value, lines)
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

// tooDeep returns the offset of the first bracket beyond maxDepth, or -1. It
// runs before the parser, which recurses without a limit of its own.
func tooDeep(doc []byte) int {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; c {
		case '"':
			for i++; i < len(doc) && doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case '/':
			i = skipComment(doc, i)
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// skipComment returns the offset of the last byte of the comment that starts
// at i, or i when none does.
func skipComment(doc []byte, i int) int {
	rest := string(doc[i:min(i+2, len(doc))])
	switch rest {
	case "//":
		for i < len(doc) && doc[i] != '\n' {
			i++
		}
	case "/*":
		for i += 2; i+1 < len(doc) && (doc[i] != '*' || doc[i+1] != '/'); {
			i++
		}
		i++
	}
	return i
}
