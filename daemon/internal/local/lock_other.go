//go:build !unix

package local

import (
	"context"
	"os"

	"tenon/daemon/internal/fault"
)

// Lock is not available on this system: no daemon is started without one.
type Lock struct{}

func unsupported() error {
	return fault.New(fault.EngineUnavailable, "tenon does not run on this system yet: no file locks")
}

// TakeLock always fails on this system.
func (p Paths) TakeLock(context.Context) (*Lock, error) { return nil, unsupported() }

// TryLock always fails on this system.
func (p Paths) TryLock() (*Lock, error) { return nil, unsupported() }

// TakeStart always fails on this system.
func (p Paths) TakeStart(context.Context) (*Lock, error) { return nil, unsupported() }

// LockFile always fails on this system.
func LockFile(context.Context, string) (*Lock, error) { return nil, unsupported() }

// Inherited gives an empty lock on this system.
func Inherited(uintptr) *Lock { return &Lock{} }

// File is nil on this system.
func (l *Lock) File() *os.File { return nil }

// Release does nothing on this system.
func (l *Lock) Release() error { return nil }

// Remove does nothing on this system.
func (l *Lock) Remove() error { return nil }
