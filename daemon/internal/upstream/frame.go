package upstream

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// frame builds one request, with its line end. Its progress token is its id.
// params is the inside of the params object without braces, and may be empty;
// meta is further members of "_meta", each with a leading comma.
func frame(id int64, method string, params []byte, meta string) []byte {
	b := make([]byte, 0, len(params)+len(meta)+len(method)+120)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	b = append(b, `","params":{"_meta":{"progressToken":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, meta...)
	b = append(b, '}')
	if len(params) > 0 {
		b = append(b, ',')
		b = append(b, params...)
	}
	return append(b, '}', '}', '\n')
}

// frameCall appends one tools/call to b. More is further members of params,
// each with a leading comma. Arguments are sent as they are, but
// on one line.
func frameCall(b []byte, id int64, tool string, args json.RawMessage, meta string, more []byte) []byte {
	b = slices.Grow(b, len(args)+len(tool)+len(meta)+len(more)+140)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":"tools/call","params":{"_meta":{"progressToken":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, meta...)
	b = append(b, `},"name":`...)
	b = appendString(b, tool)
	b = append(b, `,"arguments":`...)
	b = appendOneLine(b, args)
	b = append(b, more...)
	return append(b, '}', '}', '\n')
}

// frameRequest is frameCall for another request, whose params are an object.
func frameRequest(b []byte, id int64, method string, params json.RawMessage, meta string, more []byte) []byte {
	b = slices.Grow(b, len(params)+len(method)+len(meta)+len(more)+140)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":`...)
	b = appendString(b, method)
	b = append(b, `,"params":{"_meta":{"progressToken":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, meta...)
	b = append(b, '}')
	if inside := bytes.TrimSpace(params); len(inside) > 2 {
		inside = bytes.TrimSpace(inside[1 : len(inside)-1])
		if len(inside) > 0 {
			b = appendOneLine(append(b, ','), inside)
		}
	}
	b = append(b, more...)
	return append(b, '}', '}', '\n')
}

// appendOneLine appends valid JSON without line breaks, which can stand only
// between its tokens. No arguments are {}: some servers refuse null or nothing.
func appendOneLine(b []byte, v json.RawMessage) []byte {
	if len(v) == 0 {
		return append(b, '{', '}')
	}
	if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
		return append(b, v...)
	}
	for _, c := range v {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		b = append(b, c)
	}
	return b
}

// appendString appends s as a JSON string; plain ASCII, which tool names are,
// without the cost of an encoder.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // cannot fail for a string
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func cancelled(id int64, why string) []byte {
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"reason":`...)
	b = appendString(b, why)
	return append(b, '}', '}', '\n')
}
