package catalog

import "unicode"

// Tokens estimates what a text costs a model. It splits the text the way that
// tokenizers of byte pairs do — a word takes the character before it, digits go
// in threes, marks in runs — and counts what such pieces usually cost. Against
// o200k_base it is within 10 % on catalogues and declarations (docs/catalogue.md).
func Tokens(text string) int {
	var n, letters, digits, marks int
	var last rune
	word := func() {
		if letters > 0 {
			n += 1 + (letters-1)/lettersOfToken
		}
		letters = 0
	}
	number := func() {
		n += (digits + 2) / 3
		digits = 0
	}
	run := func() {
		n += (marks + marksOfToken - 1) / marksOfToken
		marks = 0
	}
	for _, r := range text {
		switch {
		case unicode.IsLetter(r):
			number()
			if marks > 0 {
				marks-- // one mark belongs to the word behind it
				run()
			}
			if r >= 0x250 { // scripts of which a token holds a character or two
				word()
				n++
				break
			}
			if unicode.IsUpper(r) && unicode.IsLower(last) {
				word()
			}
			letters++
		case unicode.IsDigit(r):
			word()
			run()
			digits++
		case r == ' ':
			word()
			number()
			run() // a single space belongs to what follows
			if last == ' ' {
				marks = 1
			}
		case r == '\n':
			word()
			number()
			if marks == 0 {
				n++ // a line's end goes with the marks before it, if there are some
			}
			run()
		default:
			word()
			number()
			marks++
		}
		last = r
	}
	word()
	number()
	run()
	return n
}

// What one token holds on average beyond the obvious.
const (
	lettersOfToken = 9
	marksOfToken   = 3
)
