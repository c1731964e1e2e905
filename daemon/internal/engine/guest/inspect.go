package guest

import "bytes"

// safeDigits is how many digits an integer can have and always be exact in a
// double: 2^53 - 1 has 16.
const safeDigits = 15

// Inspect looks through valid JSON once: how deep it nests, and whether it may
// hold an integer beyond 2^53 - 1.
func Inspect(text []byte) (depth int, big bool) {
	level := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = skipString(text, i+1)
		case c == '{' || c == '[':
			if level++; level > depth {
				depth = level
			}
		case c == '}' || c == ']':
			level--
		case c >= '0' && c <= '9':
			start := i
			for i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' {
				i++
			}
			if i+1-start > safeDigits && (i+1 == len(text) || !isFraction(text[i+1])) && (start == 0 || !isFraction(text[start-1])) {
				big = true
			}
		}
	}
	return depth, big
}

func isFraction(c byte) bool { return c == '.' || c == 'e' || c == 'E' || c == '+' }

// skipString returns the index of the quote that ends the string from i on.
func skipString(text []byte, i int) int {
	for i < len(text) {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n
		escapes := 0
		for k := i - 1; k >= 0 && text[k] == '\\'; k-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		i++
	}
	return len(text)
}
