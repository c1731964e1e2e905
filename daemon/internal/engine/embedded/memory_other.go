//go:build !unix

package embedded

// newMemory takes the whole size at once: there is no reservation here.
func newMemory(size int) ([]byte, error) { return make([]byte, size), nil }

func freeMemory([]byte) {}
