package cases

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// caseDir holds the archives, seen from this package.
const caseDir = "../../testdata/cases"

// roleEnv turns the test binary into the double of a plugin's host.
const roleEnv = "TENON_CASES_ROLE"

// binaryEnv names a ready-made binary to test instead of building one.
const binaryEnv = "TENON_CASES_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "host" {
		os.Exit(hostMain())
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if buildDir != "" {
			_ = os.RemoveAll(buildDir)
		}
		os.Exit(code)
	}))
}

func TestCases(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the runner finds what a case left behind in /proc, which only Linux has")
	}
	under := program(t)
	testscript.Run(t, testscript.Params{
		Dir:                caseDir,
		Setup:              func(e *testscript.Env) error { return setup(e, under) },
		Cmds:               commands(),
		RequireUniqueNames: true,
	})
}

var (
	buildOnce sync.Once
	buildDir  string // removed by TestMain
	binary    string
	buildErr  error
)

// program builds the binary under test once, on first use, so that the tests
// of the runner itself need none.
func program(t testing.TB) string {
	t.Helper()
	buildOnce.Do(func() {
		if binary = os.Getenv(binaryEnv); binary != "" {
			return
		}
		start := time.Now()
		if buildDir, buildErr = os.MkdirTemp("", "tenon-cases-"); buildErr != nil {
			return
		}
		binary = filepath.Join(buildDir, "tenon")
		buildErr = goBuild(binary, "tenon/daemon/cmd/tenon")
		t.Logf("built the binary with the race detector in %.0f s", time.Since(start).Seconds())
	})
	if buildErr != nil {
		t.Fatalf("cannot build the program under test: %v", buildErr)
	}
	return binary
}

func goBuild(out, pkg string) error {
	var said bytes.Buffer
	cmd := exec.Command("go", "build", "-race", "-o", out, pkg)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build -race %s: %w\n%s", pkg, err, said.Bytes())
	}
	return nil
}

// place puts the program at path as a file of its own, so that the path of its
// executable tells whose process it is.
func place(program, path string) error {
	err := os.Link(program, path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	data, err := os.ReadFile(program) // another file system
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o755)
}
