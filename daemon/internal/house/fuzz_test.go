package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// reads is how code reads what somebody else has written.
var reads = regexp.MustCompile(`\bjson\.(Unmarshal|NewDecoder)\(|\bproto\.Decode\(|\byaml\.NewDecoder\(|\btoml\.Unmarshal\(|\bhujson\.Parse\(`)

var target = regexp.MustCompile(`(?m)^func Fuzz(\w+)\(`)

// The page names every fuzz target, and gives a reason for each package that reads
// without one: a new parser gets its target, or is thought about.
func TestEveryParserOfOutsideBytesHasItsTarget(t *testing.T) {
	page := read(t, "docs/testing.md")
	listed := map[string][]string{} // package -> targets; none: a reason is given
	for _, line := range strings.Split(page, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		var targets []string
		if len(cells) == 5 {
			targets = coded(cells[3])
		}
		for _, name := range coded(cells[1]) {
			listed[name] = targets
		}
	}
	found := map[string][]string{}
	parses := map[string]bool{}
	for dir, files := range goFiles(t) {
		name := strings.TrimPrefix(filepath.ToSlash(dir), "daemon/internal/")
		if strings.Contains(name, "embedded/") || strings.HasPrefix(name, "daemon/cmd") {
			continue // a generated interpreter, its generator, and main
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(raw)
			if !strings.HasSuffix(file, "_test.go") {
				parses[name] = parses[name] || reads.MatchString(text)
				continue
			}
			for _, m := range target.FindAllStringSubmatch(text, -1) {
				found[name] = append(found[name], m[1])
			}
		}
	}
	for name := range parses {
		targets, ok := listed[name]
		sort.Strings(found[name])
		sort.Strings(targets)
		if parses[name] && !ok {
			t.Errorf("%s reads what others write, and docs/testing.md names neither a fuzz target nor a reason", name)
		}
		if !slices.Equal(found[name], targets) {
			t.Errorf("docs/testing.md gives %s the targets %v, the package has %v", name, targets, found[name])
		}
	}
	for name := range listed {
		if _, ok := parses[name]; !ok {
			t.Errorf("docs/testing.md has %s, which is no package", name)
		}
	}
}

// coded are the words of a cell that stand between backticks.
func coded(cell string) []string {
	var out []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			out = append(out, part)
		}
	}
	return out
}
