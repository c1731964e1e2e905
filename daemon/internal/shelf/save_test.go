package shelf

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tenon/daemon/internal/fault"
)

func TestAScriptIsSavedWhereItIsFound(t *testing.T) {
	top := tree(t, map[string]string{"repo/.git/HEAD": "x", "repo/app/x": ""})
	s := New(filepath.Join(top, "config/scripts"))
	dir := filepath.Join(top, "repo/app")
	for _, where := range []string{Project, User} {
		x, err := s.Save(Saving{Dir: dir, Name: "team/" + where, Code: "// Mine.\n1", Where: where})
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Find(dir, "team/"+where)
		if err != nil || found.File != x.File || found.Where != where || found.Description != "Mine." || x.Description != "Mine." {
			t.Errorf("%+v and %+v, %v", x, found, err)
		}
	}
	if _, err := os.Stat(filepath.Join(top, "repo/.tenon/scripts/team/project.ts")); err != nil {
		t.Errorf("not at the repository's top: %v", err)
	}
	if st, err := os.Stat(filepath.Join(top, "config/scripts")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := os.MkdirAll(filepath.Join(dir, Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if x, err := s.Save(Saving{Dir: dir, Name: "near", Code: "1", Where: Project}); err != nil || !within(dir, x.File) {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestNothingIsReplacedWithoutForce(t *testing.T) {
	top := tree(t, map[string]string{".git/HEAD": "x", ".tenon/scripts/a.js": "'old'"})
	s := New("")
	_, err := s.Save(Saving{Dir: top, Name: "a", Code: "'new'", Where: Project})
	if f := fault.From(err); f == nil || f.Kind != fault.UsageError || !strings.Contains(f.Hint, "--force") {
		t.Errorf("%+v", f)
	}
	if _, err = s.Save(Saving{Dir: top, Name: "a", Code: "'new'", Where: Project, Force: true}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Load(top, "a")
	if err != nil || c.Text != "'new'" || filepath.Ext(c.File) != ".js" {
		t.Errorf("%+v, %v", c, err)
	}
	left, _ := filepath.Glob(filepath.Join(top, ".tenon/scripts/*"))
	hidden, _ := filepath.Glob(filepath.Join(top, ".tenon/scripts/.*"))
	if len(left) != 1 || len(hidden) != 0 {
		t.Errorf("left behind: %q %q", left, hidden)
	}
}

func TestOfTwoSavesAtOnceOneIsRefused(t *testing.T) {
	top := tree(t, map[string]string{".git/HEAD": "x"})
	s := New("")
	var saved, refused atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch _, err := s.Save(Saving{Dir: top, Name: "a", Code: "1", Where: Project}); fault.KindOf(err) {
			case "":
				saved.Add(1)
			case fault.UsageError:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if saved.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d saved, %d refused", saved.Load(), refused.Load())
	}
}

func TestWhatCannotBeSaved(t *testing.T) {
	top := tree(t, map[string]string{".git/HEAD": "x", "else/x": "", ".tenon/scripts/out": "->else"})
	s := New("")
	for _, w := range []Saving{
		{Dir: top, Name: "../a", Code: "1"}, {Dir: top, Name: "/a", Code: "1"}, {Dir: top, Name: "_lib", Code: "1"}, {Dir: top, Name: "a.ts/", Code: "1"}, {Dir: top, Name: "a.ts", Code: "1"}, {Dir: top, Name: "b/a.mjs", Code: "1"},
		{Dir: top, Name: "", Code: "1"}, {Dir: top, Name: strings.Repeat("a", 200), Code: "1"}, {Dir: top, Name: "a", Code: "  \n"},
		{Dir: top, Name: "a", Code: strings.Repeat("1", maxFile+1)}, {Dir: "", Name: "a", Code: "1"},
	} {
		w.Where = Project
		if x, err := s.Save(w); fault.KindOf(err) != fault.UsageError {
			t.Errorf("%q: %+v, %v", clip(w.Name, 40), x, err)
		}
	}
	if x, err := s.Save(Saving{Dir: top, Name: "out/a", Code: "1", Where: Project}); err == nil && !strings.HasPrefix(x.File, filepath.Join(top, ".tenon")) {
		t.Errorf("a link led out: %+v", x)
	}
}
