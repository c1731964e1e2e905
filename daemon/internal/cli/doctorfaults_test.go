package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// examined is what doctor says of directories, without a daemon.
type examined struct {
	t    *testing.T
	home string
}

func newExamined(t *testing.T) examined {
	x := examined{t, t.TempDir()}
	for _, d := range []string{x.state(), x.runtime(), filepath.Join(x.home, ".config", "tenon")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func (x examined) state() string   { return filepath.Join(x.home, "state") }
func (x examined) runtime() string { return filepath.Join(x.home, "run") }

func (x examined) put(path, text string) {
	x.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

func (x examined) findings() []finding {
	x.t.Helper()
	var out, errs bytes.Buffer
	Main(context.Background(), Options{
		Args: []string{"--json", "--no-autostart", "doctor"}, In: strings.NewReader(""), Out: &out, Err: &errs, Cwd: x.home,
		Environ: []string{"HOME=" + x.home, "TENON_STATE_DIR=" + x.state(), "TENON_RUNTIME_DIR=" + x.runtime(), "PATH=/none"},
	})
	var doc struct{ Findings []finding }
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		x.t.Fatalf("%v: %s %s", err, out.String(), errs.String())
	}
	return doc.Findings
}

// A pipe in a file's place would be waited for, were it opened.
func TestDoctorNamesWhatStandsInAFilesPlace(t *testing.T) {
	x := newExamined(t)
	config := filepath.Join(x.home, ".config", "tenon", "config.jsonc")
	history := filepath.Join(x.state(), "history.db")
	if err := syscall.Mkfifo(config, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(history, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(x.state(), "trust.json")); err != nil {
		t.Fatal(err)
	}
	got := x.findings()
	for _, want := range [][]string{
		{config, "no regular file", "configuration is not read"},
		{history, "is a folder", "history is not kept"},
		{"trust.json", "leads nowhere", "no project is trusted"},
	} {
		if !says(got, "problem", "files", want...) {
			t.Errorf("%q is not named: %+v", want, got)
		}
	}
}

func TestDoctorNamesAFileInADirectorysPlaceOnce(t *testing.T) {
	x := newExamined(t)
	if err := os.RemoveAll(x.state()); err != nil {
		t.Fatal(err)
	}
	x.put(x.state(), "a file")
	got := x.findings()
	if !says(got, "problem", "disk", x.state(), "is no folder") {
		t.Errorf("%+v", got)
	}
	for _, f := range got {
		if f.Topic == "files" {
			t.Errorf("named again: %+v", f)
		}
	}
}

func TestDoctorNamesAHistoryThatWasPutAside(t *testing.T) {
	x := newExamined(t)
	old := filepath.Join(x.state(), "history.db.old-2026-01-01")
	x.put(old, strings.Repeat("x", 1<<20))
	if got := x.findings(); !says(got, "note", "history", old, "1.0 MiB", "put aside") {
		t.Errorf("%+v", got)
	}
}

// A directory without the right to write; root, who needs none, is told of a file
// system that is mounted read-only.
func TestDoctorNamesADirectoryThatCannotBeWritten(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere: TestDoctorNamesAReadOnlyFileSystem is for root")
	}
	x := newExamined(t)
	dir := x.state()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	got := x.findings()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if !says(got, "problem", "disk", dir, "cannot be written", "chmod u+rwx") {
		t.Errorf("%+v", got)
	}
	if got := x.findings(); says(got, "problem", "disk", dir) {
		t.Errorf("it can be written: %+v", got)
	}
}

func TestDoctorTellsAKilledDaemonFromAStoppedOne(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the state of a process is told on Linux only")
	}
	x := newExamined(t)
	child, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	info := fmt.Sprintf(`{"pid":%d,"protocol":1,"socket":"x","started":"2026-01-01T10:00:00Z"}`, child.Pid)
	x.put(filepath.Join(x.runtime(), "daemon.json"), info)
	if err := child.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for processState(child.Pid) != "T" { // the kernel is about to
		runtime.Gosched()
	}
	got := x.findings()
	if !says(got, "problem", "daemon", fmt.Sprint(child.Pid), "stopped by a signal", "kill -CONT") {
		t.Errorf("%+v", got)
	}
	_ = child.Kill()
	for processState(child.Pid) != "Z" {
		runtime.Gosched()
	}
	for _, reaped := range []bool{false, true} {
		if got := x.findings(); !says(got, "note", "daemon", fmt.Sprint(child.Pid), "gone without having ended") {
			t.Errorf("reaped %v: %+v", reaped, got)
		}
		_, _ = child.Wait()
	}
}

// The process whose limits are exhausted is this one: its descriptors are held open.
func TestDoctorNamesAnExhaustedLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process uses is told on Linux only")
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	d := &doctor{}
	d.resources(os.Getpid())
	if !says(d.list, "ok", "limits", "file descriptors") {
		t.Errorf("%+v", d.list)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	low := was
	low.Cur = uint64(len(fds)) + 60
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }()
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		now, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		if float64(len(now)) >= nearlyUsed*float64(low.Cur)+1 {
			break
		}
	}
	d = &doctor{}
	d.resources(os.Getpid())
	if !says(d.list, "problem", "limits", "file descriptors", "LimitNOFILE") {
		t.Errorf("%+v", d.list)
	}
}
