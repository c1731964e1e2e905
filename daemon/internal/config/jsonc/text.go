package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/tailscale/hujson"
)

// text is a parsed document that is being edited.
type text struct {
	mark bool // a byte order mark stood in front
	b    []byte
	root *hujson.Value
	nl   string // the document's line end
	unit string // one step of indentation
}

func open(doc []byte) (*text, error) {
	t := &text{nl: "\n", unit: "  "}
	t.b, t.mark = bytes.CutPrefix(doc, byteOrderMark)
	var err error
	if t.root, err = Parse(t.b); err != nil {
		return nil, err
	}
	if i := bytes.IndexByte(t.b, '\n'); i > 0 && t.b[i-1] == '\r' {
		t.nl = "\r\n"
	}
	if c := t.container(t.root); c != nil && len(c.spans) > 0 {
		if lead, ok := t.leadOf(c.spans[0].start); ok && lead != "" {
			if step, ok := strings.CutPrefix(lead, t.indentOf(c.close)); ok && step != "" {
				t.unit = step
			}
		}
	}
	return t, nil
}

// leadOf returns the blanks in front of offset when nothing else stands before
// it on its line.
func (t *text) leadOf(offset int) (string, bool) {
	start := bytes.LastIndexByte(t.b[:offset], '\n') + 1
	lead := t.b[start:offset]
	return string(lead), start > 0 && len(bytes.Trim(lead, " \t")) == 0
}

