package cases

import (
	"os"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tenon/daemon/internal/rig"
)

// TestRunner runs archives about the runner itself, with the test binary in
// the place of the program.
func TestRunner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the runner finds what a case left behind in /proc, which only Linux has")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata",
		Setup:              func(e *testscript.Env) error { return setup(e, self) },
		Cmds:               commands(),
		RequireUniqueNames: true,
	})
}

func TestALineThatCannotBeReadIsRefused(t *testing.T) {
	for _, words := range [][]string{
		{"within"}, {"within", "soon", "sh", "true"}, {"within", "1s"}, {"in", "dir", "dance"},
		{"sh", "true", "::", ".a"}, {"eventually", "1s", "sh", "true", "&job"},
	} {
		if p, err := parsePlan(words); err == nil {
			t.Errorf("%q was read as %+v", words, p)
		}
	}
}

// teller hears what a teardown says.
type teller struct {
	testscript.T
	failed bool
	said   []any
}

func (t *teller) Log(args ...any) { t.said = append(t.said, args...) }
func (t *teller) FailNow()        { t.failed = true }
func (t *teller) Verbose() bool   { return false }

func TestWhatACaseLeavesBehindFailsIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	made, err := rig.New(t.TempDir(), self)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{Scene: made}
	p := &plan{verb: "sh", words: []string{"setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo started"}}
	if o, err := programVerb(s, p, nil); err != nil || string(o.Stdout) != "started\n" {
		t.Fatal(o, err)
	}
	told := &teller{}
	s.tearDownWithin(told, 100*rig.PollEvery)
	if !told.failed {
		t.Error("a process was left and the case passed")
	}
	if left := s.UntilGone(rig.GoneBound); len(left) > 0 {
		t.Errorf("what was left was not ended: %v", left)
	}
}
