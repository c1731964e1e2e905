package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockABI is the version of the kernel's Landlock (landlock(7)).
func landlockABI() (int, error) {
	if !filtersSockets {
		return 0, fmt.Errorf("sockets cannot be held back on %s", runtime.GOARCH)
	}
	version, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errNone
	}
	return int(version), nil
}

// The rights, by the version that brought them.
const (
	rightsRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// rightsWrite leaves device files out: a workspace needs none.
	rightsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE
	rightsDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// rightsFile are those that a rule about a single file may name.
	rightsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	abiNet, abiIoctl = 4, 5
)

// enter confines this thread by p and becomes the program argv. Landlock and
// the filter belong to a thread; execve keeps those of the thread that calls it
// and ends all others.
func enter(p Profile, argv, env []string) error {
	runtime.LockOSThread()
	if err := limits(p); err != nil {
		return err
	}
	if err := mark(env); err != nil {
		return err
	}
	if err := closeOthers(p); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if p.Mode.Strict() {
		support := Probe()
		if err := support.Holds(p.Mode); err != nil {
			return err
		}
		if err := dropCapabilities(); err != nil {
			return err
		}
		if err := restrict(p, support.ABI); err != nil {
			return err
		}
		if err := filterCalls(p.Mode); err != nil {
			return err
		}
	}
	return fmt.Errorf("start %s: %w", argv[0], syscall.Exec(argv[0], argv, env))
}

// closeOthers lets execve close what this process has inherited beyond its pipes:
// a shell's open file or socket would be the program's, whatever Landlock says.
func closeOthers(p Profile) error {
	err := unix.CloseRange(uint(3+p.Files), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err != nil && p.Mode.Strict() { // only kernels without Landlock do not know it
		return fmt.Errorf("inherited descriptors: %w", err)
	}
	return nil
}

// dropCapabilities takes from root what makes it more than the owner of its files:
// what execve gives is cut by the bounding set. Others have nothing to lose, and
// may not ask.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL && err != unix.EPERM {
			return fmt.Errorf("capability %d: %w", c, err)
		}
	}
	return nil
}

// restrict applies Landlock to this thread: what no rule grants is refused.
func restrict(p Profile, abi int) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rightsRead | rightsWrite | rightsDevices}
	if abi >= abiNet {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= abiIoctl {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= signalABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// An older kernel takes the longer structure, as long as what it does not know is zero.
	fd, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("landlock ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	r := ruleset{fd: int(fd), known: attr.Handled_access_fs}
	r.profile(p)
	if r.err != nil {
		return r.err
	}
	if _, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// ruleset collects rules; the first error stays.
type ruleset struct {
	fd    int
	known uint64 // the rights that this kernel's ruleset handles
	err   error
}

func (r *ruleset) profile(p Profile) {
	for _, path := range systemRead() {
		r.allow(path, rightsRead)
	}
	for _, path := range devices {
		r.allow(path, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	}
	for _, path := range p.Read {
		r.allow(path, rightsRead)
	}
	for _, path := range p.Write {
		r.allow(path, rightsRead|rightsWrite)
	}
	if p.Workspace != "" {
		rights := uint64(rightsRead)
		if p.Mode == WorkspaceWrite {
			rights |= rightsWrite
		}
		r.allow(p.Workspace, rights)
	}
}

// allow grants rights on path and all below it; what does not exist is passed
// over.
func (r *ruleset) allow(path string, rights uint64) {
	if r.err != nil {
		return
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return // not there, or not for this user anyway
	}
	if err != nil {
		r.err = fmt.Errorf("landlock rule for %s: %w", path, err)
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		r.err = fmt.Errorf("landlock rule for %s: %w", path, err)
		return
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.known, Parent_fd: int32(fd)}
	if _, _, errno := syscall.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		r.err = fmt.Errorf("landlock rule for %s: %w", path, errno)
	}
}

// systemRead is what programs of the system need to run: no home directory, no
// other process, nothing of /var, /run and /tmp, and of /etc only what tells
// names, zones and certificates.
func systemRead() []string {
	list := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store",
		"/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/uptime", "/proc/loadavg",
		"/proc/sys/vm", "/proc/sys/kernel", "/proc/filesystems", "/sys/devices/system/cpu", "/sys/fs/cgroup",
	}
	for _, name := range []string{
		"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "alternatives", "passwd", "group", "nsswitch.conf",
		"localtime", "timezone", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf", "pki", "crypto-policies", "hosts", "host.conf",
		"resolv.conf", "protocols", "services", "os-release", "debian_version", "mime.types", "magic", "terminfo", "inputrc",
		"profile", "bash.bashrc", "gitconfig", "locale.alias", "locale.conf", "default/locale", "python3", "perl",
	} {
		list = append(list, filepath.Join("/etc", name))
	}
	return list
}

// devices are harmless ones.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
