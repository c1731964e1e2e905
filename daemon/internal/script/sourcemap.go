package script

import (
	"sort"
	"strings"
)

// segment says where one place of the output came from; all numbers from 0.
type segment struct{ line, column, source, sourceLine, sourceColumn int }

// find returns the segment that covers a place of the output.
func find(segments []segment, line, column int) (segment, bool) {
	after := sort.Search(len(segments), func(i int) bool {
		s := segments[i]
		return s.line > line || s.line == line && s.column > column
	})
	if after == 0 || segments[after-1].line != line {
		return segment{}, false
	}
	return segments[after-1], true
}

// decodeMappings reads the "mappings" of a version 3 source map.
// Entries that name no source are left out.
func decodeMappings(mappings string) []segment {
	var out []segment
	var source, sourceLine, sourceColumn, line int
	for row := range strings.SplitSeq(mappings, ";") {
		column := 0
		for field := range strings.SplitSeq(row, ",") {
			var v [5]int
			switch n := decodeVLQ(field, &v); {
			case n == 0:
				continue
			case n < 4:
				column += v[0]
				continue
			}
			column += v[0]
			source += v[1]
			sourceLine += v[2]
			sourceColumn += v[3]
			out = append(out, segment{line, column, source, sourceLine, sourceColumn})
		}
		line++
	}
	return out
}

const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// decodeVLQ fills out with the numbers of one field and returns how many.
func decodeVLQ(field string, out *[5]int) int {
	n, value, shift := 0, 0, 0
	for i := range len(field) {
		digit := strings.IndexByte(base64, field[i])
		if digit < 0 || n == len(out) || shift > 30 {
			return n
		}
		value |= (digit & 31) << shift
		if shift += 5; digit&32 != 0 {
			continue
		}
		if value&1 != 0 {
			value = -value
		}
		out[n] = value / 2
		n++
		value, shift = 0, 0
	}
	return n
}
