package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The validator follows references without a bound, and each schema in a row
// copies the text of a failure, which has the whole value in it. So a schema is
// measured before it is used, and a value that would cost too much is not
// checked: whoever wrote them, they must not end the daemon or keep it busy for
// more than seconds. Of a tree of nodes, some forty levels are still checked.
const (
	maxSchema = 1 << 20 // bytes of a schema
	maxNest   = 500     // JSON levels of a schema
	maxPath   = 1000    // bytes of a pointer into a schema
	maxDepth  = 1000    // JSON levels of a value
	maxSteps  = 1 << 24 // parts of a value, times the schemas each is held against
	maxText   = 1 << 28 // bytes of a failure, times those schemas, times those in a row
)

// holder is where the schema stands in the document given to the validator.
const holder = "/$defs/tool"

// checker is a schema that is safe to use; for concurrent use.
type checker struct {
	root    *jsonschema.Schema // its references lead below holder, it has no ids
	dialect string
	nodes   []subschema
	at      map[string]int // nodes by JSON pointer
	whole   *jsonschema.Resolved
	longest int   // bytes of the longest path
	chain   int   // most schemas in a row for one value
	weight  int   // most words in one schema
	work    []int // by depth of a value: the schemas that one path through it is held against

	matching int // instructions of all patterns
	largest  int // of one
}

// subschema is one schema within the schema.
type subschema struct {
	schema *jsonschema.Schema
	path   string
	parts  []part
	ref    int // the node that $ref names, or -1
}

// compile reads a schema. The error says in one line why it cannot be used.
func compile(raw []byte) (c *checker, err error) {
	defer func() {
		if r := recover(); r != nil { // an odd schema must never fail a call
			c, err = nil, fmt.Errorf("%v", r)
		}
		if err != nil {
			c, err = nil, errors.New(clip(err.Error()))
		}
	}()
	if depth, _ := extent(raw); len(raw) > maxSchema || depth > maxNest {
		return nil, errors.New("it is too large")
	}
	// The validator takes null for false here.
	raw = regexp.MustCompile(`("items"\s*:\s*)null`).ReplaceAll(raw, []byte("${1}true"))
	c = &checker{root: new(jsonschema.Schema), at: map[string]int{}}
	if err := json.Unmarshal(raw, c.root); err != nil {
		return nil, err
	}
	if c.dialect, err = dialectOf(c.root.Schema); err != nil {
		return nil, err
	}
	if _, err := c.add(c.root, ""); err != nil {
		return nil, err
	}
	if err := c.link(); err != nil {
		return nil, err
	}
	if err := c.measure(); err != nil {
		return nil, err
	}
	c.whole, err = c.resolve("")
	return c, err
}

// dialectOf is the dialect that the validator is told. It knows two; those
// before draft-07 differ from it in what it then cannot read.
func dialectOf(uri string) (string, error) {
	switch {
	case uri == "", strings.Contains(uri, "json-schema.org/draft/2020-12/"), strings.Contains(uri, "json-schema.org/draft/2019-09/"):
		return "", nil
	case strings.Contains(uri, "json-schema.org/draft-0"), strings.Contains(uri, "json-schema.org/schema"):
		return "http://json-schema.org/draft-07/schema#", nil
	}
	return "", fmt.Errorf("dialect %q is not known", uri)
}

// resolve makes a validator of the schema at a path.
func (c *checker) resolve(path string) (*jsonschema.Resolved, error) {
	doc := &jsonschema.Schema{Schema: c.dialect, Ref: reference(path), Defs: map[string]*jsonschema.Schema{"tool": c.root}}
	return doc.Resolve(nil)
}

func reference(path string) string {
	return (&url.URL{Fragment: holder + path}).String()
}

// add lists a schema and those within it.
func (c *checker) add(s *jsonschema.Schema, path string) (int, error) {
	if err := plausible(s, path == ""); err != nil {
		return 0, fmt.Errorf("%w in #%s", err, path)
	}
	// Without names there is one way only to follow a reference, that of link.
	s.ID, s.Anchor, s.DynamicAnchor, s.Schema, s.Vocabulary = "", "", "", "", nil
	if s.MultipleOf != nil && (*s.MultipleOf < 1 || *s.MultipleOf != math.Trunc(*s.MultipleOf)) {
		s.MultipleOf = nil // reckoned in floating point: 4.35 were no multiple of 0.01
	}
	if err := c.takePatterns(s); err != nil {
		return 0, err
	}
	if len(path) > maxPath {
		return 0, errors.New("it is too large")
	}
	c.longest = max(c.longest, len(holder)+len(path))
	i, parts := len(c.nodes), partsOf(s)
	c.at[path] = i
	c.nodes = append(c.nodes, subschema{s, path, parts, -1})
	for k, p := range parts {
		j, err := c.add(p.schema, path+p.step)
		if err != nil {
			return 0, err
		}
		parts[k].node = j
	}
	return i, nil
}

// plausible refuses what the validator takes but nobody can have meant.
func plausible(s *jsonschema.Schema, root bool) error {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	for _, t := range types {
		if !slices.Contains([]string{"null", "boolean", "object", "array", "number", "string", "integer"}, t) {
			return fmt.Errorf("%q is not a type", t)
		}
	}
	if len(s.Types) == 0 && s.Types != nil || len(s.AnyOf) == 0 && s.AnyOf != nil || len(s.OneOf) == 0 && s.OneOf != nil {
		return errors.New("a list of alternatives is empty")
	}
	if s.ID != "" && !root {
		return errors.New("a schema with an $id of its own is not looked into")
	}
	if s.DynamicRef != "" || s.Extra["$recursiveRef"] != nil {
		return errors.New("a dynamic reference is not followed")
	}
	return nil
}

// link finds what the references name, by their place in the schema only.
func (c *checker) link() error {
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.schema.Ref == "" {
			continue
		}
		u, err := url.Parse(n.schema.Ref)
		if err != nil {
			return err
		}
		target, ok := c.at[u.Fragment]
		if !ok || n.schema.Ref[0] != '#' {
			return fmt.Errorf("reference %q is not followed", n.schema.Ref)
		}
		n.ref, n.schema.Ref = target, reference(u.Fragment)
	}
	return nil
}
