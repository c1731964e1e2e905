package sandbox

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
	_, _, errno := syscall.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	note("io_uring", errno)
	_, _, errno = syscall.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid()), 0, 0, 0, 0, 0)
	note("the memory of its parent", errno)
	_, _, errno = syscall.Syscall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0)
	note("a namespace of its own", errno)
	note("a signal to its parent", syscall.Kill(os.Getppid(), 0))
	privileges, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && privileges != 1 {
		err = syscall.EPERM
	}
	note("no new privileges", err)
	var cpu, core unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_CPU, &cpu)
	_ = unix.Getrlimit(unix.RLIMIT_CORE, &core)
	if cpu.Cur != 7 || core.Cur != 0 {
		note("limits", syscall.EINVAL)
	}
	if json.NewEncoder(os.Stdout).Encode(seen) != nil {
		return 1
	}
	return 0
}

func confined(t *testing.T, m Mode) map[string]string {
	t.Helper()
	if err := Probe().Holds(m); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv, err := Command(self, Profile{Mode: m, Read: []string{filepath.Dir(self)}, CPU: 6500 * time.Millisecond}, []string{self, role})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var seen map[string]string
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return seen
}

func TestTheFilterLeavesNoWayToASocket(t *testing.T) {
	allowed := map[string]bool{"a pair of streams": true, "no new privileges": true}
	if Probe().ABI < signalABI {
		allowed["a signal to its parent"] = true
	}
	for name, failure := range confined(t, ReadOnly) {
		if ok := failure == ""; ok != allowed[name] {
			t.Errorf("%s: %q", name, failure)
		}
	}
	// The same program finds all of it in full, as far as the machine has it.
	seen := confined(t, Full)
	for _, name := range []string{"tcp", "udp", "unix", "netlink", "a pair of datagrams", "a signal to its parent", "no new privileges"} {
		if seen[name] != "" {
			t.Errorf("full: %s: %s", name, seen[name])
		}
	}
}
