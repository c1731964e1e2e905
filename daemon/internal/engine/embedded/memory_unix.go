//go:build unix

package embedded

import "golang.org/x/sys/unix"

// newMemory reserves address space; the kernel commits pages when they are
// touched, so a small realm costs little of a large limit.
func newMemory(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func freeMemory(b []byte) { _ = unix.Munmap(b) }
