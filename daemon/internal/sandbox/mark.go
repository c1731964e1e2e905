package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
)

// GroupVariable names the environment variable by which a process is known as
// one of its group's, wherever it has moved itself.
const GroupVariable = "TENON_GROUP"

// Mark is a number that stands for a value of [GroupVariable]. On Linux the
// helper makes it the limit of file locks (RLIMIT_LOCKS, which the kernel has not
// looked at since 2.6) of what it becomes: unlike a variable, a limit cannot be
// left out of what a child inherits, and a strict program cannot change it.
func Mark(group string) uint64 {
	sum := sha256.Sum256([]byte("group " + group))
	return binary.BigEndian.Uint64(sum[:])>>2 | 1<<61 // never what anybody sets, nor infinity
}
