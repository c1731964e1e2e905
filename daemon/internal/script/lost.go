package script

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// A last statement that esbuild folds to a constant ('a' + 'b', !1, typeof 1) is
// not in its output: it removes what it has folded and finds useless. esbuild has
// no option against that, so the constant is asked for: the source is compiled
// again with a name behind the statement (…, __tail), which keeps it. Nothing
// else of that second output is used, so positions stay those of the first.
const tailName = "__tail"

// Bounds of the search in one program: a source is compiled again a few times at
// most, and a large one fewer.
const (
	maxAgain      = 8
	maxAgainBytes = 2 << 20
)

// again compiles the source with other text in it.
type again struct {
	source   string // as it was given to esbuild
	from, to int    // where the author's text is in it
	segments []segment
	compile  func(text string) ([]token, string, bool)
	tries    int
	bytes    int
}

// lost is the constant that stood where the token at index i of the output
// stands now: a closing bracket, an empty statement, or the end. What the source
// has for it ends before what became the token at index end.
func (t *tail) lost(i, end int) (constant string, ok bool) {
	a := t.again
	if a == nil {
		return "", false
	}
	from, to, found := a.gap(t, i, end)
	if !found {
		return "", false
	}
	for _, at := range ends(a.source, from, to) {
		if a.tries++; a.tries > maxAgain {
			return "", false
		}
		if a.bytes += len(a.source); a.bytes > maxAgainBytes && a.tries > 1 {
			return "", false
		}
		tokens, code, ok := a.compile(a.source[:at] + "\n, " + tailName + "\n" + a.source[at:])
		if !ok {
			continue
		}
		k := i // of the name
		for k < len(tokens) && code[tokens[k].pos:tokens[k].end] != tailName {
			k++
		}
		if k >= len(tokens) || k < i+2 {
			return "", false // it hangs on a statement that is there
		}
		if constant := code[tokens[i].pos:tokens[k-1].pos]; isConstant(tokens[i:k-1], code) {
			return strings.TrimSpace(constant), true
		}
		return "", false
	}
	return "", false
}

// isConstant reports whether the tokens are what esbuild prints for a primitive.
func isConstant(tokens []token, code string) bool {
	text := func(i int) string { return code[tokens[i].pos:tokens[i].end] }
	if len(tokens) == 2 && (text(0) == "-" || text(0) == "void") {
		tokens = tokens[1:]
	}
	if len(tokens) != 1 {
		return false
	}
	switch text(0) {
	case "true", "false", "null", "undefined", "NaN", "Infinity":
		return true
	}
	return tokens[0].kind == literal
}

// place is where the output of the token before index i ends, as a source map
// counts: from 0, in UTF-16 units. A mapping of token i may stand before its
// indentation.
func (t *tail) place(i int) (line, column int) {
	at := 0
	if i > 0 {
		at = t.tokens[i-1].end
	}
	return strings.Count(t.code[:at], "\n"), units(t.code[strings.LastIndexByte(t.code[:at], '\n')+1 : at])
}

// gap is the source between what became the output before token i and what
// became the output from token end on; found: it may hold a statement.
func (a *again) gap(t *tail, i, end int) (from, to int, found bool) {
	from, to = a.from, a.to
	apart := true // from what stands before it
	if k := a.first(t.place(i)); k > 0 {
		if at := a.offset(a.segments[k-1]); at >= from {
			from, apart = at, false
		}
	}
	k := a.first(t.place(end))
	for k > 0 && k < len(a.segments) && a.segments[k].sameSource(a.segments[k-1]) {
		k++ // esbuild repeats the last one at the start of a line
	}
	if k < len(a.segments) {
		to = min(to, a.offset(a.segments[k]))
	}
	return from, to, from < to && (apart || mayHoldStatement(a.source[from:to]))
}

// first is the index of the first segment from a place of the output on.
func (a *again) first(line, column int) int {
	return sort.Search(len(a.segments), func(i int) bool {
		s := a.segments[i]
		return s.line > line || s.line == line && s.column >= column
	})
}

func (s segment) sameSource(other segment) bool {
	return s.sourceLine == other.sourceLine && s.sourceColumn == other.sourceColumn
}

// offset is where a segment's source begins.
func (a *again) offset(s segment) int {
	at := 0
	for range s.sourceLine {
		n := strings.IndexByte(a.source[at:], '\n')
		if n < 0 {
			return len(a.source)
		}
		at += n + 1
	}
	for column := 0; column < s.sourceColumn && at < len(a.source); {
		r, n := utf8.DecodeRuneInString(a.source[at:])
		column += units(string(r))
		at += n
	}
	return at
}

// units is the length of s in UTF-16.
func units(s string) (n int) {
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// mayHoldStatement reports whether a further statement could begin in text,
// which begins inside of one: something but brackets stands behind what can
// separate statements.
func mayHoldStatement(text string) bool {
	n := strings.IndexAny(text, ";{}\n)")
	return n >= 0 && strings.Trim(text[n:], " \t\r\n;{})]") != ""
}

// ends are where a statement between two offsets may end, the last first: at the
// end, and before semicolons.
func ends(source string, from, to int) []int {
	out := []int{to}
	for at := to; len(out) < maxAgain; {
		n := strings.LastIndexByte(source[from:at], ';')
		if n < 0 {
			break
		}
		at = from + n
		out = append(out, at)
	}
	return out
}
