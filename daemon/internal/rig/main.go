package rig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleEnv turns the test binary into the double of a plugin's host.
const roleEnv = "TENON_CASES_ROLE"

// binaryEnv names a ready-made binary to test instead of building one.
const binaryEnv = "TENON_CASES_BINARY"

// Main is the TestMain of a package that uses the rig: it plays a host's double
// where the process was started as one, and fails the package when a goroutine
// is left at the end.
func Main(m *testing.M) {
	PlayRole()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if buildDir != "" {
			_ = os.RemoveAll(buildDir)
		}
		os.Exit(code)
	}))
}

// PlayRole does not return in a process that [Scene.StartHost] has started.
func PlayRole() {
	if os.Getenv(roleEnv) == "host" {
		os.Exit(hostMain())
	}
}

var (
	buildOnce sync.Once
	buildDir  string // removed by Main
	binary    string
	buildErr  error
)

// Program builds the binary under test once, on first use, so that tests of the
// rig itself need none. It returns its path.
func Program(t testing.TB) string {
	t.Helper()
	buildOnce.Do(func() {
		if binary = os.Getenv(binaryEnv); binary != "" {
			return
		}
		start := time.Now()
		if buildDir, buildErr = os.MkdirTemp("", "tenon-rig-"); buildErr != nil {
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
