package serve

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// unmapProgram gives the pages of the program's own file back that it has read
// so far; those that are needed again are mapped from the system's cache one by
// one. The kernel maps sixteen around each one that is touched, so after its
// start a daemon holds nearly the whole file. It is an optimisation: whatever
// stands in its way is left as it is.
//
// Only what was never written may go (madvise(2), MADV_DONTNEED, forgets it):
// mappings without a writable or a changed page, as relocated ones have.
func unmapProgram() {
	exe, err := os.Stat("/proc/self/exe")
	if err != nil {
		return
	}
	inode := strconv.FormatUint(exe.Sys().(*syscall.Stat_t).Ino, 10)
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	var from, to uint64
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.Fields(s.Text())
		switch {
		case len(line) >= 5 && !strings.HasSuffix(line[0], ":"): // from-to perms offset device inode [path]
			from, to = 0, 0
			if line[4] == inode && strings.HasPrefix(line[1], "r-") && strings.HasSuffix(line[1], "p") {
				first, last, _ := strings.Cut(line[0], "-")
				from, _ = strconv.ParseUint(first, 16, 64)
				to, _ = strconv.ParseUint(last, 16, 64)
			}
		case len(line) == 3 && line[0] == "Anonymous:" && line[1] == "0" && to > from:
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED)
		}
	}
}
