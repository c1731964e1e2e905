package advice

import (
	"regexp"
	"strings"

	"tenon/daemon/internal/fault"
)

// spot is the place of the source where an exception was thrown. What is read
// there is a guess by looks, for a hint: it never decides what happens.
type spot struct {
	Program
	at *fault.Position
}

// line is the line of the place, empty when it is not known.
func (s spot) line() string {
	if s.at == nil {
		return ""
	}
	lines := strings.SplitN(s.Source, "\n", s.at.Line+1)
	if s.at.Line < 1 || len(lines) < s.at.Line {
		return ""
	}
	return strings.TrimSuffix(lines[s.at.Line-1], "\r")
}

// offset is where the line of the place begins in the source.
func (s spot) offset() int {
	at := 0
	for line := 1; s.at != nil && line < s.at.Line; line++ {
		n := strings.IndexByte(s.Source[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	return at
}

// rest is the line from the place on, and before what stands before it.
func (s spot) rest() (before, rest string) {
	line := s.line()
	column := 0
	if s.at != nil {
		column = min(max(0, s.at.Column-1), len(line))
	}
	return line[:column], line[column:]
}

var (
	link       = `(?:\??\.\s*[\p{L}\p{N}_$]+|(?:\?\.)?\[(?:"[^"\]]*"|'[^'\]]*'|[\p{L}\p{N}_$]+)\])`
	name       = `[\p{L}_$][\p{L}\p{N}_$]*`
	chainEnd   = once(`(?:` + name + `)?` + link + `*$`)
	chainStart = once(`^(?:` + name + `|` + link + `)` + link + `*`)
	wholeChain = once(`^` + name + link + `*$`)
	linkWord   = once(`[\p{L}\p{N}_$]+|"[^"]*"|'[^']*'`)
	takenApart = once(`\]\s*=[^;\n]*\.(?:match|exec)\s*\(`)
	matching   = once(`\.(?:match|exec)\s*\(`)
	methodCall = once(`^` + name + `\s*\(`)
	newBefore  = once(`\bnew\s+$`)
	called     = once(`^\s*(?:\?\.)?[(` + "`" + `]`)
	iterates   = once(`\bof\s+(` + name + link + `*)\s*\)|\.\.\.\s*(` + name + link + `*)`)
	parsesJSON = once(`JSON\.parse\(\s*(.*)$`)
	ofBytes    = once(`(?:\.|\[["'])(?:data|blob)(?:["']\])?$`)
	taken      = once(`[\]}]\s*(?::[^=]*)?=\s*(.*?);?\s*$`)
)

// callee is the expression that is called at the place.
func (s spot) callee() string {
	before, rest := s.rest()
	right := chainStart().FindString(rest)
	if right == "" && !called().MatchString(rest) || !called().MatchString(rest[len(right):]) {
		return ""
	}
	dot := ""
	for _, d := range []string{"?.", "."} {
		if cut, ok := strings.CutSuffix(before, d); ok {
			before, dot = cut, d
			break
		}
	}
	left := chainEnd().FindString(before)
	if dot == "" && !strings.HasPrefix(right, ".") && !strings.HasPrefix(right, "?") && !strings.HasPrefix(right, "[") && right != "" {
		left = "" // the place is where the chain begins
	}
	if callee := left + dot + right; wholeChain().MatchString(callee) && !newBefore().MatchString(strings.TrimSuffix(before, left)) {
		return callee
	}
	return ""
}

// receiver is the call, in parentheses or not, whose result's method is called
// at the place: (await f()) of (await f()).map(g).
func (s spot) receiver() string {
	before, rest := s.rest()
	cut := strings.TrimSuffix(strings.TrimSuffix(before, "."), "?")
	if cut == before || !strings.HasSuffix(cut, ")") || !methodCall().MatchString(rest) {
		return ""
	}
	return expressionBefore(cut)
}

// matches reports whether an expression of the line of the place is, or begins
// with a variable that is, what a regular expression found.
func (s spot) matches(expression string) bool {
	if matching().MatchString(expression) {
		return true
	}
	variable := root(expression)
	if expression == "" || !wholeChain().MatchString(variable) {
		return expression == "" && matching().MatchString(s.line())
	}
	made := compile(`\b` + regexp.QuoteMeta(variable) + `\s*(?::[^=;\n]+)?=[^;\n]*\.(?:match|exec)\s*\(`)
	return made != nil && made.MatchString(s.Source)
}

// assigns reports whether the line of the place assigns to a variable, of that
// name if it is not empty.
func (s spot) assigns(variable string) bool {
	if variable == "" {
		variable = name
	} else {
		variable = regexp.QuoteMeta(variable)
	}
	assigning := compile(`(?:^|[^.\p{L}\p{N}_$])` + variable + `\s*(?:[-+*/%&|^?<>]{0,3}=(?:[^=]|$)|\+\+|--)|(?:\+\+|--)\s*` + variable + `\b`)
	return assigning != nil && assigning.MatchString(s.line())
}

// iterated is what is iterated in the line of the place, where it is one thing.
func (s spot) iterated() string {
	all := iterates().FindAllStringSubmatch(s.line(), -1)
	if len(all) != 1 {
		return ""
	}
	return all[0][1] + all[0][2]
}

// objectOf is the expression in the line of the place whose property is read.
func (s spot) objectOf(property string) string {
	line := s.line()
	from := 0
	if s.at != nil {
		from = max(0, min(s.at.Column-2, len(line)))
	}
	pattern := regexp.QuoteMeta(property)
	word, err := regexp.Compile(`\??(?:\.\s*` + pattern + `($|[^\p{L}\p{N}_$])|\[["']?` + pattern + `["']?\])`)
	if err != nil {
		return ""
	}
	at := word.FindStringIndex(line[from:])
	if at == nil {
		return ""
	}
	return expressionBefore(line[:from+at[0]])
}

// holder is what stands before the last part of a chain.
func (s spot) holder(callee string) string {
	if !wholeChain().MatchString(callee) {
		return ""
	}
	cut := strings.LastIndexAny(callee, ".[")
	if cut <= 0 {
		return ""
	}
	return strings.TrimSuffix(callee[:cut], "?")
}

// expressionBefore is the chain of names and calls at the end of text.
func expressionBefore(text string) string {
	at := len(text)
	for at > 0 {
		if left := chainEnd().FindString(text[:at]); left != "" {
			at -= len(left)
			continue
		}
		if text[at-1] != ')' {
			break
		}
		open := opening(text[:at])
		if open < 0 {
			break
		}
		at = open
	}
	return strings.TrimSpace(text[at:])
}

// opening is the index of the parenthesis that the last character closes; what
// stands in strings is not told apart.
func opening(text string) int {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// parsed is what JSON.parse is given in the line of the place.
func (s spot) parsed() (string, bool) {
	m := parsesJSON().FindStringSubmatch(s.line())
	if m == nil {
		return "", false
	}
	return m[1], true
}

// initializer is what is taken apart in the line of the place.
func (s spot) initializer() string {
	if m := taken().FindStringSubmatch(s.line()); m != nil {
		return m[1]
	}
	return ""
}

// chain is the names of a chain: a["b"].c is a, b, c.
func chain(expression string) []string {
	if !wholeChain().MatchString(expression) {
		return nil
	}
	parts := linkWord().FindAllString(expression, -1)
	for i := range parts {
		parts[i] = strings.Trim(parts[i], `"'`)
	}
	return parts
}

// root is the first name of an expression.
func root(expression string) string {
	if parts := linkWord().FindString(expression); parts != "" {
		return parts
	}
	return expression
}
