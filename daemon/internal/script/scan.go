package script

import "strings"

// kind is what sort of token one is.
type kind uint8

const (
	word     kind = iota // identifier, keyword, private name
	literal              // number, string, regular expression, whole template
	punct                // one character, or ++ and --
	opening              // ( [ { and a template's head up to ${
	closing              // ) ] } and a template's tail from }
	template             // the middle of a template: } … ${
)

// token is a piece of esbuild's output.
type token struct {
	kind     kind
	first    bool // the first of its line
	control  bool // a ) that ends the head of if, for, while or with
	pos, end int
	column   int // of a first token
	match    int // index of the other bracket
}

// scan splits esbuild's output into tokens and pairs the brackets. It relies on
// the output's regularity (a regular expression never starts a line except at
// the start of a statement, no markup, no type syntax) and is not for text that
// someone wrote. ok is false when brackets do not pair.
func scan(code string) (tokens []token, ok bool) {
	s := scanner{code: code, first: true, tokens: make([]token, 0, len(code)/5+8)}
	for s.skipSpace(); s.pos < len(code); s.skipSpace() {
		if !s.next() {
			return nil, false
		}
	}
	return s.tokens, len(s.open) == 0
}

type scanner struct {
	code      string
	pos       int
	lineStart int
	first     bool
	tokens    []token
	open      []int // indexes of brackets not yet closed
}

func (s *scanner) skipSpace() {
	inside := false // behind a comment in the middle of a statement: a && // why
	for s.pos < len(s.code) {
		switch c := s.code[s.pos]; {
		case c == '\n':
			s.pos++
			s.lineStart, s.first = s.pos, !inside
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case strings.HasPrefix(s.code[s.pos:], "//"):
			inside = inside || !s.first
			if n := strings.IndexByte(s.code[s.pos:], '\n'); n >= 0 {
				s.pos += n
			} else {
				s.pos = len(s.code)
			}
		case strings.HasPrefix(s.code[s.pos:], "/*"):
			n := strings.Index(s.code[s.pos+2:], "*/")
			if n < 0 {
				s.pos = len(s.code)
				return
			}
			s.advance(s.pos + 2 + n + 2)
		default:
			return
		}
	}
}

// advance moves to end, keeping count of lines inside.
func (s *scanner) advance(end int) {
	if n := strings.LastIndexByte(s.code[s.pos:end], '\n'); n >= 0 {
		s.lineStart = s.pos + n + 1
	}
	s.pos = end
}

func (s *scanner) next() bool {
	c := s.code[s.pos]
	switch {
	case isWord(c) && (c < '0' || c > '9'):
		s.add(word, s.while(s.pos, isWord))
	case c >= '0' && c <= '9', c == '.' && s.digitAt(s.pos+1):
		s.add(literal, s.number())
	case c == '"' || c == '\'':
		end := s.quoted(s.pos+1, c)
		if end < 0 {
			return false
		}
		s.add(literal, end)
	case c == '`':
		return s.template(opening)
	case c == '}' && s.inTemplate():
		return s.template(closing)
	case c == '/' && s.regexpAllowed():
		end := s.regexp()
		if end < 0 {
			return false
		}
		s.add(literal, end)
	case c == '(' || c == '[' || c == '{':
		s.open = append(s.open, len(s.tokens))
		s.add(opening, s.pos+1)
	case c == ')' || c == ']' || c == '}':
		return s.close(s.pos + 1)
	case strings.HasPrefix(s.code[s.pos:], "++"), strings.HasPrefix(s.code[s.pos:], "--"):
		s.add(punct, s.pos+2)
	default:
		s.add(punct, s.pos+1)
	}
	return true
}

func (s *scanner) add(k kind, end int) {
	s.tokens = append(s.tokens, token{kind: k, first: s.first, pos: s.pos, end: end, column: s.pos - s.lineStart, match: -1})
	s.first = false
	s.advance(end)
}

