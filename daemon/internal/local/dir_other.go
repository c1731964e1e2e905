//go:build !unix

package local

import (
	"io/fs"

	"tenon/daemon/internal/fault"
)

// Only unix-like systems are supported: elsewhere there is no owner to check,
// so nothing is trusted and every start is refused with this reason.
var systemTemp = "."

func owned(string) bool { return false }

func private(dir string) error {
	return fault.New(fault.EngineUnavailable, "tenon does not run on this system yet: cannot keep %s private", dir)
}

func ours(fs.FileInfo) bool { return false }

// KeepPrivate refuses, as there is no owner to check.
func KeepPrivate(dir string) error { return private(dir) }
