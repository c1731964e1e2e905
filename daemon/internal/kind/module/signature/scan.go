// Package signature reads the declared types of a TypeScript module's functions
// and writes them as JSON Schema. It knows a part of the language: what it does
// not know becomes a schema that allows everything, never a wrong one.
package signature

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	word kind = iota
	punct
	text   // a string without substitutions
	number //
	other  // a template with substitutions, a regular expression
)

// token is one lexical element. match is the index of the bracket that it opens
// or closes, else -1.
type token struct {
	kind  kind
	text  string // as written; of text: its value
	doc   string // the last JSDoc comment before it
	line  bool   // first of its line
	match int
}

var (
	errUnread = errors.New("the source cannot be read")
	errTooBig = errors.New("the source is too long")
)

// maxTokens bounds a source: one with more has no types.
const maxTokens = 500_000

// maxNested bounds templates within templates, and types within types.
const maxNested = 100

type scanner struct {
	src    string
	pos    int
	depth  int
	doc    string
	line   bool
	tokens []token
}

// scan splits a source. An unclosed bracket, string or comment is an error: then
// nothing that was read can be relied on.
func scan(src string) ([]token, error) {
	s := &scanner{src: strings.TrimPrefix(src, "\ufeff"), line: true}
	if strings.HasPrefix(s.src, "#!") {
		s.skipLine()
	}
	for {
		more, err := s.next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if len(s.tokens) > maxTokens {
			return nil, errTooBig
		}
	}
	var open []int
	for i := range s.tokens {
		t := &s.tokens[i]
		t.match = -1
		if t.kind != punct {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			if len(open) == 0 {
				return nil, errUnread
			}
			last := open[len(open)-1]
			if strings.Index("([{", s.tokens[last].text) != strings.Index(")]}", t.text) {
				return nil, errUnread
			}
			open = open[:len(open)-1]
			t.match, s.tokens[last].match = last, i
		}
	}
	if len(open) > 0 {
		return nil, errUnread
	}
	return s.tokens, nil
}

func (s *scanner) add(k kind, text string) {
	s.tokens = append(s.tokens, token{kind: k, text: text, doc: s.doc, line: s.line})
	s.doc, s.line = "", false
}

// next reads one token; false at the end.
func (s *scanner) next() (bool, error) {
	if err := s.blank(); err != nil {
		return false, err
	}
	if s.pos >= len(s.src) {
		return false, nil
	}
	start := s.pos
	switch c := s.src[s.pos]; {
	case c == '"' || c == '\'':
		value, err := s.quoted(c)
		if err != nil {
			return false, err
		}
		s.add(text, value)
	case c == '`':
		plain, err := s.template()
		if err != nil {
			return false, err
		}
		if body := s.src[start+1 : s.pos-1]; plain && !strings.Contains(body, `\`) {
			s.add(text, body)
		} else {
			s.add(other, "`")
		}
	case c >= '0' && c <= '9' || c == '.' && s.pos+1 < len(s.src) && isDigit(s.src[s.pos+1]):
		for s.pos < len(s.src) && (isDigit(s.src[s.pos]) || s.src[s.pos] == '.' || s.src[s.pos] == '_' || isLetter(rune(s.src[s.pos])) ||
			(s.src[s.pos] == '+' || s.src[s.pos] == '-') && strings.ContainsRune("eE", rune(s.src[s.pos-1])) && !strings.HasPrefix(s.src[start:], "0x")) {
			s.pos++
		}
		s.add(number, s.src[start:s.pos])
	case c == '/' && s.regexpMayStart():
		if err := s.regexp(); err != nil {
			return false, err
		}
		s.add(other, "/")
	default:
		r, n := utf8.DecodeRuneInString(s.src[s.pos:])
		if isLetter(r) || r == '#' || r == '@' {
			s.pos += n
			for s.pos < len(s.src) {
				r, n = utf8.DecodeRuneInString(s.src[s.pos:])
				if !isLetter(r) && !unicode.IsDigit(r) {
					break
				}
				s.pos += n
			}
			s.add(word, s.src[start:s.pos])
			break
		}
		if r == '\\' || r == utf8.RuneError && n <= 1 {
			return false, errUnread
		}
		s.pos += n
		for _, long := range []string{"...", "=>", "?.", "??"} {
			if strings.HasPrefix(s.src[start:], long) {
				s.pos = start + len(long)
				break
			}
		}
		s.add(punct, s.src[start:s.pos])
	}
	return true, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) }

