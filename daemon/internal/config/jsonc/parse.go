// Package jsonc reads JSON with comments and trailing commas, and edits such
// documents in place: only the text that has to change does, every other byte
// (byte order mark, line ends, comments, order, blanks) stays.
package jsonc

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/tailscale/hujson"
)

// MaxDepth is how many levels of nesting are read.
const MaxDepth = 64

// Error is a mistake in a document, with its place; both numbers start at 1,
// columns count bytes, a byte order mark is not counted.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

var byteOrderMark = []byte("\xef\xbb\xbf")

var parserPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^hujson: line (\d+), column (\d+): (?s)(.*)$`)
})

// Parse reads a document without a byte order mark. Offsets in the result are
// those of doc. The error is an *Error.
func Parse(doc []byte) (*hujson.Value, error) {
	if offset := tooDeep(doc); offset >= 0 {
		return nil, errorAt(doc, offset, "nested too deeply: at most "+strconv.Itoa(MaxDepth)+" levels are read")
	}
	value, err := hujson.Parse(doc)
	if err == nil {
		return &value, nil
	}
	// The library wants a line end after a comment also at the end of the file.
	if value, err := hujson.Parse(append(doc[:len(doc):len(doc)], '\n')); err == nil {
		return &value, nil
	}
	if m := parserPlace().FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		return nil, &Error{Line: line, Column: column, Message: "not valid JSON: " + m[3]}
	}
	return nil, &Error{Line: 1, Column: 1, Message: "not valid JSON: " + err.Error()}
}

func errorAt(doc []byte, offset int, message string) *Error {
	before := doc[:min(offset, len(doc))]
	return &Error{
		Line:    1 + bytes.Count(before, []byte("\n")),
		Column:  len(before) - bytes.LastIndexByte(before, '\n'),
		Message: message,
	}
}

// tooDeep returns the offset of the first bracket beyond MaxDepth, or -1. It
// runs before the parser, which recurses without a limit of its own.
func tooDeep(doc []byte) int {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; c {
		case '"':
			for i++; i < len(doc) && doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case '/':
			i = max(i, skipComment(doc, i)-1)
		case '{', '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// skipComment returns the offset behind the comment that starts at i, or i
// when none does. The line end belongs to no comment.
func skipComment(doc []byte, i int) int {
	rest := doc[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return len(doc)
		}
		if end > 0 && rest[end-1] == '\r' {
			end--
		}
		return i + end
	case bytes.HasPrefix(rest, []byte("/*")):
		end := bytes.Index(rest[2:], []byte("*/"))
		if end < 0 {
			return len(doc)
		}
		return i + 2 + end + 2
	}
	return i
}
