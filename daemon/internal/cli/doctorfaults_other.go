//go:build !linux

package cli

import (
	"errors"
	"syscall"
)

// processState is empty when there is no such process, and "?" else: the state
// is told on Linux only.
func processState(pid int) string {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return ""
	}
	return "?"
}

// usages are told on Linux only.
func usages(int) []usage { return nil }
