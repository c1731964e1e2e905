package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var (
	foreignNumbers          []unix.SockFilter
	ownerByPath, modeByPath []uint32
)
