package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// supervisor is a systemd of a user who has nothing else: with a control group, a home
// and a mount namespace of its own, so that it finds no process and no unit but ours.
type supervisor struct {
	*place
	groups []string
	cmd    *exec.Cmd
	said   bytes.Buffer
}

// supervisorUser is a user who has no process on any machine of ours.
const supervisorUser = 54273

// supervisorStart goes into its groups before it has a process, gives up root's rights,
// and becomes systemd, which only works where /run says that systemd has booted.
const supervisorStart = `set -e
[ -d /run/systemd/system ] || { mount -t tmpfs none /run; mkdir -p /run/systemd/system; }
for group in $GROUPS_OF_IT; do echo $$ > $group/cgroup.procs; done
exec setpriv --reuid $AS --regid $AS --clear-groups -- "$SYSTEMD" --user --log-target=console --log-level=info
`

// newSupervisor starts it, or skips the test with the reason.
func newSupervisor(t *testing.T) *supervisor {
	t.Helper()
	systemd := "/usr/lib/systemd/systemd"
	if _, err := os.Stat(systemd); err != nil {
		systemd = "/lib/systemd/systemd"
	}
	for _, program := range []string{systemd, "systemctl", "setpriv", "sh", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no systemd can be run here: %v", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("no systemd can be run here: only root may give one a control group of its own")
	}
	s := &supervisor{place: newPlace(t, nil)}
	s.makeGroups()
	s.handOver()
	units := filepath.Join(s.home, "units")
	for _, name := range []string{"default", "basic", "shutdown", "exit"} {
		s.write("units/"+name+".target", "[Unit]\nDefaultDependencies=no\n")
	}
	s.owned(s.home)
	s.environ = append(s.environ,
		"XDG_RUNTIME_DIR="+filepath.Join(s.home, "manager"),
		"SYSTEMD_UNIT_PATH="+filepath.Dir(s.unit())+":"+units, "SYSTEMD_GENERATOR_PATH="+s.home+"/none", "SYSTEMD_ENVIRONMENT_GENERATOR_PATH="+s.home+"/none",
	)
	s.cmd = exec.Command("sh", "-c", supervisorStart)
	s.cmd.Env = append(s.environ, "SYSTEMD="+systemd, "AS="+strconv.Itoa(supervisorUser), "GROUPS_OF_IT="+strings.Join(s.groups, " "))
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := s.cmd.Start(); err != nil {
		t.Skipf("no systemd can be run here: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	t.Cleanup(func() { s.end(ended) })
	private := filepath.Join(s.home, "manager", "systemd", "private")
	s.until("systemd listens, or has ended", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Skipf("no systemd can be run here: %v: %s", err, s.said.String())
		default:
		}
		_, err := os.Stat(private)
		return err == nil
	})
	return s
}

// makeGroups makes a control group in each hierarchy that systemd counts services in.
func (s *supervisor) makeGroups() {
	s.t.Helper()
	tops := []string{"/sys/fs/cgroup"} // version 2
	if _, err := os.Stat("/sys/fs/cgroup/systemd"); err == nil {
		tops = []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}
	}
	for _, top := range tops {
		if _, err := os.Stat(filepath.Join(top, "cgroup.procs")); err != nil {
			continue
		}
		group := filepath.Join(top, "tenon-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			s.t.Skipf("no systemd can be run here: it needs a control group: %v", err)
		}
		s.groups = append(s.groups, group)
		s.t.Cleanup(func() { s.empty(group) })
		s.owned(group)
	}
	if len(s.groups) == 0 {
		s.t.Skip("no systemd can be run here: there are no control groups")
	}
}

// owned gives a directory and all below it to the user.
func (s *supervisor) owned(dir string) {
	s.t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, supervisorUser, supervisorUser)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// empty ends what is left in a group, and removes it.
