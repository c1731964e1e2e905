package sandbox

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// role is the argument that makes this binary the confined program.
const role = "act"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case HelperCommand:
			os.Exit(HelperMain(os.Args[2:], os.Stderr))
		case role:
			os.Exit(act())
		}
	}
	os.Exit(m.Run())
}

// act makes system calls that a runtime has no words for, and prints what came
// of each: nothing, or the error.
func act() int {
	seen := map[string]string{}
	note := func(name string, errno error) {
		seen[name] = ""
		if errno != nil && errno != syscall.Errno(0) {
			seen[name] = errno.Error()
		}
	}
	socket := func(name string, domain, kind int) {
		fd, err := unix.Socket(domain, kind, 0)
		if err == nil {
			unix.Close(fd)
		}
		note(name, err)
	}
	socket("tcp", unix.AF_INET, unix.SOCK_STREAM)
	socket("udp", unix.AF_INET6, unix.SOCK_DGRAM)
	socket("unix", unix.AF_UNIX, unix.SOCK_STREAM)
	socket("netlink", unix.AF_NETLINK, unix.SOCK_RAW)
	socket("vsock", unix.AF_VSOCK, unix.SOCK_STREAM)
	pair := func(name string, kind int) {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err == nil {
			unix.Close(fds[0])
			unix.Close(fds[1])
		}
		note(name, err)
	}
	pair("a pair of streams", unix.SOCK_STREAM|unix.SOCK_CLOEXEC)
	pair("a pair of datagrams", unix.SOCK_DGRAM)
	pair("a pair of packets", unix.SOCK_SEQPACKET)
	_, _, errno := syscall.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	note("io_uring", errno)
	_, _, errno = syscall.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid()), 0, 0, 0, 0, 0)
	note("the memory of its parent", errno)
	_, _, errno = syscall.Syscall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0)
	note("a namespace of its own", errno)
	note("a signal to its parent", syscall.Kill(os.Getppid(), 0))
	note("a namespace by clone", clone(unix.CLONE_NEWUSER))
	note("a child by clone", clone(0))
	call := func(name string, number uintptr, args ...uintptr) {
		args = append(args, 0, 0, 0, 0, 0, 0)
		_, _, errno := syscall.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
		note(name, errno)
	}
	parent := uintptr(os.Getppid())
	var limit unix.Rlimit // as it is: nobody may raise one
	_ = unix.Getrlimit(unix.RLIMIT_MSGQUEUE, &limit)
	note("a limit of its parent", unix.Prlimit(os.Getppid(), unix.RLIMIT_MSGQUEUE, &limit, nil))
	note("a limit of its own", unix.Setrlimit(unix.RLIMIT_MSGQUEUE, &limit))
	note("the mark", unix.Setrlimit(markLimit, &limit))
	note("the priority of its parent", unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), 1))
	note("the priority of the user", unix.Setpriority(unix.PRIO_USER, 0, 1))
	note("a priority of its own", unix.Setpriority(unix.PRIO_PROCESS, 0, 1))
	var cpus unix.CPUSet
	_ = unix.SchedGetaffinity(0, &cpus)
	note("the processors of its parent", unix.SchedSetaffinity(int(parent), &cpus))
	call("shared memory", unix.SYS_SHMGET, 0x74656e6f, 4096, 0o600|unix.IPC_CREAT)
	call("a queue", unix.SYS_MSGGET, 0x74656e6f, 0o600|unix.IPC_CREAT)
	if terminal, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err == nil {
		x := byte('x') // where it is no terminal, ENOTTY says that the filter let it pass
		_, _, errno := syscall.Syscall(unix.SYS_IOCTL, uintptr(terminal), unix.TIOCSTI, uintptr(unsafe.Pointer(&x)))
		if errno == unix.ENOTTY {
			errno = 0
		}
		note("input of a terminal", errno)
		unix.Close(terminal)
	}
	for fd, name := range map[int]string{3: "a file that it is given", 5: "a file that is inherited"} {
		var want, have unix.Stat_t
		err := errors.Join(unix.Stat(os.Args[2], &want), unix.Fstat(fd, &have))
		if err == nil && want.Ino != have.Ino { // the number is another file's by now
			err = unix.EBADF
		}
		note(name, err)
	}
	files(os.Args[2], "outside", note)
	files(os.Args[3], "own", note)
	privileges, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && privileges != 1 {
		err = syscall.EPERM
	}
	note("no new privileges", err)
	var cpu, core, file unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_FSIZE, &file)
	_ = unix.Getrlimit(unix.RLIMIT_CPU, &cpu)
	_ = unix.Getrlimit(unix.RLIMIT_CORE, &core)
	if cpu.Cur != 7 || core.Cur != 0 || file.Cur > MaxFile || file.Max > MaxFile {
		note("limits", syscall.EINVAL)
	}
	if json.NewEncoder(os.Stdout).Encode(seen) != nil {
		return 1
	}
	return 0
}

