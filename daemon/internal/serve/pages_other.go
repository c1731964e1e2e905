//go:build !linux

package serve

// unmapProgram does something on Linux only.
func unmapProgram() {}
