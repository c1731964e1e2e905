package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"sync"

	"go.yaml.in/yaml/v3"
)

var yamlLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^yaml: line (\d+): (?s)(.*)$`)
})

// parseYAML reads one YAML document. Anchors and aliases work; merge keys
// ("<<") and several documents in a file do not.
func parseYAML(doc []byte) (*node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(doc))
	var root yaml.Node
	if err := dec.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return &node{kind: objectNode, at: place{1, 1}}, nil
		}
		if m := yamlLine().FindStringSubmatch(err.Error()); m != nil {
			line, _ := strconv.Atoi(m[1])
			return nil, &placed{at: place{line, 1}, message: "not valid YAML: " + m[2]}
		}
		return nil, err
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, &placed{at: place{max(second.Line, 1), max(second.Column, 1)}, message: "only one YAML document a file is read"}
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		return &node{kind: objectNode, at: place{1, 1}}, nil
	}
	budget := maxNodes
	return fromYAML(root.Content[0], 0, &budget)
}

func fromYAML(y *yaml.Node, depth int, budget *int) (*node, error) {
	n := &node{at: place{y.Line, y.Column}}
	if depth > maxDepth {
		return nil, badAt(n, "nested too deeply: at most %d levels are read", maxDepth)
	}
	if *budget--; *budget < 0 {
		return nil, badAt(n, "too many values: at most %d are read", maxNodes)
	}
	switch y.Kind {
	case yaml.AliasNode:
		return fromYAML(y.Alias, depth+1, budget)
	case yaml.MappingNode:
		n.kind = objectNode
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			at := place{key.Line, key.Column}
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return nil, &placed{at: at, message: "only plain keys are read here"}
			}
			child, err := fromYAML(y.Content[i+1], depth+1, budget)
			if err != nil {
				return nil, err
			}
			if err := n.add(member{key.Value, at, child}); err != nil {
				return nil, err
			}
		}
	case yaml.SequenceNode:
		n.kind = arrayNode
		for _, item := range y.Content {
			child, err := fromYAML(item, depth+1, budget)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, child)
		}
	case yaml.ScalarNode:
		return yamlScalar(y, n)
	default:
		return nil, badAt(n, "unreadable YAML value")
	}
	return n, nil
}

func yamlScalar(y *yaml.Node, n *node) (*node, error) {
	switch y.Tag {
	case "!!null":
		n.kind = nullNode
	case "!!bool":
		n.kind = boolNode
		var b bool
		if err := y.Decode(&b); err != nil {
			return nil, badAt(n, "unreadable YAML value %q", y.Value)
		}
		n.text = strconv.FormatBool(b)
	case "!!int", "!!float":
		n.kind, n.text = numberNode, y.Value
	default: // strings, and dates and binary data as they are written
		n.kind, n.text = stringNode, y.Value
	}
	return n, nil
}
