package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"tenon/daemon/internal/fault"
)

// Limits of a document.
const (
	maxDocument = 64 << 20  // bytes
	maxValues   = 5_000_000 // values, after aliases of YAML are followed
	maxNested   = 500

	maxOperations = 20_000
	maxNotes      = 50        // of what is left out, that are told one by one
	maxWritten    = 1_000_000 // parts of all tools' schemas together
	leastWritten  = 200       // parts that every tool's schemas may have in any case
)

// document is an OpenAPI document as plain values: map[string]any, []any,
// string, json.Number, bool, nil.
type document struct {
	name string // file or address, for messages
	text []byte
	root map[string]any
	old  bool // version 3.0, whose schemas are not yet JSON Schema

	written int // parts of schemas, of all tools so far

	mu    sync.Mutex // guards nodes
	nodes *yaml.Node // the text once more, with lines; nil: not read, or forgotten
}

// parseDocument reads JSON or YAML. A mistake names the place.
func parseDocument(name string, text []byte) (*document, error) {
	d := &document{name: name, text: text}
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	var root any
	var err error
	if bytes.HasPrefix(trimmed, []byte("{")) && !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") {
		root, err = d.json(trimmed)
	} else {
		root, err = d.yaml(trimmed)
	}
	if err != nil {
		return nil, err
	}
	var ok bool
	if d.root, ok = root.(map[string]any); !ok {
		return nil, d.wrong(nil, "the document is no object")
	}
	version, _ := d.root["openapi"].(string)
	switch {
	case strings.HasPrefix(version, "3.0"):
		d.old = true
	case strings.HasPrefix(version, "3."):
	case d.root["swagger"] != nil:
		return nil, d.wrong([]string{"swagger"}, "this is a Swagger 2.0 document; OpenAPI 3.0 and 3.1 are read").WithHint("convert it, for example with swagger2openapi")
	default:
		return nil, d.wrong([]string{"openapi"}, "openapi must be a version such as \"3.1.0\"")
	}
	if _, ok := d.root["paths"].(map[string]any); !ok {
		return nil, d.wrong([]string{"paths"}, "paths is missing or no object")
	}
	return d, nil
}

func (d *document) json(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var root any
	err := dec.Decode(&root)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something stands behind the document")
		}
	}
	if err == nil {
		return root, nil
	}
	at := dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	before := text[:min(int(at), len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return nil, fault.New(fault.ConfigError, "%s:%d:%d: not valid JSON: %w", d.name, line, max(1, column), err)
}

var yamlLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^yaml: line (\d+): (?s)(.*)$`)
})

func (d *document) yaml(text []byte) (any, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		if m := yamlLine().FindStringSubmatch(err.Error()); m != nil {
			return nil, fault.New(fault.ConfigError, "%s:%s: not valid YAML: %s", d.name, m[1], m[2])
		}
		return nil, fault.New(fault.ConfigError, "%s: %w", d.name, err)
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) == 0 {
		return nil, fault.New(fault.ConfigError, "%s: the document is empty", d.name)
	}
	left := maxValues
	return d.value(root.Content[0], 0, &left)
}

func (d *document) value(n *yaml.Node, depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > maxNested {
		return nil, fault.New(fault.ConfigError, "%s:%d: too many or too deeply nested values", d.name, n.Line)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.value(n.Alias, depth+1, left)
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := d.value(n.Content[i+1], depth+1, left)
			if err != nil {
				return nil, err
			}
			out[n.Content[i].Value] = v // 200: and "200": are the same key
		}
		return out, nil
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			v, err := d.value(item, depth+1, left)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	}
	switch n.Tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return b, nil
		}
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
		var f float64
		if n.Decode(&f) == nil {
			if text := strconv.FormatFloat(f, 'g', -1, 64); json.Valid([]byte(text)) {
				return json.Number(text), nil
			}
		}
	}
	return n.Value, nil
}

// wrong is a mistake at a path of the document, with its line where it is known.
func (d *document) wrong(path []string, format string, args ...any) *fault.Error {
	at := d.name
	if line := d.line(path); line > 0 {
		at = fmt.Sprintf("%s:%d", d.name, line)
	}
	if len(path) > 0 {
		at += ": " + strings.Join(path, ".")
	}
	return fault.New(fault.ConfigError, "%s: %s", at, fmt.Sprintf(format, args...))
}

// maxLocated bounds the documents that are read once more to find a line.
const maxLocated = 4 << 20

// line is where a path stands, or where the longest part of it that exists does.
func (d *document) line(path []string) int {
	if len(d.text) > maxLocated {
		return 0
	}
	n := d.located()
	if n == nil {
		return 0
	}
	line := n.Line
	for _, name := range path {
		found := false
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				line, n, found = n.Content[i].Line, n.Content[i+1], true
				break
			}
		}
		if index, err := strconv.Atoi(name); err == nil && n.Kind == yaml.SequenceNode && index >= 0 && index < len(n.Content) && !found {
			n, found = n.Content[index], true
			line = n.Line
		}
		if !found {
			break
		}
	}
	return line
}

// located is the document with its lines; nil when they cannot be told. It is read
// once for all mistakes of one reading: a document may have thousands.
func (d *document) located() *yaml.Node {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes == nil {
		d.nodes = &yaml.Node{}
		if yaml.Unmarshal(d.text, d.nodes) != nil { // JSON is YAML
			d.nodes = &yaml.Node{}
		}
	}
	if len(d.nodes.Content) == 0 {
		return nil
	}
	return d.nodes.Content[0]
}

// forget gives back what only messages need.
func (d *document) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes = nil
}

// find follows a reference within the document; false when it leads nowhere or
// out of the document.
func (d *document) find(ref string) (any, bool) {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	var v any = d.root
	for part := range strings.SplitSeq(rest, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(unescape(part))
		switch t := v.(type) {
		case map[string]any:
			if v, ok = t[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(t) {
				return nil, false
			}
			v = t[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// object is v as an object, with references followed; nil when it is none.
func (d *document) object(v any) map[string]any {
	var seen []string
	for {
		m, _ := v.(map[string]any)
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		if slices.Contains(seen, ref) {
			return nil
		}
		seen = append(seen, ref)
		if v, ok = d.find(ref); !ok {
			return nil
		}
	}
}
