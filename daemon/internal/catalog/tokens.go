package catalog

import "unicode"

// Tokens estimates what a text costs a model. It splits the text as tokenizers
// of byte pairs do: a word takes the space or the single mark before it, a
// capital within a word begins another one, digits go in threes, marks in runs
// which take the line's end behind them. Then it counts what such pieces cost on
// average. Against o200k_base it was within 3 % on catalogues and declarations of
// four servers; a test holds it within 10 %.
func Tokens(text string) int {
	var c tokenCounter
	for _, r := range text {
		c.add(r)
	}
	c.flush()
	return c.n
}

// What one token holds of a piece, beyond which it is cut: fitted once to
// o200k_base.
const (
	lettersAfterSpace = 10 // of a word in prose
	lettersElsewhere  = 7  // of a word within a name, or behind a mark
	marksTogether     = 3
)

type tokenCounter struct {
	n                      int
	letters, digits, marks int  // of the piece at hand
	spaces                 int  // before it
	spaced                 bool // the word, or the run of marks, began behind a space
	last                   rune
}

func (c *tokenCounter) add(r rune) {
	switch {
	case r == ' ':
		c.flush()
		c.spaces++
	case r == '\n':
		if c.marks == 0 && c.last != '\n' {
			c.n++
		}
		c.flush()
		c.spaces = 0
	case unicode.IsLetter(r):
		c.letter(r)
	case unicode.IsDigit(r):
		if c.digits == 0 {
			c.flush()
			if c.begin() {
				c.n++ // no digit takes a space
			}
		}
		c.digits++
	default:
		if c.marks == 0 {
			c.flush()
			c.spaced = c.begin()
		}
		c.marks++
	}
	c.last = r
}

// begin begins a piece and says whether there is a space before it; of several
// the others are a piece of their own.
func (c *tokenCounter) begin() bool {
	spaces := c.spaces
	c.spaces = 0
	if spaces > 1 {
		c.n++
	}
	return spaces > 0
}

func (c *tokenCounter) letter(r rune) {
	if r >= 0x250 { // scripts of which a token holds a character or two
		c.flush()
		c.begin()
		c.n++
		return
	}
	if c.letters > 0 && unicode.IsUpper(r) && unicode.IsLower(c.last) {
		c.flush()
	}
	if c.letters == 0 {
		if c.marks == 1 && !c.spaced {
			c.marks = 0 // the word takes it
		}
		c.flush()
		c.spaced = c.begin()
	}
	c.letters++
}

// flush counts the piece at hand.
func (c *tokenCounter) flush() {
	size := lettersElsewhere
	if c.spaced {
		size = lettersAfterSpace
	}
	c.n += (c.letters+size-1)/size + (c.digits+2)/3 + (c.marks+marksTogether-1)/marksTogether
	c.letters, c.digits, c.marks = 0, 0, 0
}
