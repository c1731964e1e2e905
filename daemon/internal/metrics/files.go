package metrics

import "os"

// entries counts the names in a directory of descriptors, without the one that
// the look itself opens.
func entries(dir string) (int, bool) {
	f, err := os.Open(dir)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return 0, false
	}
	return len(names) - 1, true
}
