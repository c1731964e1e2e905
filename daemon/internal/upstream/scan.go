package upstream

// A strict JSON scanner that finds where values end without decoding them.
// It accepts exactly what encoding/json accepts (a fuzz test holds it to that)
// but is plain loops where that is a state machine, which shows with results of
// megabytes. Positions are -1 for "not JSON".

// maxDepth bounds nesting, so that hostile input cannot use up the stack; it
// is the limit of encoding/json.
const maxDepth = 10000

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// isObject reports whether b is one JSON object with nothing but white space
// around it.
func isObject(b []byte) bool {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return false
	}
	end := scanValue(b, i, 0)
	return end >= 0 && skipSpace(b, end) == len(b)
}

// scanValue returns the position after the value that starts at i.
func scanValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return scanString(b, i)
	case c == '{':
		return scanObject(b, i, depth+1, nil)
	case c == '[':
		return scanArray(b, i, depth+1, nil)
	case c == '-' || c >= '0' && c <= '9':
		return scanNumber(b, i)
	case c == 't':
		return scanWord(b, i, "true")
	case c == 'f':
		return scanWord(b, i, "false")
	case c == 'n':
		return scanWord(b, i, "null")
	}
	return -1
}

func scanWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func scanString(b []byte, i int) int {
	for i++; i < len(b); {
		c := b[i]
		if c == '"' {
			return i + 1
		}
		if c < 0x20 {
			return -1
		}
		if c != '\\' {
			i++
			continue
		}
		if i+1 >= len(b) {
			return -1
		}
		switch b[i+1] {
		case 'u':
			if i+6 > len(b) || !isHex(b[i+2:i+6]) {
				return -1
			}
			i += 6
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		default:
			return -1
		}
	}
	return -1
}

func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

func scanDigits(b []byte, i int) int {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func scanNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = scanDigits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = scanDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i
}

// scanObject returns the position after the object that starts at i and shows
// each member to visit: the key without its quotes, escapes left as they are.
func scanObject(b []byte, i, depth int, visit func(key, value []byte)) int {
	if depth > maxDepth {
		return -1
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		key := i
		if i = scanString(b, i); i < 0 {
			return -1
		}
		keyEnd := i
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		value := skipSpace(b, i+1)
		if i = scanValue(b, value, depth); i < 0 {
			return -1
		}
		if visit != nil {
			visit(b[key+1:keyEnd-1], b[value:i])
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

// scanArray is scanObject for arrays.
func scanArray(b []byte, i, depth int, visit func(value []byte)) int {
	if depth > maxDepth {
		return -1
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		value := i
		if i = scanValue(b, i, depth); i < 0 {
			return -1
		}
		if visit != nil {
			visit(b[value:i])
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == ']' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}
