package script

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// Source is what is compiled.
type Source struct {
	// Text is the program as written.
	Text string `json:"text"`
	// Export is the export to run in place of the default one.
	Export string `json:"export,omitempty"`
	// Modules are the files that the program may import, by path with slashes from
	// a common folder, and Path is the program's own. Nothing else is read.
	Modules map[string]string `json:"modules,omitempty"`
	Path    string            `json:"path,omitempty"`
}

// size is how many bytes there are to compile.
func (s Source) size() int {
	n := len(s.Text)
	for _, text := range s.Modules {
		n += len(text)
	}
	return n
}

// key names the compiled program: two sources of one key are the same.
func (s Source) key(target Target) (key cacheKey) {
	sum := sha256.New()
	add := func(text string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(text)))
		sum.Write(n[:])
		sum.Write([]byte(text))
	}
	add(string(target))
	add(s.Text)
	add(s.Export)
	add(s.Path)
	for _, path := range slices.Sorted(maps.Keys(s.Modules)) {
		add(path)
		add(s.Modules[path])
	}
	sum.Sum(key[:0])
	return key
}

// plainText is a source without what only a file has: a byte order mark, and the
// line that names its interpreter.
func plainText(source string) string {
	source = strings.TrimPrefix(source, "\ufeff")
	if strings.HasPrefix(source, "#!") {
		source = "//" + source[2:]
	}
	return source
}
