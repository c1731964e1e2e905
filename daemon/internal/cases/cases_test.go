package cases

import (
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tenon/daemon/internal/rig"
)

// caseDir holds the archives, seen from this package.
const caseDir = "../../testdata/cases"

func TestMain(m *testing.M) { rig.Main(m) }

func TestCases(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the runner finds what a case left behind in /proc, which only Linux has")
	}
	under := rig.Program(t)
	testscript.Run(t, testscript.Params{
		Dir:                caseDir,
		Setup:              func(e *testscript.Env) error { return setup(e, under) },
		Cmds:               commands(),
		RequireUniqueNames: true,
	})
}
