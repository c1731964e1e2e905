package proctree

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fakeserver"
)

// daemonArg turns the test binary into a daemon that starts one server and
// waits to be killed.
const daemonArg = "proctree-test-daemon"

func TestMain(m *testing.M) {
	fakeserver.MaybeMain()
	if len(os.Args) > 2 && os.Args[1] == daemonArg {
		standIn(os.Args[2], os.Args[3:])
		return
	}
	goleak.VerifyTestMain(m)
}

// standIn is the daemon that dies.
func standIn(record string, command []string) {
	r, err := OpenRecord(record)
	if err != nil {
		panic(err)
	}
	p, err := r.Start(Options{Command: command, Env: os.Environ(), Label: "victim"})
	if err != nil {
		panic(err)
	}
	fmt.Println(p.PID())
	select {}
}

func open(t *testing.T) *Record {
	t.Helper()
	r, err := OpenRecord(filepath.Join(t.TempDir(), "groups"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func start(t *testing.T, r *Record, o Options) *Proc {
	t.Helper()
	if o.Env == nil {
		o.Env = os.Environ()
	}
	p, err := r.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Stop(context.Background(), Steps{Stdin: time.Millisecond, Term: time.Millisecond})
		_ = p.Stdout.Close()
		_ = p.Stderr.Close()
	})
	return p
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if ok() {
			return
		}
		runtime.Gosched()
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("never happened: %s", what)
}

func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux" && syscall.Kill(pid, 0) == nil
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// ready waits until the tree has n processes.
func ready(t *testing.T, tr tree, n int) []member {
	t.Helper()
	var found []member
	eventually(t, fmt.Sprintf("%d processes in the tree", n), func() bool {
		found = tr.members()
		return len(found) >= n
	})
	return found
}

func TestStopEndsStubbornTreesWithinItsLimit(t *testing.T) {
	for _, tc := range []struct {
		name   string
		ignore string
		least  time.Duration
	}{
		{"honest", "", 0},
		{"ignores the end of its input", "eof", DefaultSteps.Stdin},
		{"ignores input and TERM", "eof,term", DefaultSteps.Stdin + DefaultSteps.Term},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			flags := []string{"--child", "2"}
			if tc.ignore != "" {
				flags = append(flags, "--ignore", tc.ignore)
			}
			p := start(t, open(t), Options{Command: fakeserver.ShellCommand(t, flags...), Label: "fake"})
			found := ready(t, p.tree, 4) // shell, server, two children
			began := time.Now()
			if err := p.Stop(context.Background(), Steps{}); err != nil {
				t.Fatal(err)
			}
			// Honest servers leave their children behind, so even they need TERM.
			if took := time.Since(began); took < tc.least || took > 6*time.Second {
				t.Errorf("took %v", took)
			}
			for _, m := range found {
				if alive(m.pid) {
					t.Errorf("process %d of the tree lives", m.pid)
				}
			}
			if p.ExitState() == "" {
				t.Error("no exit state after Stop")
			}
			if err := syscall.Kill(p.PID(), 0); err == nil {
				t.Error("the leader is a zombie")
			}
		})
	}
}

