package shelf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/sandbox"
)

// Header is what a script's first comments say about it.
type Header struct {
	Description string
	Params      []Param
	Examples    []string
	Engine      string        // embedded, deno, bun or node; empty: not said
	Timeout     time.Duration // 0: not said
	Sandbox     string        // read-only, workspace-write or full; empty: not said
	Problem     string        // what of it could not be understood; empty: nothing
}

// Engines are the words of @engine.
var Engines = []string{"embedded", "deno", "bun", "node"}

// Bounds of what a header holds; a file can hold anything.
const (
	maxHeader      = 64 << 10 // bytes of comments that are read
	maxParam       = 4000     // bytes of one @param
	maxDescription = 2000
	maxParams      = 50
	maxExamples    = 20
	maxExample     = 1000
)

// ParseHeader reads the comments before a script's first code: JSDoc and lines
// with //. The text before the first tag is the description; @param, @example,
// @engine, @timeout and @sandbox are read, other tags are left alone. Where none
// of these comments is JSDoc, the first JSDoc block that begins a line counts as
// well: people write it above their default export.
func ParseHeader(source string) Header {
	var h Header
	docs, lines := comments(source[:min(len(source), maxHeader)])
	if len(docs) == 0 {
		if m := firstDoc().FindString(source); m != "" && len(m) <= maxHeader {
			docs = append(docs, strip(m))
		}
	}
	for _, text := range append(docs, lines) {
		h.read(text)
	}
	return h
}

var firstDoc = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?ms)^[ \t]*/\*\*\s.*?\*/`) })

// comments are the JSDoc blocks before the first code, without their stars, and
// the lines with // as one text. Other blocks, such as a licence, say nothing.
func comments(source string) (docs []string, lines string) {
	rest := strings.TrimPrefix(source, "\ufeff")
	var said strings.Builder
	defer func() { lines = said.String() }()
	if strings.HasPrefix(rest, "#!") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	for {
		rest = strings.TrimLeft(rest, " \t\r\n;")
		switch {
		case strings.HasPrefix(rest, "//"):
			line, after, _ := strings.Cut(rest[2:], "\n")
			said.WriteString(strings.TrimRight(strings.TrimPrefix(line, " "), "\r") + "\n")
			rest = after
		case strings.HasPrefix(rest, "/*"):
			block, after, closed := strings.Cut(rest[2:], "*/")
			if !closed {
				return docs, ""
			}
			if strings.HasPrefix(block, "*") {
				docs = append(docs, strip("/*"+block+"*/"))
			}
			rest = after
		default:
			return docs, ""
		}
	}
}

// strip takes the stars of a block comment away.
func strip(block string) string {
	block = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(block), "/**"), "*/")
	var out []string
	for line := range strings.SplitSeq(block, "\n") {
		line = strings.TrimRight(strings.TrimLeft(line, " \t"), " \t\r")
		line = strings.TrimPrefix(line, "*")
		out = append(out, strings.TrimPrefix(line, " "))
	}
	return strings.Join(out, "\n")
}

var tagLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*@([A-Za-z]+)\b[ \t]*(.*)$`) })

// read takes one comment in: its description, and its tags with what follows
// each up to the next.
func (h *Header) read(text string) {
	tag, body := "", []string(nil)
	end := func() {
		h.tag(tag, strings.Trim(strings.Join(body, "\n"), "\n"))
		body = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if m := tagLine().FindStringSubmatch(line); m != nil {
			end()
			tag, body = m[1], []string{m[2]}
			continue
		}
		body = append(body, line)
	}
	end()
}

func (h *Header) tag(tag, body string) {
	switch word := strings.TrimSpace(body); tag {
	case "", "description":
		if h.Description == "" {
			h.Description = clip(word, maxDescription)
		}
	case "param", "arg", "argument":
		h.param(word)
	case "example":
		if word != "" && len(h.Examples) < maxExamples {
			h.Examples = append(h.Examples, clip(strings.TrimSpace(body), maxExample))
		}
	case "engine":
		if h.oneOf(tag, word, append([]string{"auto"}, Engines...)) && word != "auto" {
			h.Engine = word
		}
	case "sandbox":
		var modes []string
		for _, m := range sandbox.Modes() {
			modes = append(modes, string(m))
		}
		if h.oneOf(tag, word, modes) {
			h.Sandbox = word
		}
	case "timeout":
		d, err := time.ParseDuration(word)
		if err != nil || d <= 0 {
			h.problem("@timeout: %q is no duration: 500ms, 5s, 2m", clip(word, 40))
			return
		}
		h.Timeout = d
	}
}

// oneOf reports whether a word is one of those that its tag has.
func (h *Header) oneOf(tag, word string, words []string) bool {
	if slices.Contains(words, word) {
		return true
	}
	h.problem("@%s: %q is none of %s", tag, clip(word, 40), strings.Join(words, ", "))
	return false
}

// problem keeps the first thing that is wrong.
func (h *Header) problem(format string, args ...any) {
	if h.Problem == "" {
		h.Problem = fmt.Sprintf(format, args...)
	}
}
