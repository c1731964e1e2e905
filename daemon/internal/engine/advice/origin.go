package advice

import (
	"regexp"
	"slices"
	"strings"
)

// callPath is what a call of a tool, or of what gives a promise as well, looks
// like; names are those of namespaces and of the program's own async functions.
func (s spot) callPath() string {
	names := []string{"tools", "resources", "prompts"}
	for _, n := range s.Namespaces {
		if n.Global {
			names = append(names, regexp.QuoteMeta(n.Name))
		}
	}
	alone := []string{"call", "search", "describe", "run", "fetch"}
	for _, m := range asyncFunction().FindAllStringSubmatch(s.Source, -1) {
		if own := m[1] + m[2]; !slices.Contains(alone, own) {
			alone = append(alone, regexp.QuoteMeta(own))
		}
	}
	return `((?:` + strings.Join(names, "|") + `)` + link + `+|(?:` + strings.Join(alone, "|") + `))\s*\(`
}

var asyncFunction = once(`async\s+function\s*\*?\s*(` + name + `)|(?:const|let|var)\s+(` + name + `)\s*(?::[^=]+)?=\s*async\b`)

// origin is the call from which the value of an expression comes: directly, or
// by the variable that it begins with. awaited tells whether the promise was
// awaited there; direct, whether the expression is that call itself and what
// follows it. call is empty where none is found.
func (s spot) origin(expression string) (call string, awaited, direct bool) {
	path := s.callPath()
	first := strings.TrimLeft(strings.TrimSpace(expression), "(")
	first, awaited = cutAwait(first)
	if begins := compile(`^` + path); begins != nil {
		if m := begins.FindStringSubmatch(first); m != nil {
			return m[1], awaited, true
		}
	}
	variable := root(first)
	if !wholeChain().MatchString(variable) {
		return "", false, false
	}
	quoted := regexp.QuoteMeta(variable)
	target := `(?:(?:const|let|var)\s+(?:` + quoted + `\b|[{\[][^=]*\b` + quoted + `\b[^=]*[}\]])\s*(?::[^=]+)?|\b` + quoted + `\s*)`
	declared := compile(target + `=\s*(await\s+)?\(?\s*(await\s+)?` + path)
	if declared == nil {
		return "", false, false
	}
	// The one that is nearest above the place; what is in scope is not looked at.
	var last []string
	for _, m := range declared.FindAllStringSubmatchIndex(s.Source, 100) {
		if last == nil || m[0] < s.offset() {
			last = groups(s.Source, m)
		}
	}
	if last == nil {
		return "", false, false
	}
	return last[3], last[1] != "" || last[2] != "", false
}

// groups are the texts of a match.
func groups(text string, at []int) []string {
	out := make([]string, len(at)/2)
	for i := range out {
		if at[2*i] >= 0 {
			out[i] = text[at[2*i]:at[2*i+1]]
		}
	}
	return out
}

func cutAwait(s string) (string, bool) {
	rest, awaited := strings.CutPrefix(s, "await ")
	return strings.TrimSpace(rest), awaited
}

// compile gives nil for a pattern that a source has made too large.
func compile(pattern string) *regexp.Regexp {
	if len(pattern) > 16<<10 {
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	return re
}
