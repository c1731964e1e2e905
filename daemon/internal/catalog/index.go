package catalog

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"
)

// Index finds tools and saved scripts by words. It is immutable; make a new one
// when a list changed.
type Index struct {
	docs  []doc
	terms map[string][]posting
	words []string // the terms in order, for words that nothing has
	mean  float64  // weighted words of an average document
}

// doc is a tool, or a script.
type doc struct {
	namespace, server string
	tool              *Tool
	script            *Script
	words             float64
	name              []string // terms of the name, each once
}

type posting struct {
	doc    int
	weight float64 // of the word in the document: occurrences times the field's weight
}

// How much a word counts by where it stands.
const (
	weightName        = 4
	weightNamespace   = 2
	weightTitle       = 2
	weightParameter   = 1.5
	weightDescription = 1
	weightDetail      = 0.4 // what the schema says of parameters
)

// BM25's two usual constants.
const (
	bm25K = 1.2
	bm25B = 0.6
)

// How much a word counts by how near it is to what was asked for.
const (
	partSame     = 1
	partAkin     = 0.6 // means the same
	partJoined   = 0.8 // two words as one, or one as two
	partMistyped = 0.7
	partPrefix   = 0.5
)

// maxDetail bounds how many bytes of a parameter's description are indexed.
const maxDetail = 400

// NewIndex indexes the tools of a view, and its saved scripts.
func NewIndex(entries []Entry, scripts ...Script) *Index {
	x := &Index{terms: map[string][]posting{}}
	for _, e := range entries {
		if e.List == nil {
			continue
		}
		for _, t := range e.List.Tools {
			x.addTool(e, t)
		}
	}
	for i := range scripts {
		x.addScript(&scripts[i])
	}
	total := 0.0
	for _, d := range x.docs {
		total += d.words
	}
	x.mean = math.Max(1, total/math.Max(1, float64(len(x.docs))))
	x.words = make([]string, 0, len(x.terms))
	for term := range x.terms {
		x.words = append(x.words, term)
	}
	sort.Strings(x.words)
	return x
}

// field is a text of a document, and what a word of it counts.
type field struct {
	text   string
	weight float64
}

