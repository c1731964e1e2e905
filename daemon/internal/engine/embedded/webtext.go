package embedded

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// newBytes makes a Uint8Array that holds s.
func (r *realm) newBytes(s string) int32 {
	p, n := r.cstring(s)
	h := r.mod.Xqjs_new_uint8_array(p, n)
	r.mod.Xwasm_free(p)
	return h
}

// bytes copies what argument i, a typed array, shows of its buffer.
func (a args) bytes(i int) []byte {
	if !a.has(i) {
		return nil
	}
	r := a.r
	out := r.mod.Xwasm_malloc(12) // offset, length, size of an element
	if out == 0 {
		panic(errMemory)
	}
	defer r.mod.Xwasm_free(out)
	buffer := r.mod.Xqjs_get_typed_array_buffer(a.handle(i), out, out+4, out+8)
	if buffer == 0 || r.mod.Xqjs_is_exception(buffer) != 0 {
		return nil
	}
	defer r.mod.Xqjs_free_value(buffer)
	offset, length := binary.LittleEndian.Uint32(r.mem()[uint32(out):]), binary.LittleEndian.Uint32(r.mem()[uint32(out)+4:])
	start := r.mod.Xqjs_get_array_buffer(buffer, out)
	if start == 0 || length == 0 {
		return nil
	}
	return append([]byte(nil), r.mem()[uint32(start)+offset:][:length]...)
}

// decode is TextDecoder: each maximal part that is not valid becomes U+FFFD.
func decode(b []byte, encoding string) string {
	var out strings.Builder
	switch encoding {
	case "utf-16le":
		units := make([]uint16, (len(b)+1)/2)
		for i := range units {
			if 2*i+1 < len(b) {
				units[i] = binary.LittleEndian.Uint16(b[2*i:])
			} else {
				units[i] = utf8.RuneError
			}
		}
		return string(utf16.Decode(units))
	case "latin1":
		for _, c := range b {
			out.WriteRune(rune(c))
		}
		return out.String()
	}
	if utf8.Valid(b) {
		return string(b)
	}
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			n = invalidPart(b)
		}
		out.WriteRune(c)
		b = b[n:]
	}
	return out.String()
}

// invalidPart is the length of the longest start of b that could begin a
// character, at least 1.
func invalidPart(b []byte) int {
	low, high, need := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 1
	case c >= 0xe0 && c <= 0xef:
		need = 2
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		need = 3
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for n <= need && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

// zone gives a time zone's offset in minutes and short name at a time, as JSON;
// empty when it is not known.
func zone(name string, ms float64) string {
	if name == "" || name == "Local" {
		return ""
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return ""
	}
	short, seconds := time.UnixMilli(int64(ms)).In(loc).Zone()
	return fmt.Sprintf(`{"offset":%d,"short":%q}`, seconds/60, short)
}
