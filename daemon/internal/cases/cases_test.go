package cases

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tenon/daemon/internal/rig"
)

// caseDir holds the archives, seen from this package.
const caseDir = "../../testdata/cases"

// pluginsEnv names a folder with other builds of the plugins than the tree's.
const pluginsEnv = "TENON_CASES_PLUGINS"

// pluginsDir is $PLUGINS of a case: where the plugins are that were built.
func pluginsDir(top string) string {
	if dir := os.Getenv(pluginsEnv); dir != "" {
		return dir
	}
	return filepath.Join(top, "plugins")
}

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
