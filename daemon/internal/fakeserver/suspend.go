package fakeserver

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// suspendWithin bounds the wait for the last thread of a process to stop.
const suspendWithin = 30 * time.Second

// Suspend stops the process as SIGSTOP does and returns once none of its
// threads runs any more. kill(2) returns before that: on a busy machine a
// thread that has not yet seen the signal may answer one more request.
func Suspend(t TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("fake server %d: %v", pid, err)
	}
	for deadline := time.Now().Add(suspendWithin); !Suspended(pid); {
		if time.Now().After(deadline) {
			t.Fatalf("fake server %d still runs %v after SIGSTOP", pid, suspendWithin)
		}
		time.Sleep(time.Millisecond)
	}
}

// Suspended says whether every thread of the process is in state T
// (proc_pid_stat(5)); where there is no /proc, ps answers for the process. It
// is false for a process that does not exist.
func Suspended(pid int) bool {
	if runtime.GOOS != "linux" {
		state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
		return err == nil && strings.HasPrefix(string(state), "T")
	}
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return false
	}
	for _, thread := range threads {
		line, err := os.ReadFile(tasks + "/" + thread.Name() + "/stat")
		if err != nil {
			return false
		}
		state := strings.TrimSpace(string(line[strings.LastIndexByte(string(line), ')')+1:]))
		if !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}