func (x *Index) addTool(e Entry, t *Tool) {
	fields := []field{{e.Namespace, weightNamespace}, {t.Title, weightTitle}, {t.Description, weightDescription}}
	if e.Server != e.Namespace {
		fields = append(fields, field{e.Server, weightNamespace})
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // odd schemas have no parameters to find
	for name, property := range schema.Properties {
		fields = append(fields, field{name, weightParameter}, field{detail(property), weightDetail})
	}
	x.add(doc{namespace: e.Namespace, server: e.Server, tool: t}, t.Name, fields)
}

// detail is what a parameter's schema says in words: its description and the
// words that it takes.
func detail(property json.RawMessage) string {
	var p struct {
		Description string `json:"description"`
		Enum        []any  `json:"enum"`
	}
	if json.Unmarshal(property, &p) != nil {
		return ""
	}
	text := p.Description
	if len(text) > maxDetail {
		text = text[:maxDetail]
	}
	for _, v := range p.Enum {
		if word, ok := v.(string); ok && len(text) < 2*maxDetail {
			text += " " + word
		}
	}
	return text
}

func (x *Index) addScript(s *Script) {
	fields := []field{{s.Description, weightDescription}, {KindScript, weightNamespace}}
	for _, p := range s.Params {
		fields = append(fields, field{p, weightParameter})
	}
	x.add(doc{namespace: ScriptSpace, script: s}, s.Name, fields)
}

func (x *Index) add(d doc, name string, fields []field) {
	id := len(x.docs)
	counts := map[string]float64{}
	for _, term := range terms(name) {
		counts[term] += weightName
		d.words += weightName
		if !slices.Contains(d.name, term) {
			d.name = append(d.name, term)
		}
	}
	// A name is found as one word too: readFile, filesystem.
	for _, joined := range pairs(d.name) {
		if _, is := counts[joined]; !is {
			counts[joined] = weightName * partJoined
		}
	}
	for _, f := range fields {
		if f.text == "" {
			continue
		}
		for _, term := range terms(f.text) {
			counts[term] += f.weight
			d.words += f.weight
		}
	}
	for term, weight := range counts {
		x.terms[term] = append(x.terms[term], posting{id, weight})
	}
	x.docs = append(x.docs, d)
}

// pairs joins each two neighbours.
func pairs(words []string) []string {
	var out []string
	for i := 1; i < len(words); i++ {
		out = append(out, words[i-1]+words[i])
	}
	return out
}

// rank scores by BM25, each word of the query by the best that a document has
// for it: the word, one that means the same, one that differs by a slip, one
// that it begins. Documents with more of the words, and those whose name is made
// of them, come first.
func (x *Index) rank(query, namespace string) []int {
	asked := queryTerms(query)
	scores, found, named := map[int]float64{}, map[int]float64{}, map[int]int{}
	for _, word := range asked {
		best := map[int]float64{}
		parts := map[int]float64{}
		for term, part := range x.variants(word) {
			list := x.terms[term]
			n := float64(len(x.docs))
			idf := math.Log(1 + (n-float64(len(list))+0.5)/(float64(len(list))+0.5))
			for _, p := range list {
				d := &x.docs[p.doc]
				norm := bm25K * (1 - bm25B + bm25B*d.words/x.mean)
				best[p.doc] = math.Max(best[p.doc], part*idf*p.weight*(bm25K+1)/(p.weight+norm))
				parts[p.doc] = math.Max(parts[p.doc], part)
			}
		}
		for id, score := range best {
			scores[id] += score * word.weight
			found[id] += parts[id] * word.weight
		}
		for id := range best {
			if x.inName(id, word) {
				named[id]++
			}
		}
	}
	whole := 0.0
	for _, word := range asked {
		whole += word.weight
	}
	var out []int
	for id := range scores {
		if !x.docs[id].inside(namespace) {
			continue
		}
		share := found[id] / whole
		ofName := math.Min(1, float64(named[id])/float64(max(1, len(x.docs[id].name))))
		scores[id] *= (0.4 + 0.6*share) * (1 + 0.5*ofName)
		out = append(out, id)
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := scores[out[i]], scores[out[j]]; a != b {
			return a > b
		}
		return out[i] < out[j]
	})
	return out
}

// inName reports whether a document's name has a word, or one of its meaning.
func (x *Index) inName(id int, word queryTerm) bool {
	for _, term := range x.docs[id].name {
		if term == word.term || slices.Contains(word.akin, term) {
			return true
		}
	}
	return false
}

// variants are the terms of the index that a word of a query stands for, each
// with what it counts.
func (x *Index) variants(word queryTerm) map[string]float64 {
	out := map[string]float64{}
	note := func(term string, part float64) {
		if _, is := x.terms[term]; is && part > out[term] {
			out[term] = part
		}
	}
	note(word.term, partSame)
	for _, term := range word.akin {
		note(term, partAkin)
	}
	for _, term := range word.joined {
		note(term, partJoined)
	}
	if len(out) > 0 || word.weight < 1 || len(word.term) < 3 {
		return out
	}
	for _, term := range x.mistyped(word.term) {
		note(term, partMistyped)
	}
	at := sort.SearchStrings(x.words, word.term)
	for ; at < len(x.words) && strings.HasPrefix(x.words[at], word.term); at++ {
		note(x.words[at], partPrefix)
	}
	for n := len(word.term) - 1; n >= 4; n-- {
		note(word.term[:n], partPrefix)
	}
	return out
}

// mistyped are the terms that differ from a word by one slip, or by two where
// it is long: a letter too many, too few, another one, or two swapped.
func (x *Index) mistyped(word string) []string {
	slips := 1
	if len(word) >= 9 {
		slips = 2
	}
	if len(word) < 4 {
		return nil
	}
	var out []string
	for _, term := range x.words {
		if d := len(term) - len(word); d <= slips && d >= -slips && len(term) >= 3 && distance(word, term) <= slips {
			out = append(out, term)
		}
	}
	return out
}
