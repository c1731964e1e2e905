package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"tenon/daemon/internal/config/jsonc"
)

// Limits of a document: a file beyond them is refused, never half read.
const (
	maxFileBytes = 8 << 20 // hosts keep history in the same file as their servers
	maxDepth     = jsonc.MaxDepth
	maxNodes     = 500_000 // values, after aliases of YAML are followed
)

// extensions are the formats of our own files, in the order in which they are looked for.
var extensions = []string{".jsonc", ".json", ".yaml", ".toml"}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads a document of any of the four formats; the file's extension
// says which. A leading byte order mark is dropped, CRLF is a line end.
// Mistakes are *placed.
func parse(file string, doc []byte) (*node, error) {
	if len(doc) > maxFileBytes {
		return nil, fmt.Errorf("file has %d bytes; at most %d are read", len(doc), maxFileBytes)
	}
	doc = bytes.TrimPrefix(doc, byteOrderMark)
	if len(bytes.TrimSpace(doc)) == 0 {
		return nil, &placed{at: place{1, 1}, message: "file is empty", hint: "an empty configuration is written {}"}
	}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return parseYAML(doc)
	case ".toml":
		return parseTOML(doc)
	}
	return parseJSON(doc)
}

// lineIndex turns byte offsets into lines and columns (of bytes, from 1).
type lineIndex []int

func indexLines(doc []byte) lineIndex {
	starts := lineIndex{0}
	for i, c := range doc {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (l lineIndex) place(offset int) place {
	low, high := 0, len(l)
	for high-low > 1 {
		mid := (low + high) / 2
		if l[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return place{low + 1, offset - l[low] + 1}
}
