package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// Calls that later architectures have in one form only.
var (
	ownerByPath = []uint32{unix.SYS_CHOWN, unix.SYS_LCHOWN}
	modeByPath  = []uint32{unix.SYS_CHMOD, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
)

// x32 numbers the same calls anew, from this bit on.
const x32Bit = 0x40000000

var foreignNumbers = []unix.SockFilter{
	{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32Bit, Jt: 0, Jf: 1},
	give(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
}
