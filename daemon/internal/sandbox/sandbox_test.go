package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestModesAreOrdered(t *testing.T) {
	for i, m := range Modes() {
		if parsed, err := ParseMode(string(m)); err != nil || parsed != m {
			t.Errorf("%s: %v", m, err)
		}
		for k, other := range Modes() {
			if m.Wider(other) != (i > k) {
				t.Errorf("%s wider than %s: %v", m, other, m.Wider(other))
			}
		}
	}
	if _, err := ParseMode("none"); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("%v", err)
	}
}

func TestAProfileThatGrantsWhatIsHiddenIsRefused(t *testing.T) {
	root := t.TempDir()
	state, link := filepath.Join(root, "work", "state"), filepath.Join(root, "link")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "work"), link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		profile Profile
		refused bool
	}{
		"workspace":           {Profile{Mode: ReadOnly, Workspace: filepath.Join(root, "work"), Hidden: []string{state}}, true},
		"through a link":      {Profile{Mode: WorkspaceWrite, Workspace: link, Hidden: []string{state}}, true},
		"not made yet":        {Profile{Mode: ReadOnly, Read: []string{root}, Hidden: []string{filepath.Join(root, "later", "x")}}, true},
		"itself":              {Profile{Mode: ReadOnly, Read: []string{state}, Hidden: []string{state}}, true},
		"a run's own, within": {Profile{Mode: ReadOnly, Write: []string{filepath.Join(state, "run")}, Hidden: []string{state}}, false},
		"a workspace within":  {Profile{Mode: ReadOnly, Workspace: filepath.Join(state, "run"), Hidden: []string{state}}, true},
		"beside":              {Profile{Mode: ReadOnly, Workspace: filepath.Join(root, "other"), Hidden: []string{state}}, false},
		"a longer name":       {Profile{Mode: ReadOnly, Workspace: filepath.Join(root, "wo"), Hidden: []string{state}}, false},
		"full":                {Profile{Mode: Full, Workspace: root, Hidden: []string{state}}, false},
		"relative":            {Profile{Mode: ReadOnly, Workspace: "work"}, true},
	} {
		if err := c.profile.Check(); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Command("/tenon", c.profile, []string{"/bin/true"}); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSupportIsNeverMoreThanThereIs(t *testing.T) {
	present := Support{ABI: 7}
	for abi, want := range map[int]struct {
		strict bool
		gaps   int
	}{0: {false, 0}, 1: {false, 0}, 2: {false, 0}, 3: {true, 1}, 5: {true, 1}, 6: {true, 0}, 7: {true, 0}, 99: {true, 0}} {
		s := present.AtMost(abi)
		if (s.Holds(ReadOnly) == nil) != want.strict || (s.Holds(WorkspaceWrite) == nil) != want.strict || len(s.Gaps) != want.gaps {
			t.Errorf("version %d: %+v", abi, s)
		}
		if s.Holds(Full) != nil || s.Holds(Confined) == nil {
			t.Errorf("version %d: %+v", abi, s)
		}
	}
	if missing := assess(0, errNone).AtMost(7); missing.Holds(ReadOnly) == nil {
		t.Error("a kernel without Landlock was made to have it")
	}
	if old := assess(2, nil).AtMost(7); old.Holds(ReadOnly) == nil || !strings.Contains(old.Reason, "version 2") {
		t.Errorf("%+v", old)
	}
}

func TestTheHelperSaysWhyItDoesNotStart(t *testing.T) {
	for _, args := range [][]string{nil, {"{}"}, {"no json", "--", "/bin/true"}, {`{"mode":"odd"}`, "--", "/bin/true"}} {
		var said strings.Builder
		if code := HelperMain(args, &said); code != FailCode || !strings.HasPrefix(said.String(), FailPrefix) {
			t.Errorf("%q: %d %s", args, code, said.String())
		}
	}
}
