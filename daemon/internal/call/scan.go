package call

import "bytes"

// The scanner below walks JSON that a transport has already checked. It finds
// the few members of a result that matter without decoding the rest, and is
// safe on any input: what it does not understand it does not find.

// blank skips white space.
func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// text skips the string that begins at i and returns the index behind it.
func text(b []byte, i int) int {
	for i++; i < len(b); {
		at := bytes.IndexByte(b[i:], '"')
		if at < 0 {
			return len(b)
		}
		end := i + at
		slashes := 0
		for k := end - 1; k >= i && b[k] == '\\'; k-- {
			slashes++
		}
		i = end + 1
		if slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// value skips the value that begins at i and returns the index behind it.
func value(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	if b[i] == '"' {
		return text(b, i)
	}
	if b[i] != '{' && b[i] != '[' {
		for i < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[i]) < 0 {
			i++
		}
		return i
	}
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = text(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

// members calls f for each member of an object with its name, still quoted, and
// its value; f returns false to stop. It reports whether b is an object.
func members(b []byte, f func(name, value []byte) bool) bool {
	i := blank(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	for i = blank(b, i+1); i < len(b) && b[i] == '"'; i = blank(b, i+1) {
		nameEnd := text(b, i)
		name := b[i:nameEnd]
		colon := blank(b, nameEnd)
		if colon >= len(b) || b[colon] != ':' {
			return true
		}
		start := blank(b, colon+1)
		end := value(b, start)
		if !f(name, b[start:end]) {
			return true
		}
		if i = blank(b, end); i >= len(b) || b[i] != ',' {
			return true
		}
	}
	return true
}

// elements calls f for each element of an array. It reports whether b is one.
func elements(b []byte, f func(element []byte)) bool {
	i := blank(b, 0)
	if i >= len(b) || b[i] != '[' {
		return false
	}
	for i = blank(b, i+1); i < len(b) && b[i] != ']'; i = blank(b, i+1) {
		end := value(b, i)
		if end == i {
			return true
		}
		f(b[i:end])
		if i = blank(b, end); i >= len(b) || b[i] != ',' {
			return true
		}
	}
	return true
}

// depth is how deep arrays and objects of a JSON text stand in each other.
func depth(b []byte) (deepest int) {
	level := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = text(b, i) - 1
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}
