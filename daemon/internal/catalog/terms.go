package catalog

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// queryTerm is one word of a query.
type queryTerm struct {
	term   string
	weight float64  // below 1 for words that say little
	akin   []string // terms that mean the same
	joined []string // it and a neighbour as one word
}

// fillers say little about what a tool does. They count a little, since a tool
// may be named by one.
var fillers = words(`
	a an the and or of to in on at by for from with without into via as is are be it its
	this that these those i me my we our you your he she they some any one which what who
	how do does did can could may might should would will want need please use using tool
	tools function let get current given all about if then than up out
	der die das den dem ein eine einen im in mit und oder von zu für auf wie kann ich
	le la les un une des de du d l et ou en dans pour avec sur je comment
	el los las una unos y o con por para del al como`)

// fillerWeight is what a filler counts.
const fillerWeight = 0.25

// address matches an address in a query: that there is one says more than what
// it is made of.
var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bhttps?://\S+`) })

// queryTerms takes a query apart. A query of nothing but fillers means them.
func queryTerms(query string) []queryTerm {
	split := tokens(address().ReplaceAllString(query, " url "))
	for i := 0; i < len(split); i++ {
		if several := expansions()[split[i]]; several != nil {
			split = slices.Replace(split, i, i+1, several...)
			i += len(several) - 1
		}
	}
	onlyFillers := true
	for _, w := range split {
		onlyFillers = onlyFillers && fillers(w)
	}
	var out []queryTerm
	for i, w := range split {
		q := queryTerm{term: stem(w), weight: 1, akin: meanings(w)}
		if fillers(w) && !onlyFillers {
			q.weight = fillerWeight
		}
		if i > 0 {
			q.joined = append(q.joined, stem(split[i-1])+q.term, stem(split[i-1]+w))
		}
		if i+1 < len(split) {
			q.joined = append(q.joined, q.term+stem(split[i+1]), stem(w+split[i+1]))
		}
		out = append(out, q)
	}
	return out
}

// terms are the words of a text as the index has them.
func terms(text string) []string {
	out := tokens(text)
	for i, w := range out {
		out[i] = stem(w)
	}
	return out
}

// tokens splits text into lower-case words: at everything that is neither
// letter nor digit, where a capital follows a small letter, and before the last
// of several capitals that a small letter follows (HTTPServer). Scripts that
// write no blanks between words give pairs of neighbours.
func tokens(text string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	var dense []rune
	flushDense := func() {
		if len(dense) == 1 {
			out = append(out, string(dense))
		}
		for i := 1; i < len(dense); i++ {
			out = append(out, string(dense[i-1:i+1]))
		}
		dense = dense[:0]
	}
	for _, r := range text {
		if unblanked(r) {
			flush()
			dense = append(dense, r)
			continue
		}
		flushDense()
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			flush()
			continue
		}
		if n := len(word); n > 0 && unicode.IsUpper(r) && unicode.IsLower(word[n-1]) {
			flush()
		} else if n > 1 && unicode.IsLower(r) && unicode.IsUpper(word[n-1]) && unicode.IsUpper(word[n-2]) {
			last := word[n-1]
			word = word[:n-1]
			flush()
			word = append(word, last)
		}
		word = append(word, r)
	}
	flush()
	flushDense()
	return out
}

// unblanked reports whether a character is of a script without blanks.
func unblanked(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー'
}

// stem cuts the endings of English words, so that files finds file, and
// navigation navigate. It need not give a word, only the same for both.
func stem(w string) string {
	if len(w) < 4 || !plainLetters(w) {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	for _, ending := range []string{"ing", "ed", "ion"} {
		short, ok := strings.CutSuffix(w, ending)
		if !ok || len(short) < 3 || !strings.ContainsAny(short, "aeiouy") {
			continue
		}
		if ending == "ion" && short[len(short)-1] != 't' && short[len(short)-1] != 's' {
			continue
		}
		w = short
		if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
			w = w[:n-1] // getting, stopped
		}
		break
	}
	if short, ok := strings.CutSuffix(w, "e"); ok && len(short) >= 3 {
		w = short
	}
	return w
}

func plainLetters(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}
