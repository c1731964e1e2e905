//go:build unix

package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tenon/daemon/internal/fault"
)

// Nobody writes into it: reading would wait for ever, and no signal ends that.
func TestAPipeInAFilesPlaceIsRefused(t *testing.T) {
	x := target(t, "{}\n")
	if err := os.Remove(x.File()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(x.ConfigDir, "opencode.jsonc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Install(built(t, V1, "plugin")); fault.KindOf(err) != fault.ConfigError || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("install: %v", err)
	}
	if s := x.Status(nil, nil); s.Installed || s.Problem == "" {
		t.Errorf("status: %+v", s)
	}
	if _, err := x.Uninstall(); fault.KindOf(err) != fault.ConfigError {
		t.Errorf("uninstall: %v", err)
	}
	if found := Running([]string{x.File()}, func(string) bool { return true }); len(found) != 0 {
		t.Errorf("copies: %v", found)
	}
}
