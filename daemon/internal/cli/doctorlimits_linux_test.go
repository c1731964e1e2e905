package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk gives a directory a disk of its own, or says why it cannot.
func smallDisk(t *testing.T, dir, options string) error {
	t.Helper()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=0700,"+options); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return nil
}

// Bytes, and then files: a disk is full when either is used up.
func TestDoctorNamesAFullDisk(t *testing.T) {
	for name, c := range map[string]struct {
		options string
		double  unix.Statfs_t // what such a disk says of itself
		words   []string
	}{
		"bytes": {"size=8m", unix.Statfs_t{Bsize: 4096, Blocks: 2048, Bavail: 2048}, []string{"8 MiB are free", "free some"}},
		"files": {"size=200m,nr_inodes=500", unix.Statfs_t{Bsize: 4096, Blocks: 51200, Bavail: 51200, Files: 500, Ffree: 499}, []string{"499 more files", "remove files"}},
	} {
		x := newExamined(t)
		if got := x.findings(); says(got, "problem", "disk", x.state()) {
			t.Skipf("the disk of %s is nearly full: %+v", x.state(), got)
		}
		var got []finding
		if err := smallDisk(t, x.state(), c.options); err == nil {
			got = x.findings()
		} else {
			t.Logf("%s: no small disk can be mounted here (%v): a double says what one would", name, err)
			d := &doctor{}
			d.room(x.state(), c.double)
			got = d.list
		}
		if !says(got, "problem", "disk", append(c.words, x.state())...) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestDoctorNamesAReadOnlyFileSystem(t *testing.T) {
	x := newExamined(t)
	if got := x.findings(); says(got, "problem", "disk", "cannot be written") {
		t.Errorf("all can be written: %+v", got)
	}
	if err := smallDisk(t, x.state(), "size=200m"); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	if err := syscall.Mount("none", x.state(), "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("a disk cannot be made read-only here: %v", err)
	}
	if got := x.findings(); !says(got, "problem", "disk", x.state(), "cannot be written", "mount it writable") {
		t.Errorf("%+v", got)
	}
}

// asUserEnv marks the process in which a test runs for another user.
const asUserEnv = "TENON_DOCTOR_AS_USER"

// nobodyElse is a user who has no process on any machine of ours.
const nobodyElse = 54272

// asUser runs the test again as a user of its own: what the system counts or forbids
// does not concern root.
func asUser(t *testing.T) {
	dir, err := os.MkdirTemp("", "tenon-doctor-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "test"), binary, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobodyElse, nobodyElse); err != nil {
		t.Skipf("no process can be given to another user here: %v", err)
	}
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyElse, Gid: nobodyElse}}
	cmd.Env = append(os.Environ(), asUserEnv+"=1", "TMPDIR="+dir, "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as user %d: %v\n%s", nobodyElse, err, out)
	}
}

// The limit is set just above what the user's processes have: threads of this one,
// held by goroutines, since a runtime that gets no thread ends the process.
func TestDoctorNamesTheLimitOnProcesses(t *testing.T) {
	if os.Getuid() == 0 && os.Getenv(asUserEnv) == "" {
		asUser(t)
		return
	}
	held, done := make(chan struct{}), make(chan struct{})
	defer close(done)
	for range 60 {
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			held <- struct{}{}
			<-done
		}()
		<-held
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &was); err != nil {
		t.Fatal(err)
	}
	used := threadsOf(os.Getuid())
	low := was
	low.Cur = uint64(float64(used) / nearlyUsed)
	if was.Max < low.Cur {
		t.Skipf("the limit is %d already, with %d in use", was.Max, used)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &low); err != nil {
		t.Fatal(err)
	}
	d := &doctor{}
	d.resources(os.Getpid())
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &was); err != nil {
		t.Fatal(err)
	}
	if !says(d.list, "problem", "limits", fmt.Sprintf("of %d processes and threads of this user", low.Cur), "ulimit -u") {
		t.Errorf("%d in use: %+v", used, d.list)
	}
	d = &doctor{}
	d.resources(os.Getpid())
	if says(d.list, "problem", "limits", "processes") {
		t.Errorf("the limit is gone: %+v", d.list)
	}
}

// sleeper is a process of its own that does nothing until the test ends.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	return child
}

// The limit of a process that doctor looks at is that process's, not doctor's own.
func TestDoctorNamesTheLimitOnFilesOfAnotherProcess(t *testing.T) {
	child := sleeper(t)
	limit := func(to uint64) {
		t.Helper()
		if err := unix.Prlimit(child.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: to, Max: 1000}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		limit uint64
		level string
	}{{1000, "ok"}, {3, "problem"}, {1000, "ok"}} {
		limit(c.limit)
		d := &doctor{}
		d.resources(child.Process.Pid)
		if !says(d.list, c.level, "limits", fmt.Sprintf("of %d file descriptors", c.limit)) {
			t.Errorf("limit %d: %+v", c.limit, d.list)
		}
	}
}

// A group with a process in it, as a container or a unit is; its limit may also be
// that of a group above it.
func TestDoctorNamesTheLimitOfAControlGroup(t *testing.T) {
	top := "/sys/fs/cgroup/pids" // version 1
	if _, err := os.Stat(top); err != nil {
		top = "/sys/fs/cgroup"
	}
	group := filepath.Join(top, "tenon-doctor-"+strconv.Itoa(os.Getpid()))
	inner := filepath.Join(group, "inner")
	t.Cleanup(func() { // after the process has ended
		_ = os.Remove(inner)
		_ = os.Remove(group)
	})
	child := sleeper(t)
	set := func(dir, file, text string) error { return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644) }
	err := os.Mkdir(group, 0o755)
	if err == nil && top == "/sys/fs/cgroup" {
		err = set(group, "cgroup.subtree_control", "+pids")
	}
	if err == nil {
		err = os.Mkdir(inner, 0o755)
	}
	if err == nil {
		err = set(inner, "cgroup.procs", strconv.Itoa(child.Process.Pid))
	}
	if err == nil {
		err = set(group, "pids.max", "max")
	}
	if err != nil {
		t.Skipf("no control group can be made here: %v", err)
	}
	findings := func() []finding {
		d := &doctor{}
		d.resources(child.Process.Pid)
		return d.list
	}
	if got := findings(); says(got, "problem", "limits", group) {
		t.Errorf("no limit is set: %+v", got)
	}
	for _, dir := range []string{inner, group} {
		if err := set(dir, "pids.max", "1"); err != nil {
			t.Fatal(err)
		}
		if got := findings(); !says(got, "problem", "limits", "1 of 1 processes of the control group "+dir+" ", "TasksMax", "pids.max") {
			t.Errorf("%s: %+v", dir, got)
		}
		if err := set(dir, "pids.max", "max"); err != nil {
			t.Fatal(err)
		}
	}
}
