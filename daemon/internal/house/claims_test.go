package house

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryClaimOfSecurityHasItsTests holds docs/security.md: its claims are
// numbered in order, each names tests, and these exist.
func TestEveryClaimOfSecurityHasItsTests(t *testing.T) {
	defined := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(top(t), file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range function.FindAllStringSubmatch(string(raw), -1) {
			defined[m[1]] = true
		}
	}
	claim, named := regexp.MustCompile(`^- \*\*(S-\d+)\*\* `), regexp.MustCompile("`(Test\\w+)`")
	claims := 0
	for line := range strings.Lines(read(t, "docs/security.md")) {
		m := claim.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		claims++
		if want := fmt.Sprintf("S-%d", claims); m[1] != want {
			t.Errorf("%s stands where %s is due", m[1], want)
		}
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("%s names no test", m[1])
		}
		for _, test := range tests {
			if !defined[test[1]] {
				t.Errorf("%s names %s, which does not exist", m[1], test[1])
			}
		}
	}
	if claims == 0 {
		t.Error("docs/security.md claims nothing")
	}
}