// blank skips white space and comments, and keeps a JSDoc comment for the token
// behind it.
func (s *scanner) blank() error {
	for s.pos < len(s.src) {
		rest := s.src[s.pos:]
		switch {
		case rest[0] == '\n':
			s.line = true
			s.pos++
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r':
			s.pos++
		case strings.HasPrefix(rest, "//"):
			s.skipLine()
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return errUnread
			}
			comment := rest[:end+4]
			if strings.HasPrefix(comment, "/**") && len(comment) > 4 {
				s.doc = comment
			}
			s.line = s.line || strings.Contains(comment, "\n")
			s.pos += len(comment)
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) && r != '\ufeff' {
				return nil
			}
			s.line = s.line || r == '\u2028' || r == '\u2029'
			s.pos += n
		}
	}
	return nil
}

func (s *scanner) skipLine() {
	if end := strings.IndexByte(s.src[s.pos:], '\n'); end >= 0 {
		s.pos += end
	} else {
		s.pos = len(s.src)
	}
}

// quoted reads a string and returns its value. Escapes other than the common
// ones are errors: their value would be a guess.
func (s *scanner) quoted(quote byte) (string, error) {
	var out strings.Builder
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; c {
		case quote:
			s.pos++
			return out.String(), nil
		case '\n':
			return "", errUnread
		case '\\':
			if s.pos++; s.pos >= len(s.src) {
				return "", errUnread
			}
			if err := s.escape(&out); err != nil {
				return "", err
			}
		default:
			out.WriteByte(c)
		}
	}
	return "", errUnread
}

func (s *scanner) escape(out *strings.Builder) error {
	switch c := s.src[s.pos]; c {
	case 'n', 'r', 't', 'b', 'f', 'v', '0':
		out.WriteByte("\n\r\t\b\f\v\x00"[strings.IndexByte("nrtbfv0", c)])
	case 'u', 'x':
		size := map[byte]int{'u': 4, 'x': 2}[c]
		from, end := s.pos+1, s.pos+1+size
		if from < len(s.src) && s.src[from] == '{' {
			close := strings.IndexByte(s.src[from:], '}')
			if close < 0 {
				return errUnread
			}
			from, end = from+1, from+close
			s.pos++ // the closing brace
		}
		r, ok := hex(s.src, from, end)
		if !ok {
			return errUnread
		}
		out.WriteRune(r)
		s.pos += end - from
		if s.src[from-1] == '{' {
			s.pos++
		}
	case '\n':
	case '\r':
		if strings.HasPrefix(s.src[s.pos:], "\r\n") {
			s.pos++
		}
	default:
		out.WriteByte(c)
	}
	return nil
}

func hex(src string, from, end int) (rune, bool) {
	if end > len(src) || end <= from || end-from > 6 {
		return 0, false
	}
	r := rune(0)
	for _, c := range []byte(src[from:end]) {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if isDigit(c) {
			digit = int(c - '0')
		}
		if digit < 0 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, utf8.ValidRune(r)
}

// template reads a template; plain is whether it has no substitution.
func (s *scanner) template() (plain bool, err error) {
	if s.depth++; s.depth > maxNested {
		return false, errTooBig
	}
	defer func() { s.depth-- }()
	plain = true
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case '`':
			s.pos++
			return plain, nil
		case '\\':
			s.pos++
		case '$':
			if !strings.HasPrefix(s.src[s.pos:], "${") {
				continue
			}
			plain = false
			s.pos += 2
			if err := s.substitution(); err != nil {
				return false, err
			}
		}
	}
	return false, errUnread
}

// substitution skips to the brace that ends it, which stays to be read.
func (s *scanner) substitution() error {
	kept, doc, line := len(s.tokens), s.doc, s.line
	defer func() { s.tokens, s.doc, s.line = s.tokens[:kept], doc, line }()
	for open := 0; ; {
		if err := s.blank(); err != nil {
			return err
		}
		if s.pos < len(s.src) && s.src[s.pos] == '}' && open == 0 {
			return nil
		}
		more, err := s.next()
		if err != nil {
			return err
		}
		if !more {
			return errUnread
		}
		switch last := s.tokens[len(s.tokens)-1]; {
		case last.kind == punct && last.text == "{":
			open++
		case last.kind == punct && last.text == "}":
			open--
		}
		if len(s.tokens) > maxTokens {
			return errTooBig
		}
	}
}

// beforeExpression are words after which an expression follows.
var beforeExpression = []string{"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield", "instanceof", "default"}

func (s *scanner) regexpMayStart() bool {
	if len(s.tokens) == 0 {
		return true
	}
	switch last := s.tokens[len(s.tokens)-1]; last.kind {
	case word:
		return slices.Contains(beforeExpression, last.text)
	case punct:
		return last.text != ")" && last.text != "]" && last.text != "}"
	}
	return false
}

func (s *scanner) regexp() error {
	class := false
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '\n':
			return errUnread
		case c == '\\':
			s.pos++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for s.pos++; s.pos < len(s.src) && isLetter(rune(s.src[s.pos])); s.pos++ {
			}
			return nil
		}
	}
	return errUnread
}
