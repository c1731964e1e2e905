//go:build unix

package local

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"tenon/daemon/internal/fault"
)

// systemTemp is the same for every process of the machine, whatever TMPDIR says.
const systemTemp = "/tmp"

// owned reports whether path is an existing directory of this user.
func owned(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir() && uidOf(st) == os.Getuid()
}

func uidOf(st fs.FileInfo) int {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

// private makes dir (and its parents) with mode 0700, or checks that what is
// there is a real directory of this user that nobody else can enter. It never
// changes the mode of a directory it did not make: the path comes from the
// environment and could name anything.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.UsageError, "cannot make directory %s: %w", dir, err)
	}
	st, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.UsageError, "directory %s vanished while it was checked", dir)
	}
	if err != nil {
		return fault.New(fault.UsageError, "cannot check directory %s: %w", dir, err)
	}
	if !st.IsDir() {
		return fault.New(fault.UsageError, "%s is not a directory", dir).
			WithHint("remove it, or point TENON_RUNTIME_DIR and TENON_STATE_DIR elsewhere")
	}
	if uid := uidOf(st); uid != os.Getuid() {
		return fault.New(fault.UsageError, "directory %s belongs to uid %d, not to uid %d", dir, uid, os.Getuid()).
			WithHint("point TENON_RUNTIME_DIR and TENON_STATE_DIR at directories of your own")
	}
	if st.Mode().Perm()&0o077 != 0 {
		return fault.New(fault.UsageError, "directory %s is open to other users (mode %04o)", dir, st.Mode().Perm()).
			WithHint("chmod 700 %s", dir)
	}
	return nil
}

// ours reports whether a file belongs to this user.
func ours(st fs.FileInfo) bool { return uidOf(st) == os.Getuid() }

// KeepPrivate holds a directory below one that Ensure has made to 0700: it is made
// where it is missing, and closed where it is open to others. Errors: ConfigError
// for what is another user's, or no directory.
func KeepPrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.ConfigError, "cannot make directory %s: %w", dir, err)
	}
	st, err := os.Stat(dir)
	if err != nil {
		return fault.New(fault.ConfigError, "cannot check directory %s: %w", dir, err)
	}
	if uid := uidOf(st); uid != os.Getuid() {
		return fault.New(fault.ConfigError, "directory %s belongs to uid %d, not to uid %d", dir, uid, os.Getuid()).
			WithHint("move it away")
	}
	if st.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fault.New(fault.ConfigError, "directory %s is open to other users: %w", dir, err).WithHint("chmod 700 %s", dir)
		}
	}
	return nil
}
