package policy

import (
	"strings"
	"unicode/utf16"

	"tenon/proto"
)

// Key is the permission key of a call as opencode writes it: server and tool,
// each character outside [A-Za-z0-9_-] replaced by "_", joined by "_". Nothing
// separates the two parts, so different pairs can share a key.
func Key(server, tool string) string {
	var b strings.Builder
	b.Grow(len(server) + 1 + len(tool))
	sanitise(&b, server)
	b.WriteByte('_')
	sanitise(&b, tool)
	return b.String()
}

// Collision is a key that several tools share.
type Collision struct {
	Key   string
	Tools []string // "server/tool", in the given order
}

// Collisions finds the keys that more than one of the pairs (server, tool) has,
// in the order in which they are met.
func Collisions(pairs [][2]string) []Collision {
	byKey := map[string][]string{}
	var order []string
	for _, p := range pairs {
		key := Key(p[0], p[1])
		if len(byKey[key]) == 1 {
			order = append(order, key)
		}
		byKey[key] = append(byKey[key], p[0]+"/"+p[1])
	}
	out := make([]Collision, len(order))
	for i, key := range order {
		out[i] = Collision{Key: key, Tools: byKey[key]}
	}
	return out
}

// sanitise writes s with one "_" for each UTF-16 unit that is not allowed, as
// the host's regular expression replaces them.
func sanitise(b *strings.Builder, s string) {
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString("__")
		default:
			b.WriteByte('_')
		}
	}
}

// Evaluate is opencode's evaluation of an ordered list: the last rule whose
// permission matches the key and whose pattern matches the asked pattern wins.
// It returns nil when none does, which the host treats as ask.
func Evaluate(rules []proto.Rule, key, pattern string) *proto.Rule {
	for i := len(rules) - 1; i >= 0; i-- {
		if Match(rules[i].Permission, key) && Match(rules[i].Pattern, pattern) {
			return &rules[i]
		}
	}
	return nil
}

// Match reports whether the whole of s matches pattern, as opencode's wildcards
// do (1.18.x): "*" is any run of characters, line ends included; "?" is any one
// UTF-16 unit; everything else is literal; a backslash reads as a slash on both
// sides; a pattern that ends in " *" also matches what stands before the blank.
func Match(pattern, s string) bool {
	if pattern == "*" {
		return true
	}
	pattern = strings.ReplaceAll(pattern, `\`, "/")
	s = strings.ReplaceAll(s, `\`, "/")
	if ascii(pattern) && ascii(s) {
		return glob([]byte(pattern), []byte(s)) ||
			strings.HasSuffix(pattern, " *") && glob([]byte(pattern[:len(pattern)-2]), []byte(s))
	}
	p, u := utf16.Encode([]rune(pattern)), utf16.Encode([]rune(s))
	return glob(p, u) || strings.HasSuffix(pattern, " *") && glob(p[:len(p)-2], u)
}

// glob matches without recursion: on a mismatch it goes back to the last star
// only, which is enough since a star may take any run.
func glob[T byte | uint16](pattern, s []T) bool {
	p, i, star, from := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			from++
			p, i = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// literals counts the characters of a pattern that are no wildcards.
func literals(pattern string) int {
	n := 0
	for _, r := range pattern {
		if r != '*' && r != '?' {
			n++
		}
	}
	return n
}

// isPair reports whether a pattern names "server/tool" rather than a key.
func isPair(pattern string) bool { return strings.Contains(pattern, "/") }
