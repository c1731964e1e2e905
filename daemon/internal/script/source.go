package script

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// cacheKey is the sum of everything that a compiled program comes from.
type cacheKey [sha256.Size]byte

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

// Plain is a source without what is no part of the program: the byte order mark
// of a file, the line that names its interpreter, and the Markdown code fence
// around the whole of it. Every line stays in its place.
func Plain(source string) string {
	source = strings.TrimPrefix(source, "\ufeff")
	if strings.HasPrefix(source, "#!") {
		source = "//" + source[2:]
	}
	text, _ := unfence(source)
	return text
}

// Fenced reports whether Plain takes a code fence away.
func Fenced(source string) bool {
	_, fenced := unfence(strings.TrimPrefix(source, "\ufeff"))
	return fenced
}

// fence is the line that opens a block of code in Markdown. Three backticks are
// an empty template with another behind it for the language, and never meant.
var fence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)^[ \t]*```[ \t]*(?:ts|typescript|js|javascript|mts|mjs|cts|cjs|tsx|jsx|tenon)?[ \t]*\r?$")
})

// unfence empties the lines of the fence, where one block is all that there is.
func unfence(source string) (text string, fenced bool) {
	if !strings.HasPrefix(strings.TrimLeft(source, " \t\r\n"), "```") {
		return source, false
	}
	lines := strings.Split(source, "\n")
	first, last := 0, len(lines)-1
	for strings.TrimSpace(lines[first]) == "" {
		first++
	}
	for strings.TrimSpace(lines[last]) == "" {
		last--
	}
	if last <= first || !fence().MatchString(lines[first]) || strings.TrimSpace(lines[last]) != "```" {
		return source, false
	}
	for _, line := range lines[first+1 : last] {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			return source, false // several blocks: which one is meant is not known
		}
	}
	lines[first], lines[last] = "", ""
	return strings.Join(lines, "\n"), true
}
