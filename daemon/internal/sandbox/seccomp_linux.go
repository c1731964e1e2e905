//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filtersSockets: the filter below knows this architecture's numbers.
const filtersSockets = true

// Landlock leaves UDP, unix sockets by path, netlink and raw sockets alone, so a
// filter refuses socket(2) as such. A process that has only what it inherited
// needs nothing else of these: they could lead around the filter.
var refused = []uint32{
	unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // makes sockets without socket(2)
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, // takes them from others
	unix.SYS_USERFAULTFD, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSMOUNT,
	unix.SYS_UNSHARE, unix.SYS_SETNS, // a namespace of its own would bring its own network and rights
	unix.SYS_OPEN_BY_HANDLE_AT,
}

// Offsets in struct seccomp_data (seccomp(2)); both architectures are
// little-endian, so an argument's low half comes first.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
)

// sockTypeMask leaves the flags out of a socket's type (socket(2)).
const sockTypeMask = 0xf

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jumpEqual(k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func give(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// program is the filter. socketpair stays for streams, which runtimes use as
// pipes to their children: a datagram socket could be sent to any address.
func program() []unix.SockFilter {
	const refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	p := []unix.SockFilter{
		load(offArch), jumpEqual(auditArch, 1, 0), give(unix.SECCOMP_RET_KILL_PROCESS),
		load(offNumber),
	}
	p = append(p, foreignNumbers...)
	p = append(p,
		jumpEqual(unix.SYS_SOCKETPAIR, 0, 8),
		load(offArg0), jumpEqual(unix.AF_UNIX, 1, 0), give(refuse),
		load(offArg1), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: sockTypeMask},
		jumpEqual(unix.SOCK_STREAM, 1, 0), give(refuse),
		give(unix.SECCOMP_RET_ALLOW),
	)
	for _, number := range refused {
		p = append(p, jumpEqual(number, 0, 1), give(refuse))
	}
	return append(p, give(unix.SECCOMP_RET_ALLOW))
}

// filterSockets puts the filter on this thread; no_new_privs is set before.
func filterSockets() error {
	list := program()
	prog := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("seccomp filter: %w", err)
	}
	return nil
}
