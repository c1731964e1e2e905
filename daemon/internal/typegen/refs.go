package typegen

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// refs finds what a schema refers to inside its own document. Other documents
// are never fetched.
type refs struct {
	root   *value
	byName map[string]*value // "#anchor", and each "$id" as it is written
}

func newRefs(root *value) *refs {
	r := &refs{root: root, byName: map[string]*value{}}
	r.collect(root)
	return r
}

// collect walks the whole document: identifiers may stand anywhere.
func (r *refs) collect(v *value) {
	for _, item := range v.items {
		r.collect(item)
	}
	for _, name := range []string{"$id", "id", "$anchor", "$dynamicAnchor"} {
		text := v.get(name).str()
		if text == "" {
			continue
		}
		if strings.HasSuffix(name, "nchor") {
			text = "#" + text
		}
		if _, taken := r.byName[text]; !taken {
			r.byName[text] = v
		}
	}
}

// find is the schema that a reference names, or nil.
func (r *refs) find(ref string) *value {
	if v := r.byName[ref]; v != nil && ref != "#" {
		return v
	}
	document, fragment, _ := strings.Cut(ref, "#")
	root := r.root
	if document != "" {
		if root = r.byName[document]; root == nil {
			if root = r.byName[document+"#"]; root == nil {
				return nil
			}
		}
	}
	if fragment == "" {
		return root
	}
	if text, err := url.PathUnescape(fragment); err == nil {
		fragment = text
	}
	path, isPointer := strings.CutPrefix(fragment, "/")
	if !isPointer {
		return r.byName["#"+fragment]
	}
	at := root
	for name := range strings.SplitSeq(path, "/") {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if at = step(at, name); at == nil {
			return nil
		}
	}
	return at
}

func step(v *value, name string) *value {
	if v.kind == '{' {
		return v.get(name)
	}
	if i, err := strconv.Atoi(name); err == nil && v.kind == '[' && i >= 0 && i < len(v.items) {
		return v.items[i]
	}
	return nil
}

// refWords are the keywords that refer to a schema. What the dynamic ones mean
// beyond that needs other documents.
var refWords = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// refOf is what a schema refers to, or empty.
func refOf(v *value) string {
	for _, name := range refWords {
		if text := v.get(name).str(); text != "" {
			return text
		}
	}
	return ""
}

// follow is the schema at the end of a chain of references that say nothing
// else. Why says what is wrong with the chain.
func (r *refs) follow(ref string, legacy bool) (end *value, why string) {
	seen := map[*value]bool{}
	for {
		v := r.find(ref)
		switch {
		case v == nil && strings.HasPrefix(ref, "#"):
			return nil, "the reference " + strconv.Quote(brief(ref)) + " leads nowhere"
		case v == nil:
			return nil, "the reference " + strconv.Quote(brief(ref)) + " leads to another document, which is not fetched"
		case !v.isSchema():
			return nil, "the reference " + strconv.Quote(brief(ref)) + " leads to what is no schema"
		case seen[v]:
			return nil, "the reference " + strconv.Quote(brief(ref)) + " leads to itself"
		}
		seen[v] = true
		if ref = refOf(v); ref == "" || !legacy && constrains(v) {
			return v, ""
		}
	}
}

func brief(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return text
}

// constrains reports whether a schema says more about a value than its reference.
func constrains(v *value) bool {
	for _, name := range v.names {
		switch name {
		case "type", "properties", "required", "additionalProperties", "patternProperties", "items", "prefixItems",
			"enum", "const", "allOf", "anyOf", "oneOf", "not", "nullable":
			return true
		}
	}
	return false
}

// nameOf makes a type's name, of letters and digits, of what a reference calls it.
func nameOf(ref string, used map[string]bool) string {
	last := strings.TrimRight(ref, "#/")
	if i := strings.LastIndexAny(last, "/#"); i >= 0 {
		last = last[i+1:]
	}
	last = strings.TrimSuffix(last, ".json")
	if text, err := url.PathUnescape(last); err == nil {
		last = text
	}
	var b strings.Builder
	upper := true
	for _, r := range last {
		switch {
		case r < 0x80 && unicode.IsLetter(r):
			if upper {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
			upper = false
		case r < 0x80 && unicode.IsDigit(r):
			if b.Len() == 0 {
				b.WriteString("Type")
			}
			b.WriteRune(r)
		default:
			upper = true
		}
		if b.Len() >= 60 {
			break
		}
	}
	name := b.String()
	if name == "" {
		name = "Self"
	}
	for base, i := name, 2; used[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	used[name] = true
	return name
}
