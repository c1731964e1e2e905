package catalog

import (
	"encoding/json"
	"math"
	"sort"
	"strings"
	"unicode"

	"tenon/proto"
)

// Entry is one server of a view as its caller sees it.
type Entry struct {
	Server    string
	Namespace string
	List      *List    // nil: never listed
	Pinned    []string // names of tools that a catalogue shows first
}

// Index finds tools by words. It is immutable; make a new one when a list
// changed.
type Index struct {
	docs  []doc
	terms map[string][]posting
	mean  float64 // weighted words of an average tool
}

type doc struct {
	namespace, server string
	tool              *Tool
	words             float64
}

type posting struct {
	doc    int
	weight float64 // of the word in the tool: occurrences times the field's weight
}

// How much a word counts by where it stands.
const (
	weightName        = 4
	weightNamespace   = 2
	weightTitle       = 2
	weightParameter   = 1.5
	weightDescription = 1
)

// BM25's two usual constants.
const (
	bm25K = 1.2
	bm25B = 0.6
)

// Page limits of a search.
const (
	DefaultLimit = 10
	MaxLimit     = 100
)

// NewIndex indexes the tools of a view.
func NewIndex(entries []Entry) *Index {
	x := &Index{terms: map[string][]posting{}}
	for _, e := range entries {
		if e.List == nil {
			continue
		}
		for _, t := range e.List.Tools {
			x.add(e, t)
		}
	}
	total := 0.0
	for _, d := range x.docs {
		total += d.words
	}
	x.mean = total / math.Max(1, float64(len(x.docs)))
	return x
}

func (x *Index) add(e Entry, t *Tool) {
	id := len(x.docs)
	d := doc{namespace: e.Namespace, server: e.Server, tool: t}
	counts := map[string]float64{}
	count := func(text string, weight float64) {
		for _, w := range tokens(text) {
			counts[w] += weight
			d.words += weight
		}
	}
	count(t.Name, weightName)
	count(e.Namespace, weightNamespace)
	count(t.Title, weightTitle)
	count(t.Description, weightDescription)
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // odd schemas have no parameters to find
	for name := range schema.Properties {
		count(name, weightParameter)
	}
	for word, weight := range counts {
		x.terms[word] = append(x.terms[word], posting{id, weight})
	}
	x.docs = append(x.docs, d)
}

// Search finds tools: an empty query lists them, an exact path (ns.tool, with or
// without "tools." before it) is a lookup, everything else is ranked. Namespace
// narrows it; limit 0 means DefaultLimit, and more than MaxLimit means MaxLimit.
func (x *Index) Search(query, namespace string, limit, offset int) proto.SearchResult {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit, offset = min(limit, MaxLimit), max(offset, 0)
	hits := x.find(strings.TrimSpace(query), namespace)
	out := proto.SearchResult{Items: []proto.SearchItem{}, Total: len(hits)}
	for _, id := range hits[min(offset, len(hits)):min(offset+limit, len(hits))] {
		d := x.docs[id]
		out.Items = append(out.Items, proto.SearchItem{
			Path:        Path(d.namespace, d.tool.Ident),
			Server:      d.server,
			Tool:        d.tool.Name,
			Signature:   Signature(d.namespace, d.tool),
			Description: brief(d.tool.Description),
		})
	}
	if end := offset + len(out.Items); end < len(hits) && len(out.Items) > 0 {
		out.Remaining = len(hits) - end
		out.Next = &proto.SearchNext{Offset: end}
	}
	return out
}

// Find is the tool at an exact path, or nil.
func (x *Index) Find(path string) (server, namespace string, t *Tool) {
	path = strings.TrimPrefix(path, "tools.")
	for _, d := range x.docs {
		rest, ok := strings.CutPrefix(path, d.namespace)
		if !ok {
			if rest, ok = strings.CutPrefix(path, d.server); !ok {
				continue
			}
		}
		switch rest {
		case "." + d.tool.Ident, "." + d.tool.Name, "/" + d.tool.Name, `["` + d.tool.Name + `"]`:
			return d.server, d.namespace, d.tool
		}
	}
	return "", "", nil
}

func (x *Index) find(query, namespace string) []int {
	inside := func(id int) bool {
		return namespace == "" || x.docs[id].namespace == namespace || x.docs[id].server == namespace
	}
	var all []int
	if query == "" {
		for id := range x.docs {
			if inside(id) {
				all = append(all, id)
			}
		}
		return all
	}
	if _, _, t := x.Find(query); t != nil {
		for id, d := range x.docs {
			if d.tool == t && inside(id) {
				return []int{id}
			}
		}
	}
	return x.rank(tokens(query), inside)
}

// rank scores by BM25. A word that no tool has falls back to words it begins.
func (x *Index) rank(words []string, inside func(int) bool) []int {
	scores := map[int]float64{}
	n := float64(len(x.docs))
	add := func(list []posting, part float64) {
		idf := math.Log(1 + (n-float64(len(list))+0.5)/(float64(len(list))+0.5))
		for _, p := range list {
			norm := bm25K * (1 - bm25B + bm25B*x.docs[p.doc].words/math.Max(1, x.mean))
			scores[p.doc] += part * idf * p.weight * (bm25K + 1) / (p.weight + norm)
		}
	}
	for _, w := range words {
		if list, ok := x.terms[w]; ok {
			add(list, 1)
			continue
		}
		if len(w) < 3 {
			continue
		}
		for term, list := range x.terms {
			if strings.HasPrefix(term, w) || len(term) >= 4 && strings.HasPrefix(w, term) {
				add(list, 0.5)
			}
		}
	}
	var out []int
	for id := range scores {
		if inside(id) {
			out = append(out, id)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := scores[out[i]], scores[out[j]]; a != b {
			return a > b
		}
		return out[i] < out[j]
	})
	return out
}

// tokens splits text into lower-case words: at everything that is neither
// letter nor digit, and where a capital follows a small letter.
func tokens(text string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	small := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			small = false
			continue
		}
		if small && unicode.IsUpper(r) {
			flush()
		}
		small = unicode.IsLower(r)
		word = append(word, r)
	}
	flush()
	return out
}

// brief is the first sentence or line of a description, at most 200 characters.
func brief(text string) string {
	text = strings.TrimSpace(text)
	if line, _, more := strings.Cut(text, "\n"); more {
		text = strings.TrimSpace(line)
	}
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:199]) + "…"
	}
	return text
}
