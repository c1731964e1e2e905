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
// needs nothing else of these: they could lead around the filter, or to what
// other processes of the user have.
var refused = []uint32{
	unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // makes sockets without socket(2)
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, // takes them from others
	unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES, unix.SYS_KCMP,
	// Memory and queues that programs of the user share by a number.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_USERFAULTFD, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSMOUNT,
	unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_UNSHARE, unix.SYS_SETNS, // a namespace of its own would bring its own network and rights
	unix.SYS_OPEN_BY_HANDLE_AT,
}

// Later calls, whose numbers are the same on every architecture.
const (
	sysSetxattrat, sysRemovexattrat, sysFileSetattr = 463, 466, 469
)

// namespaces are the flags of clone(2) that make one. clone3(2) has them in
// memory, where no filter sees them: its callers fall back to clone when it is
// not there.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// rule is what happens to a call when all its tests hold.
type rule struct {
	number uint32
	action uint32
	tests  []test
}

// test is about half of an argument.
type test struct {
	offset uint32
	jump   uint16 // BPF_JEQ, BPF_JSET
	k      uint32
	holds  bool // what the comparison has to say
}

// low is the offset of an argument's low half in struct seccomp_data
// (seccomp(2)); both architectures are little-endian. high is the other half.
func low(arg uint32) uint32  { return 16 + 8*arg }
func high(arg uint32) uint32 { return low(arg) + 4 }

func is(arg, k uint32) test         { return test{low(arg), unix.BPF_JEQ, k, true} }
func isNot(arg, k uint32) test      { return test{low(arg), unix.BPF_JEQ, k, false} }
func hasAny(arg, mask uint32) test  { return test{low(arg), unix.BPF_JSET, mask, true} }
func hasHigh(arg, mask uint32) test { return test{high(arg), unix.BPF_JSET, mask, true} }

// errno makes a call fail with an error; nothing is done.
func errno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// pretend makes a call succeed that does nothing.
var pretend = errno(0)

const everyBit = 0xffffffff

// rules are those of a mode, in order; what none of them refuses is allowed.
func rules(m Mode) []rule {
	var out []rule
	always := func(action uint32, numbers ...uint32) {
		for _, n := range numbers {
			out = append(out, rule{n, action, nil})
		}
	}
	when := func(number, action uint32, tests ...test) { out = append(out, rule{number, action, tests}) }

	always(errno(unix.EACCES), refused...)
	// socketpair stays for streams and SOCK_SEQPACKET, which runtimes use as pipes
	// to their children and which speak to their other end only: from a datagram
	// socket (2, and 3 that becomes one) could be sent to any address.
	when(unix.SYS_SOCKETPAIR, errno(unix.EACCES), isNot(0, unix.AF_UNIX))
	when(unix.SYS_SOCKETPAIR, errno(unix.EACCES), hasAny(1, 0xf&^(unix.SOCK_STREAM|unix.SOCK_SEQPACKET)))
	when(unix.SYS_CLONE, errno(unix.EACCES), hasAny(0, namespaces))
	always(errno(unix.ENOSYS), unix.SYS_CLONE3)

	// Other processes of the user can be ended by a limit, and held up by a
	// priority: only one's own are for a program to set.
	when(unix.SYS_PRLIMIT64, errno(unix.EPERM), isNot(0, 0))
	when(unix.SYS_SETPRIORITY, errno(unix.EPERM), isNot(0, unix.PRIO_PROCESS))
	when(unix.SYS_SETPRIORITY, errno(unix.EPERM), isNot(1, 0))
	when(unix.SYS_IOPRIO_SET, errno(unix.EPERM), isNot(1, 0))
	for _, n := range []uint32{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR} {
		when(n, errno(unix.EPERM), isNot(0, 0))
	}
	// The mark of its group stays; see mark.
	for half := range uint32(2) {
		when(unix.SYS_PRLIMIT64, errno(unix.EPERM), is(1, markLimit), test{low(2) + 4*half, unix.BPF_JSET, everyBit, true})
	}
	when(unix.SYS_SETRLIMIT, errno(unix.EPERM), is(0, markLimit))

	// What is typed into a terminal is the user's: the shell would execute it.
	when(unix.SYS_IOCTL, errno(unix.EPERM), is(1, unix.TIOCSTI))
	when(unix.SYS_IOCTL, errno(unix.EPERM), is(1, tioclinux))

	return append(out, metadata(m)...)
}

// tioclinux is TIOCLINUX: it pastes a selection into a console.
const tioclinux = 0x541c

// metadata are the rules about owner, mode, times and attributes of files, for
// which Landlock has no right, so that a path may lead anywhere. Owners and
// attributes nobody needs. Modes and times compilers, archivers and git do need
// where they write, so workspace-write leaves them open (docs/security.md says
// so). In read-only nothing is: by a path the call is refused; by a descriptor, which may be
// one of the workspace, it does nothing, since copying a file to the run's own
// directory ends with it.
func metadata(m Mode) []rule {
	var out []rule
	add := func(action uint32, numbers ...uint32) {
		for _, n := range numbers {
			out = append(out, rule{n, action, nil})
		}
	}
	add(errno(unix.EPERM), append([]uint32{unix.SYS_FCHOWNAT, sysFileSetattr}, ownerByPath...)...)
	add(errno(unix.EOPNOTSUPP), unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, sysSetxattrat, sysRemovexattrat)
	if m != ReadOnly {
		return out
	}
	add(errno(unix.EPERM), append([]uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2}, modeByPath...)...)
	out = append(out,
		rule{unix.SYS_UTIMENSAT, errno(unix.EPERM), []test{hasAny(1, everyBit)}},
		rule{unix.SYS_UTIMENSAT, errno(unix.EPERM), []test{hasHigh(1, everyBit)}})
	add(pretend, unix.SYS_UTIMENSAT, unix.SYS_FCHMOD, unix.SYS_FCHOWN)
	add(errno(unix.EOPNOTSUPP), unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR)
	return out
}

// Offsets of the number and the architecture in struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jump(op uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func give(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// program is the filter of a mode.
func program(m Mode) []unix.SockFilter {
	p := []unix.SockFilter{
		load(offArch), jump(unix.BPF_JEQ, auditArch, 1, 0), give(unix.SECCOMP_RET_KILL_PROCESS),
		load(offNumber),
	}
	p = append(p, foreignNumbers...)
	for _, r := range rules(m) {
		if len(r.tests) == 0 {
			p = append(p, jump(unix.BPF_JEQ, r.number, 0, 1), give(r.action))
			continue
		}
		size := uint8(2*len(r.tests) + 2) // tests, the action, and the number again
		p = append(p, jump(unix.BPF_JEQ, r.number, 0, size))
		for i, t := range r.tests {
			over := size - uint8(2*i+2) - 1 // to where the number is loaded again
			yes, no := uint8(0), over
			if !t.holds {
				yes, no = no, yes
			}
			p = append(p, load(t.offset), jump(t.jump, t.k, yes, no))
		}
		p = append(p, give(r.action), load(offNumber))
	}
	return append(p, give(unix.SECCOMP_RET_ALLOW))
}

// filterCalls puts the filter on this thread; no_new_privs is set before.
func filterCalls(m Mode) error {
	list := program(m)
	prog := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("seccomp filter: %w", err)
	}
	return nil
}