func (s *supervisor) empty(group string) {
	gone := func() bool {
		var dirs []string
		_ = filepath.WalkDir(group, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for i := len(dirs) - 1; i >= 0; i-- { // the inner ones first
			raw, _ := os.ReadFile(filepath.Join(dirs[i], "cgroup.procs"))
			for _, pid := range strings.Fields(string(raw)) {
				if n, err := strconv.Atoi(pid); err == nil && n > 1 {
					s.t.Logf("left in %s: %d", dirs[i], n)
					_ = syscall.Kill(n, syscall.SIGKILL)
				}
			}
			_ = syscall.Rmdir(dirs[i])
		}
		_, err := os.Stat(group)
		return err != nil
	}
	s.until("the control group is gone", gone)
}

// handOver lets the user run this test's program.
func (s *supervisor) handOver() {
	s.t.Helper()
	program, err := os.ReadFile(s.exe)
	if err != nil {
		s.t.Fatal(err)
	}
	s.exe = s.write("bin/tenon", string(program))
	s.write("manager/.keep", "")
	if err := os.Chmod(s.exe, 0o755); err != nil {
		s.t.Fatal(err)
	}
	raw := strings.ReplaceAll(s.read(filepath.Join(s.home, "config/tenon/config.jsonc")), os.Args[0], s.exe)
	s.write("config/tenon/config.jsonc", raw)
}

// as runs a command as the user.
func (s *supervisor) as(name string, args ...string) outcome {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = s.environ, s.cwd
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: supervisorUser, Gid: supervisorUser}}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// tenon runs a command of ours that must succeed.
func (s *supervisor) tenon(args ...string) outcome {
	s.t.Helper()
	got := s.as(s.exe, args...)
	if got.code != 0 {
		s.t.Fatalf("%v: %+v\n%s\nsystemd: %s", args, got, s.log(), s.said.String())
	}
	return got
}

func (s *supervisor) log() string {
	raw, _ := os.ReadFile(filepath.Join(s.home, "state", "logs", "daemon.log"))
	return string(raw)
}

// unitState is what systemd says of the unit.
func (s *supervisor) unitState(property string) string {
	return strings.TrimSpace(s.as("systemctl", "--user", "show", "--value", "--property", property, "tenon.service").out)
}

// served waits until the daemon that answers is the one of systemd, and is another
// than before.
func (s *supervisor) served(before int) int {
	s.t.Helper()
	var pid int
	s.until("systemd's daemon serves", func() bool {
		info, ok := s.paths().Info()
		pid = info.PID
		return ok && pid != before && strconv.Itoa(pid) == s.unitState("MainPID") && s.as(s.exe, "daemon", "status").code == 0
	})
	return pid
}

// end stops systemd as its own manager would.
func (s *supervisor) end(ended chan error) {
	exitNow := syscall.Signal(34 + 24) // SIGRTMIN+24, systemd(1)
	_ = s.cmd.Process.Signal(exitNow)
	select {
	case <-ended:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-ended
		s.t.Error("systemd did not end")
	}
}

// The whole life of an installed daemon, with a real systemd.
func TestSystemdKeepsTheDaemonRunning(t *testing.T) {
	s := newSupervisor(t)
	s.tenon("daemon", "start") // a command's, which has nothing to lose
	first, _ := s.paths().Info()
	s.tenon("daemon", "install", "--now")
	pid := s.served(first.PID)
	if got := s.unitState("UnitFileState"); got != "enabled" {
		t.Errorf("it does not start at login: %s", got)
	}
	if got := s.tenon("exec", "-e", "return JSON.stringify(await tools.fake.echo({text: 'served'}))"); !strings.Contains(got.out, "served") {
		t.Errorf("%+v", got)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.served(pid) // a crash is a restart
	s.tenon("daemon", "stop")
	s.until("a stop is an end", func() bool { return s.unitState("ActiveState") == "inactive" })
	s.tenon("daemon", "install", "--now")
	pid = s.served(0)
	s.tenon("daemon", "uninstall", "--now")
	s.until("the daemon is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	if s.installed() {
		t.Error("the unit is still there")
	}
	if got := s.as(s.exe, "--no-autostart", "daemon", "status"); got.code != 3 {
		t.Errorf("somebody serves: %+v", got)
	}
	if servers, err := filepath.Glob(fmt.Sprintf("/proc/%d", pid)); err != nil || len(servers) > 0 {
		t.Errorf("%v, %v", servers, err)
	}
}
