//go:build unix

package client

import (
	"os/exec"
	"syscall"
)

// detach puts the daemon into a session of its own: no terminal, no process
// group of ours.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
