package house

import (
	"regexp"
	"strings"
	"testing"
)

// rule is something that no file may hold.
type rule struct {
	pattern string
	in      func(file string) bool
	why     string
}

// shipped reports whether a file is code that users run.
func shipped(file string) bool {
	if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".test.ts") || strings.Contains(file, "/test/") {
		return false
	}
	for _, dir := range []string{"daemon/internal/house/", "daemon/internal/bench/", "daemon/internal/cases/", "daemon/internal/rig/", "daemon/internal/faults/", "daemon/internal/soak/", "daemon/internal/engine/embedded/gen/"} {
		if strings.HasPrefix(file, dir) {
			return false
		}
	}
	return strings.HasPrefix(file, "daemon/") && strings.HasSuffix(file, ".go") ||
		(strings.HasPrefix(file, "plugins/") || strings.HasPrefix(file, "proto/")) && strings.HasSuffix(file, ".ts")
}

var houseRules = []rule{
	{`\b(TODO|FIXME|XXX)\b`, func(f string) bool {
		return !strings.HasSuffix(f, "rules_test.go") && !strings.HasSuffix(f, "package-lock.json")
	},
		"a known gap is a sentence in the code and a line in docs/rough-edges.md"},
	{`\bexec\.CommandContext\(`, func(f string) bool { return shipped(f) && strings.HasSuffix(f, ".go") },
		"a child does not hang on a context that is shorter than its life: package proctree ends it"},
	{`\btime\.Sleep\(`, func(f string) bool { return shipped(f) && !strings.Contains(f, "/fakeserver/") },
		"what is waited for has a channel or a condition"},
	{`\bslog\.(Default|SetDefault)\(|\blog\.(Print|Fatal)`, func(f string) bool { return shipped(f) },
		"a room logs with the logger of its options"},
	{`\bconsole\.(log|info|warn|error)\(`, func(f string) bool { return shipped(f) && strings.HasPrefix(f, "plugins/") },
		"a plugin never prints into its host's terminal"},
}

func TestHouseRules(t *testing.T) {
	for _, rule := range houseRules {
		bad := regexp.MustCompile(rule.pattern)
		for _, file := range tracked(t) {
			if !rule.in(file) {
				continue
			}
			for i, line := range strings.Split(read(t, file), "\n") {
				if bad.MatchString(line) {
					t.Errorf("%s:%d: %s: %s", file, i+1, strings.TrimSpace(line), rule.why)
				}
			}
		}
	}
}

// longest is how many lines a file of shipped code may have, the JavaScript in the
// binary too: one that is longer holds two things.
const longest = 400

func TestFilesCanBeReadInASitting(t *testing.T) {
	for _, file := range tracked(t) {
		if n := strings.Count(read(t, file), "\n"); n > longest && (shipped(file) || strings.HasSuffix(file, ".js")) {
			t.Errorf("%s has %d lines, more than %d", file, n, longest)
		}
	}
}
