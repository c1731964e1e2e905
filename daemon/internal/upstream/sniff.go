package upstream

import "bytes"

// message is one JSON-RPC message taken apart: each part is the raw JSON of
// the member, nil when absent, and shares memory with the bytes it came from.
type message struct {
	id, method, params, result, err []byte
	version                         bool // "jsonrpc" is "2.0"
}

func (m *message) response() bool { return m.method == nil && (m.result != nil || m.err != nil) }
func (m *message) request() bool  { return m.method != nil && m.id != nil && m.version }
func (m *message) notice() bool   { return m.method != nil && m.id == nil && m.version }

// name is the method without quotes; methods of the protocol have no escapes.
func (m *message) name() string { return string(unquote(m.method)) }

// sniff takes a message apart. It reports false when b is no JSON object.
func sniff(b []byte, m *message) bool {
	*m = message{}
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return false
	}
	end := scanObject(b, i, 1, func(key, value []byte) {
		switch string(key) { // does not allocate
		case "id":
			if !bytes.Equal(value, []byte("null")) {
				m.id = value
			}
		case "method":
			if value[0] == '"' {
				m.method = value
			}
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			// Some servers send "error": null beside a result.
			if !bytes.Equal(value, []byte("null")) {
				m.err = value
			}
		case "jsonrpc":
			m.version = string(value) == `"2.0"`
		}
	})
	return end >= 0 && skipSpace(b, end) == len(b)
}

func unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// number reads an id of ours: digits, or digits in quotes as some servers
// answer. It reports false for anything else.
func number(id []byte) (int64, bool) {
	id = unquote(id)
	if len(id) == 0 || len(id) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range id {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// guessID finds the id of a message that could not be read whole, from its
// first bytes and its last: most servers write the id before the result, some
// after it. It is a guess: a result that holds such a text misleads it only
// when the id is in neither place.
func guessID(head, tail []byte) (int64, bool) {
	if n, ok := headID(head); ok {
		return n, true
	}
	at := bytes.LastIndex(tail, []byte(`"id"`))
	if at < 0 {
		return 0, false
	}
	rest := bytes.TrimLeft(tail[at+len(`"id"`):], " \t:")
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return 0, false
	}
	return number(bytes.TrimSpace(rest[:end]))
}

// headID reads the members of an object that is cut off, up to its id.
func headID(b []byte) (n int64, ok bool) {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return 0, false
	}
	i = skipSpace(b, i+1)
	for i < len(b) && b[i] == '"' {
		end := scanString(b, i)
		if end < 0 {
			return 0, false
		}
		key := unquote(b[i:end])
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return 0, false
		}
		value := skipSpace(b, i+1)
		if i = scanValue(b, value, 1); i < 0 || i >= len(b) {
			return 0, false
		}
		if string(key) == "id" {
			return number(b[value:i])
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ',' {
			return 0, false
		}
		i = skipSpace(b, i+1)
	}
	return 0, false
}
