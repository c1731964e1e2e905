package sandbox

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// markLimit is RLIMIT_LOCKS, which package unix does not name everywhere.
const markLimit = 10

// mark gives this process, and what it becomes, the mark of its group.
func mark(env []string) error {
	for _, kv := range env {
		if group, ok := strings.CutPrefix(kv, GroupVariable+"="); ok {
			n := Mark(group)
			if err := unix.Setrlimit(markLimit, &unix.Rlimit{Cur: n, Max: n}); err != nil && err != unix.EPERM {
				return fmt.Errorf("mark of the group: %w", err)
			}
			break // a lower limit may stand already: then it is a program's own tenon
		}
	}
	return nil
}