func (s *scanner) close(end int) bool {
	if len(s.open) == 0 {
		return false
	}
	from := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	head, tail := s.code[s.tokens[from].pos], s.code[s.pos]
	if head == '(' && tail != ')' || head == '[' && tail != ']' || (head == '{' || head == '`') && tail != '}' {
		return false
	}
	control := head == '(' && s.controlBefore(from)
	s.tokens[from].match = len(s.tokens)
	s.add(closing, end)
	s.tokens[len(s.tokens)-1].match = from
	s.tokens[len(s.tokens)-1].control = control
	return true
}

// controlBefore reports whether the bracket at index i follows if, for, while
// or with, so that a statement and not an operator comes after it.
func (s *scanner) controlBefore(i int) bool {
	i--
	if i >= 0 && s.text(i) == "await" { // for await (…)
		i--
	}
	if i < 0 || s.tokens[i].kind != word || i > 0 && s.text(i-1) == "." {
		return false
	}
	switch s.text(i) {
	case "if", "for", "while", "with":
		return true
	}
	return false
}

func (s *scanner) inTemplate() bool {
	return len(s.open) > 0 && s.code[s.tokens[s.open[len(s.open)-1]].pos] == '`'
}

// template reads a template's characters from ` or } on, up to ${ or `.
func (s *scanner) template(k kind) bool {
	for p := s.pos + 1; p < len(s.code); p++ {
		switch s.code[p] {
		case '\\':
			p++
		case '`':
			if k == opening {
				s.add(literal, p+1)
				return true
			}
			return s.close(p + 1)
		case '$':
			if p+1 >= len(s.code) || s.code[p+1] != '{' {
				continue
			}
			if k == opening {
				s.open = append(s.open, len(s.tokens))
				s.add(opening, p+2)
			} else {
				s.add(template, p+2)
			}
			return true
		}
	}
	return false
}

func (s *scanner) text(i int) string { return s.code[s.tokens[i].pos:s.tokens[i].end] }

// regexpAllowed decides whether a slash starts a regular expression.
func (s *scanner) regexpAllowed() bool {
	i := len(s.tokens) - 1
	if i < 0 {
		return true
	}
	switch t := s.tokens[i]; t.kind {
	case literal:
		return false
	case closing:
		// A statement may end with a bracket, and then a new line starts: the
		// operator / never stands first on a line.
		return t.control || s.first
	case word:
		if i > 0 && s.text(i-1) == "." {
			return s.first
		}
		switch s.text(i) {
		case "return", "typeof", "instanceof", "in", "new", "delete", "void", "throw", "case", "do", "else", "yield", "await":
			return true
		case "of":
			return len(s.open) > 0 && s.controlBefore(s.open[len(s.open)-1])
		}
		return s.first
	case punct:
		return s.first || s.text(i) != "++" && s.text(i) != "--"
	}
	return true
}

func (s *scanner) regexp() int {
	class := false
	for p := s.pos + 1; p < len(s.code); p++ {
		switch c := s.code[p]; {
		case c == '\\':
			p++
		case c == '\n':
			return -1
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return s.while(p+1, isWord)
		}
	}
	return -1
}

func (s *scanner) quoted(p int, quote byte) int {
	for ; p < len(s.code); p++ {
		switch s.code[p] {
		case '\\':
			p++
		case quote:
			return p + 1
		}
	}
	return -1
}

func (s *scanner) number() int {
	p := s.pos
	hex := strings.HasPrefix(s.code[p:], "0x") || strings.HasPrefix(s.code[p:], "0X")
	for p < len(s.code) {
		c := s.code[p]
		exponent := !hex && (c == '+' || c == '-') && (s.code[p-1] == 'e' || s.code[p-1] == 'E')
		if !isWord(c) && c != '.' && !exponent {
			break
		}
		p++
	}
	return p
}

func (s *scanner) digitAt(p int) bool {
	return p < len(s.code) && s.code[p] >= '0' && s.code[p] <= '9'
}

func (s *scanner) while(p int, f func(byte) bool) int {
	for p < len(s.code) && f(s.code[p]) {
		p++
	}
	return p
}

// isWord reports whether c can stand in an identifier; every byte of a character
// outside ASCII counts, as does the backslash of an escape.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '$' || c == '#' || c == '\\' || c >= 0x80
}
