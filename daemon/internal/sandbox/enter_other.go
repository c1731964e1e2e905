//go:build !linux

package sandbox

import (
	"fmt"
	"runtime"
	"syscall"
)

func landlockABI() (int, error) {
	return 0, fmt.Errorf("%s has no Landlock: files and sockets of a process cannot be held back here", runtime.GOOS)
}

// enter becomes the program; only [Full] comes here, since nothing else holds.
func enter(p Profile, argv, env []string) error {
	if err := Probe().Holds(p.Mode); err != nil {
		return err
	}
	if err := limits(p); err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", argv[0], syscall.Exec(argv[0], argv, env))
}