func TestStopEndsAStoppedProcess(t *testing.T) {
	p := start(t, open(t), Options{Command: fakeserver.TestCommand(t, "--ignore", "eof"), Label: "fake"})
	ready(t, p.tree, 1)
	fakeserver.Suspend(t, p.PID())
	began := time.Now()
	if err := p.Stop(context.Background(), Steps{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestStopFindsProcessesThatLeftTheGroup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets us read another process's environment")
	}
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Skip("no setsid command here")
	}
	p := start(t, open(t), Options{Command: []string{"/bin/sh", "-c", setsid + " sleep 1000 & exec sleep 1000"}, Label: "browser"})
	var outside int
	eventually(t, "a process outside of the group", func() bool {
		for _, m := range p.tree.members() {
			if !m.group && m.marked {
				outside = m.pid
			}
		}
		return outside != 0
	})
	if err := p.Stop(context.Background(), Steps{Stdin: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	// A process that is ending has lost its environment before it is a zombie.
	eventually(t, "the end of the process outside of the group", func() bool { return !alive(outside) })
}

func TestStopEndsOrphansThatDroppedTheMarker(t *testing.T) {
	p := start(t, open(t), Options{Command: []string{"/bin/sh", "-c", "env -i sleep 1000 & exit 3"}, Label: "forker"})
	<-p.Done()
	if got := p.ExitState(); got != "exit status 3" || p.ExitCode() != 3 {
		t.Errorf("exit state %q, code %d", got, p.ExitCode())
	}
	found := ready(t, p.tree, 1)
	if err := p.Stop(context.Background(), Steps{Stdin: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if alive(found[0].pid) {
		t.Error("the orphan lives")
	}
}

func TestSweepEndsWhatAKilledDaemonLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "groups")
	victim := fakeserver.ShellCommand(t, "--child", "2", "--ignore", "eof,term")
	daemon := exec.Command(fakeserver.TestCommand(t)[0], append([]string{daemonArg, path}, victim...)...)
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	left, err := readRecord(path)
	if err != nil || len(left) != 1 {
		t.Fatalf("record holds %d groups, %v", len(left), err)
	}
	var tr tree
	for _, e := range left {
		tr = tree{pgid: e.PID, start: e.Start, token: e.Token}
	}
	ready(t, tr, 4)
	_ = daemon.Process.Kill()
	_ = daemon.Wait()
	if runtime.GOOS == "linux" {
		eventually(t, "the leader dies with its parent", func() bool { return !alive(pid) })
		if len(tr.members()) == 0 {
			t.Fatal("nothing left over, so the test proves nothing")
		}
	}

	r, err := OpenRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n, err := r.Sweep(context.Background(), slog.New(slog.DiscardHandler))
	if n != 1 || err != nil {
		t.Errorf("swept %d groups, %v", n, err)
	}
	if left := tr.members(); len(left) != 0 {
		t.Errorf("%d processes survive the sweep", len(left))
	}
	if left, err := readRecord(path); len(left) != 0 || err != nil {
		t.Errorf("the record still holds %d groups, %v", len(left), err)
	}
}

func TestSweepSparesAStrangerWithTheSamePID(t *testing.T) {
	stranger := exec.Command("sleep", "1000")
	stranger.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	path := filepath.Join(t.TempDir(), "groups")
	right, err := StartTime(stranger.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]entry{
		"other start time": {Boot: bootID(), Start: "1"},
		"other boot":       {Boot: "another", Start: right},
	} {
		e.Op, e.Token, e.PID = "started", newToken(), stranger.Process.Pid
		line, _ := json.Marshal(e)
		if err := os.WriteFile(path, append(line, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := OpenRecord(path)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := r.Sweep(context.Background(), slog.New(slog.DiscardHandler)); n != 0 || err != nil {
			t.Errorf("%s: swept %d, %v", name, n, err)
		}
		if !alive(stranger.Process.Pid) {
			t.Fatalf("%s: the stranger is dead", name)
		}
		_ = r.Close()
	}
}

func TestDamagedRecordIsReadAsFarAsItGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "groups")
	text := `{"op":"started","token":"a","pid":1}` + "\n" + `nonsense` + "\n" + `{"op":"ended","token":"a"}` + "\n" +
		`{"op":"begin","token":"b","label":"x","boot":"y"}` + "\n" + `{"op":"started","token":"b","pid":7,"st`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := readRecord(path)
	if err != nil || len(left) != 1 || left["b"].Label != "x" {
		t.Errorf("read %v, %v", left, err)
	}
}

func TestRecordIsEmptyWhenNothingRuns(t *testing.T) {
	r := open(t)
	for range 3 {
		p := start(t, r, Options{Command: fakeserver.TestCommand(t), Label: "fake"})
		if err := p.Stop(context.Background(), Steps{}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(r.path)
	if err != nil || info.Size() != 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("record: %v, %v", info, err)
	}
}

func TestStartFailureNamesTheProgramAndLeavesNothing(t *testing.T) {
	r := open(t)
	_, err := r.Start(Options{Command: []string{"/does/not/exist"}, Label: "ghost"})
	if err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("error is %v", err)
	}
	if _, err := r.Start(Options{}); err == nil {
		t.Error("an empty command was started")
	}
	if data, _ := os.ReadFile(r.path); len(data) != 0 {
		t.Errorf("record: %s", data)
	}
}

func TestStartAfterCloseIsRefused(t *testing.T) {
	r, err := OpenRecord(filepath.Join(t.TempDir(), "groups"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(Options{Command: []string{"/bin/true"}}); err == nil {
		t.Error("started after Close")
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestPipesAndEnvironmentReachTheProcess(t *testing.T) {
	p := start(t, open(t), Options{Command: []string{"/bin/sh", "-c", `read line; echo "$line $ONLY $HOME"; echo oops >&2`},
		Env: []string{"ONLY=this"}, Label: "shell"})
	if _, err := io.WriteString(p.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(p.Stdout)
	errs, _ := io.ReadAll(p.Stderr)
	if string(out) != "hello this \n" || string(errs) != "oops\n" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
	<-p.Done()
}

func TestOwnProcessIsKnown(t *testing.T) {
	if got, err := Parent(os.Getpid()); err != nil || got != os.Getppid() {
		t.Errorf("parent %d, %v", got, err)
	}
	a, err := StartTime(os.Getpid())
	if b, _ := StartTime(os.Getpid()); err != nil || a == "" || a != b {
		t.Errorf("start time %q then %q, %v", a, b, err)
	}
	if runtime.GOOS == "linux" {
		if env, err := Environ(os.Getpid()); err != nil || env["PATH"] != os.Getenv("PATH") {
			t.Errorf("PATH is %q, %v", env["PATH"], err)
		}
	}
	if _, err := StartTime(1 << 30); err == nil {
		t.Error("a process that cannot exist has a start time")
	}
}
