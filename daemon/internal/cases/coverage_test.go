package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reports are the numbers of the public reports that must have a case by now.
var reports = numbers("1-57")

func numbers(ranges ...string) []string {
	var all []string
	for _, r := range ranges {
		var from, to int
		if n, _ := fmt.Sscanf(r, "%d-%d", &from, &to); n == 1 {
			to = from
		}
		for n := from; n <= to; n++ {
			all = append(all, fmt.Sprintf("R-%02d", n))
		}
	}
	return all
}

// firstLine is "# R-01 · owner/repository#1, owner/other#2 · what it is about".
var firstLine = regexp.MustCompile(`^# ((?:R-\d\d)(?:, R-\d\d)*) · ([\w.-]+/[\w.-]+(?: PR )?#\d+(?:, (?:[\w.-]+/[\w.-]+)?(?: PR )?#\d+)*) · .+$`)

// ownLine is the first line of a case about what no report is about.
var ownLine = regexp.MustCompile(`^# tenon · .+$`)

func TestEveryReportHasItsCase(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(caseDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string][]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		lines := strings.SplitN(string(raw), "\n", 3)
		m := firstLine.FindStringSubmatch(lines[0])
		if m == nil && ownLine.MatchString(lines[0]) {
			m = []string{"", "", ""}
		}
		if m == nil {
			t.Errorf("%s: the first line is not \"# R-01 · owner/repository#1 · what it is about\": %s", name, lines[0])
			continue
		}
		if len(lines) < 2 || !strings.HasPrefix(lines[1], "# ") {
			t.Errorf("%s: the second line does not say what must come out", name)
		}
		for _, r := range strings.FieldsFunc(m[1], func(c rune) bool { return c == ',' || c == ' ' }) {
			have[r] = append(have[r], name)
		}
		if strings.Contains(string(raw), "\nenv ") {
			t.Errorf("%s: env does not reach tenon here, use set", name)
		}
	}
	for _, r := range reports {
		if len(have[r]) == 0 {
			t.Errorf("%s has no case", r)
		}
	}
	for r, names := range have {
		if !slices.Contains(reports, r) {
			t.Errorf("%s: %s is not on the list of reports", names, r)
		}
	}
}
