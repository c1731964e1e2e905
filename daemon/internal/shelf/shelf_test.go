package shelf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

func names(list []Script) (out []string) {
	for _, x := range list {
		name := x.Name
		if x.Shadowed != "" {
			name += "(shadowed)"
		}
		out = append(out, name)
	}
	return out
}

func TestTheNearestScriptWins(t *testing.T) {
	top := tree(t, map[string]string{
		".tenon/scripts/outside.ts":               "1",
		"repo/.git/HEAD":                          "x",
		"repo/.tenon/scripts/report.ts":           "'top'",
		"repo/.tenon/scripts/team/weekly.mts":     "1",
		"repo/.tenon/scripts/_lib.ts":             "1",
		"repo/.tenon/scripts/_parts/a.ts":         "1",
		"repo/.tenon/scripts/types.d.ts":          "1",
		"repo/.tenon/scripts/readme.md":           "1",
		"repo/app/.tenon/scripts/report.js":       "'near'",
		"repo/app/deep/x":                         "",
		"config/scripts/report.ts":                "'user'",
		"config/scripts/mine.ts":                  "1",
		"repo/app/.tenon/scripts/both.ts":         "'ts'",
		"repo/app/.tenon/scripts/both.js":         "'js'",
		"repo/app/.tenon/scripts/bad name.ts":     "1",
		"repo/app/.tenon/scripts/.hidden/part.ts": "1",
	})
	s := New(filepath.Join(top, "config/scripts"))
	got := names(s.List(filepath.Join(top, "repo/app/deep")))
	want := []string{"both", "both(shadowed)", "mine", "report", "report(shadowed)", "report(shadowed)", "team/weekly"}
	if !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	c, err := s.Load(filepath.Join(top, "repo/app/deep"), "report")
	if err != nil || c.Text != "'near'" || c.Where != Project {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = s.Load(filepath.Join(top, "repo"), "report.ts")
	if err != nil || c.Text != "'top'" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = s.Load(top, "mine"); err != nil || c.Where != User {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = s.Load("", "mine"); err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = s.Find(filepath.Join(top, "repo"), "raport")
	if f := fault.From(err); f == nil || f.Kind != fault.NotFound || !strings.Contains(f.Hint, "report") {
		t.Errorf("%+v", f)
	}
	if _, err = s.Find(filepath.Join(top, "repo"), "outside"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a folder above the repository counts: %v", err)
	}
}

func TestNothingOutsideOfAFolderIsReached(t *testing.T) {
	top := tree(t, map[string]string{
		"secret.ts":                      "export const secret = 1",
		"else/scripts/far.ts":            "1",
		"repo/.git/HEAD":                 "x",
		"repo/.tenon/scripts/link.ts":    "->secret.ts",
		"repo/.tenon/scripts/up.ts":      "import { secret } from '../../../secret';\nsecret",
		"repo/.tenon/scripts/through.ts": "import { secret } from './link';\nsecret",
		"repo/.tenon/scripts/fine.ts":    "1",
		"repo/sub/.tenon":                "->else",
	})
	s := New(filepath.Join(top, "none"))
	if got := names(s.List(filepath.Join(top, "repo/sub"))); !slices.Equal(got, []string{"fine", "through", "up"}) {
		t.Errorf("listed %q", got)
	}
	for _, name := range []string{"up", "through"} {
		c, err := s.Load(filepath.Join(top, "repo"), name)
		if err != nil || c.Modules != nil {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	for _, name := range []string{"../../../secret", "/etc/passwd", "link", ".."} {
		if _, err := s.Load(filepath.Join(top, "repo"), name); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatAScriptImportsIsReadWithIt(t *testing.T) {
	top := tree(t, map[string]string{
		".git/HEAD":                     "x",
		".tenon/scripts/a.ts":           "import { b } from './_lib/b.js';\nimport { c } from \"./_lib\";\nexport default () => b + c",
		".tenon/scripts/_lib/b.ts":      "import data from '../data.json';\nexport const b = data.n",
		".tenon/scripts/_lib/index.ts":  "export * from './c'",
		".tenon/scripts/_lib/c.mjs":     "export const c = 1 // from './gone'",
		".tenon/scripts/data.json":      `{"n": 1}`,
		".tenon/scripts/_lib/unused.ts": "",
	})
	c, err := New("").Load(top, "a")
	if err != nil || c.Modules == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	var got []string
	for name := range c.Modules.Files {
		got = append(got, name)
	}
	slices.Sort(got)
	if want := []string{"_lib/b.ts", "_lib/c.mjs", "_lib/index.ts", "data.json"}; !slices.Equal(got, want) || c.Modules.Path != "a.ts" {
		t.Errorf("%q from %s, want %q", got, c.Modules.Path, want)
	}
}

func TestAHeaderIsReadAgainWhenItsFileChanges(t *testing.T) {
	top := tree(t, map[string]string{".git/HEAD": "x", ".tenon/scripts/a.ts": "// first\n1"})
	s := New("")
	if got := s.List(top)[0].Description; got != "first" {
		t.Errorf("%q", got)
	}
	if err := os.WriteFile(filepath.Join(top, ".tenon/scripts/a.ts"), []byte("// second one\n1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := s.List(top)[0].Description; got != "second one" {
		t.Errorf("%q", got)
	}
}