// indentOf is the indentation of the line that holds offset.
func (t *text) indentOf(offset int) string {
	line := t.b[bytes.LastIndexByte(t.b[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// span is an element of an array or a member of an object; comma is the
// offset of the comma behind it, or -1.
type span struct{ start, end, comma int }

// container is an array or object as text: the offsets of its brackets and
// what lies between.
type container struct {
	open, close int
	spans       []span
}

// container returns v as text, or nil when it is neither array nor object.
func (t *text) container(v *hujson.Value) *container {
	c := &container{open: v.StartOffset, close: v.EndOffset - 1}
	add := func(first, last *hujson.Value, isLast bool) {
		s := span{first.StartOffset, last.EndOffset, last.EndOffset + len(last.AfterExtra)}
		if isLast && last.AfterExtra == nil { // the parser's mark of "no trailing comma"
			s.comma = -1
		}
		c.spans = append(c.spans, s)
	}
	switch x := v.Value.(type) {
	case *hujson.Array:
		for i := range x.Elements {
			add(&x.Elements[i], &x.Elements[i], i == len(x.Elements)-1)
		}
	case *hujson.Object:
		for i := range x.Members {
			add(&x.Members[i].Name, &x.Members[i].Value, i == len(x.Members)-1)
		}
	default:
		return nil
	}
	return c
}

// edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// apply makes the edits and reads the result once more: an edit that damaged
// the document is never handed out.
func (t *text) apply(edits ...edit) ([]byte, error) {
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].start < edits[j].start })
	var out bytes.Buffer
	if t.mark {
		out.Write(byteOrderMark)
	}
	at := 0
	for _, e := range edits {
		out.Write(t.b[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(t.b[at:])
	if _, err := open(out.Bytes()); err != nil {
		return nil, fmt.Errorf("the edit would damage the document: %w", err)
	}
	return out.Bytes(), nil
}

// insert puts text behind the last span.
func (t *text) insert(c *container, text string) []edit {
	if len(c.spans) == 0 {
		lead := ""
		// An empty list stays as it is around its first entry: on a line of its
		// own it would look like a list that RemovePlugin may take out.
		if t.b[c.open] == '{' && bytes.IndexByte(t.b[c.open:c.close], '\n') >= 0 {
			lead = t.nl + t.indentOf(c.close) + t.unit
		}
		return []edit{{c.open + 1, c.open + 1, lead + text}}
	}
	last := c.spans[len(c.spans)-1]
	lead, lines := t.leadOf(last.start)
	sep := " "
	if lines {
		sep = t.nl + lead
	}
	if last.comma >= 0 {
		at := last.comma + 1
		if lines {
			at = t.lineRest(at)
		}
		return []edit{{at, at, sep + text + ","}}
	}
	at := last.end
	if lines {
		at = t.lineRest(at)
	}
	return []edit{{last.end, last.end, ","}, {at, at, sep + text}}
}

// lineRest returns the offset behind the comments that follow offset on its
// line, so that a remark stays with what it is about.
func (t *text) lineRest(offset int) int {
	for i := offset; ; {
		for i < len(t.b) && (t.b[i] == ' ' || t.b[i] == '\t') {
			i++
		}
		end := i
		if i < len(t.b) {
			end = skipComment(t.b, i)
		}
		if end == i || bytes.IndexByte(t.b[i:end], '\n') >= 0 {
			return offset
		}
		i, offset = end, end
	}
}

// remove takes out span i with its comma, and the comma before it when it was
// the last and the document has no trailing commas.
func (t *text) remove(c *container, i int) []edit {
	s := c.spans[i]
	edits := []edit{}
	end := s.end
	switch {
	case s.comma >= 0 && len(bytes.TrimSpace(t.b[s.end:s.comma])) == 0:
		end = s.comma + 1
	case s.comma >= 0:
		edits = append(edits, edit{s.comma, s.comma + 1, ""})
	case i > 0:
		before := c.spans[i-1].comma
		edits = append(edits, edit{before, before + 1, ""})
	}
	start := s.start
	for start > 0 && (t.b[start-1] == ' ' || t.b[start-1] == '\t') {
		start--
	}
	if start > 0 && t.b[start-1] == '\n' {
		isLast := i == len(c.spans)-1
		if t.restIsBlank(end) || isLast && !t.lineComment(c, i) {
			start--
			if start > 0 && t.b[start-1] == '\r' {
				start--
			}
		} else { // something follows on the line: it keeps the line and its indentation
			start = s.start
			for end < len(t.b) && (t.b[end] == ' ' || t.b[end] == '\t') {
				end++
			}
		}
	}
	return append(edits, edit{start, end, ""})
}

// lineComment reports whether the gap in front of span i holds a comment that
// only a line end closes.
func (t *text) lineComment(c *container, i int) bool {
	at := c.open + 1
	if i > 0 {
		at = c.spans[i-1].end
	}
	for ; at < c.spans[i].start; at++ {
		if end := skipComment(t.b, at); end > at {
			if t.b[at+1] == '/' {
				return true
			}
			at = end - 1
		}
	}
	return false
}

// restIsBlank reports whether the line ends at offset, blanks aside, or holds
// only a comment from there on.
func (t *text) restIsBlank(offset int) bool {
	rest := t.b[offset:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	rest = bytes.TrimSpace(rest)
	return len(rest) == 0 || bytes.HasPrefix(rest, []byte("//"))
}

// compact writes a value on one line, with a blank behind commas and colons.
func compact(value any) (string, error) {
	plain, err := normal(value)
	if err != nil {
		return "", err
	}
	return write(plain), nil
}

func write(value any) string {
	switch v := value.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = write(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range names(v) {
			parts = append(parts, scalar(name)+": "+write(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return scalar(value)
}

// spread writes a new value: on lines, its first level has a line for each
// part; on one line, brackets are set off by blanks. Both tell a list that was
// made here from one that was there before (see RemovePlugin).
func (t *text) spread(value any, indent string, lines bool) (string, error) {
	plain, err := normal(value)
	if err != nil {
		return "", err
	}
	open, parts, close := "", []string(nil), ""
	switch v := plain.(type) {
	case []any:
		open, close = "[", "]"
		for _, item := range v {
			parts = append(parts, write(item))
		}
	case map[string]any:
		open, close = "{", "}"
		for _, name := range names(v) {
			parts = append(parts, scalar(name)+": "+write(v[name]))
		}
	}
	if len(parts) == 0 {
		return write(plain), nil
	}
	if !lines {
		return open + " " + strings.Join(parts, ", ") + " " + close, nil
	}
	step := t.nl + indent + t.unit
	return open + step + strings.Join(parts, ","+step) + t.nl + indent + close, nil
}

func names(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func scalar(value any) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // a value that came out of normal always encodes
	return strings.TrimSuffix(buf.String(), "\n")
}

// normal turns any value into maps, slices and scalars, numbers kept exactly.
func normal(value any) (any, error) {
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	return plain, nil
}
