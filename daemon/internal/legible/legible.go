// Package legible deals with what a text holds and does not show. Servers,
// repositories and models write names, descriptions and messages that people and
// models read, and a few characters of them move a cursor, retitle a window, turn
// the reading direction around or stand there unseen.
package legible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Show writes out every character of s that shows nothing by itself, as \x1b or
// \u202e. Line feeds and tabs stay.
func Show(s string) string {
	return each(s, func(b *strings.Builder, r rune) {
		if r < 0x100 {
			fmt.Fprintf(b, `\x%02x`, r)
			return
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	})
}

// Drop leaves every character out that shows nothing by itself, and makes each
// kind of line end a line feed. It is for texts that a model reads, whose words
// stay as they were written.
func Drop(s string) string {
	if strings.ContainsAny(s, "\r\u0085\u2028\u2029") {
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s)
	}
	return each(s, func(*strings.Builder, rune) {})
}

// JSON is Show for a JSON document without blanks between its tokens, or with
// line feeds and spaces alone: the characters become escapes of its strings, and
// the document means what it meant.
func JSON(doc []byte) []byte {
	return []byte(each(string(doc), func(b *strings.Builder, r rune) {
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(b, `\u%04x`, unit)
		}
	}))
}

// Line writes out everything in s that is no character to look at or a blank,
// line ends included: what is left is one line.
func Line(s string) string {
	var out strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

// each copies s and lets hidden write in place of each character that hides.
func each(s string, hidden func(b *strings.Builder, r rune)) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	before := rune(' ')
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			b.WriteRune(r) // a byte that is no character
		} else if hides(r, before) {
			hidden(&b, r)
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// plain is whether s is ASCII that shows, as most texts are.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// hides reports whether r shows nothing by itself, standing behind before.
//
// Controls and marks of direction act on a terminal or an editor; the rest of
// Unicode's format characters, tags (U+E0000…) and supplementary selectors of
// variants carry text that people do not see and models read. What joins the
// letters of a script or the parts of a picture stays where it does that: once,
// and behind a character beyond ASCII.
func hides(r, before rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x7f:
		return r < ' '
	case r == zeroWidthJoiner, r == zeroWidthNonJoiner:
		return before < 0x80 || invisible(before) && before != emojiVariant
	case r >= 0xfe00 && r <= emojiVariant:
		return before <= ' ' || invisible(before)
	}
	return invisible(r)
}

const (
	zeroWidthNonJoiner = 0x200c
	zeroWidthJoiner    = 0x200d
	emojiVariant       = 0xfe0f
)

// invisible reports whether r takes no room, or none that can be seen.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) ||
		r == 0x2028 || r == 0x2029 || // ends of lines and paragraphs
		r == 0x034f || r == 0x115f || r == 0x1160 || r == 0x17b4 || r == 0x17b5 || r == 0x3164 || r == 0xffa0 // letters and marks by class, without a form
}
