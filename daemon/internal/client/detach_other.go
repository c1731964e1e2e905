//go:build !unix

package client

import "os/exec"

// detach has nothing to do where no daemon is started (see package local).
func detach(*exec.Cmd) {}
