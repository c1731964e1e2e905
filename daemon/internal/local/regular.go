package local

import (
	"errors"
	"io"
	"os"
	"syscall"

	"tenon/daemon/internal/fault"
)

// OpenRegular is os.OpenFile for a file of ours that has a known name. What stands in
// its place and is no regular file is refused with its path: the open of a pipe waits
// for ever, and no signal ends it.
func OpenRegular(path string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
	if errors.Is(err, syscall.ENXIO) { // a pipe that nobody reads, or a socket
		return nil, inTheWay(path)
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = inTheWay(path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ReadRegular is os.ReadFile, as OpenRegular.
func ReadRegular(path string) ([]byte, error) {
	f, err := OpenRegular(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}

func inTheWay(path string) error {
	return fault.New(fault.ConfigError, "%s is not a regular file", path).WithHint("move it away")
}