// clone makes a process that ends at once, in a namespace of that kind.
func clone(flags uintptr) error {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return err
}

// files changes what is known of a file beside its content: by its path, and by
// a descriptor where it may be read.
func files(path, whose string, note func(string, error)) {
	times := []unix.Timespec{{Sec: 1}, {Sec: 1}}
	note(whose+": mode", unix.Fchmodat(unix.AT_FDCWD, path, 0o640, 0))
	note(whose+": times", unix.UtimesNanoAt(unix.AT_FDCWD, path, times, 0))
	note(whose+": owner", unix.Fchownat(unix.AT_FDCWD, path, os.Getuid(), os.Getgid(), 0))
	err := unix.Setxattr(path, "user.tenon", []byte("1"), 0)
	note(whose+": attribute", err)
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		note(whose+": by a descriptor", err)
		return
	}
	defer unix.Close(fd)
	note(whose+": by a descriptor", unix.Fchmod(fd, 0o604))
}

func confined(t *testing.T, m Mode) (seen map[string]string, outside, own string) {
	t.Helper()
	if err := Probe().Holds(m); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	outside, own = filepath.Join(t.TempDir(), "outside"), filepath.Join(t.TempDir(), "own")
	for _, file := range []string{outside, own} {
		if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argv, err := Command(self, Profile{Mode: m, Workspace: filepath.Dir(own), Read: []string{filepath.Dir(self)}, Files: 1, CPU: 6500 * time.Millisecond}, []string{self, role, outside, own})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), GroupVariable+"=of a test")
	c.Stderr = os.Stderr
	secret, err := os.Open(outside)
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	c.ExtraFiles = []*os.File{secret, secret, secret} // 3 to 5, as a shell may have left them open
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return seen, outside, own
}

func TestTheFilterLeavesNoWayOut(t *testing.T) {
	for _, m := range []Mode{ReadOnly, WorkspaceWrite} {
		allowed := map[string]bool{
			"a pair of streams": true, "a pair of packets": true, "a file that it is given": true, "no new privileges": true, "a child by clone": true, "a limit of its own": true,
			"a priority of its own": true, "own: by a descriptor": true,
		}
		if Probe().ABI < signalABI {
			allowed["a signal to its parent"] = true
		}
		if m == WorkspaceWrite { // what the filter leaves open, since compilers and git need it
			for _, what := range []string{": mode", ": times"} {
				allowed["own"+what], allowed["outside"+what] = true, true
			}
		}
		seen, outside, own := confined(t, m)
		for name, failure := range seen {
			if ok := failure == ""; ok != allowed[name] {
				t.Errorf("%s: %s: %q", m, name, failure)
			}
		}
		if m == ReadOnly {
			for _, file := range []string{outside, own} {
				if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 || info.ModTime().Unix() == 1 {
					t.Errorf("changed in %s: %v, %v", m, info.Mode(), err)
				}
			}
		}
	}
	// The same program finds all of it in full, as far as the machine has it.
	seen, _, _ := confined(t, Full)
	for _, name := range []string{
		"tcp", "udp", "unix", "netlink", "a pair of datagrams", "a signal to its parent", "no new privileges", "a limit of its parent", "the mark",
		"a child by clone", "input of a terminal", "outside: mode", "outside: times", "outside: owner", "outside: by a descriptor",
	} {
		if seen[name] != "" {
			t.Errorf("full: %s: %s", name, seen[name])
		}
	}
}
