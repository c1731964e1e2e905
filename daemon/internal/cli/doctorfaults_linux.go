package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processState is the letter of /proc/PID/stat; empty: there is no such process.
func processState(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name before it may hold anything, but ends at the last parenthesis.
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) == 0 {
		return "?"
	}
	return string(fields[0])
}

// usages reads what the system tells of a process and its limits.
func usages(pid int) []usage {
	proc := fmt.Sprintf("/proc/%d", pid)
	limits := limitsOf(proc + "/limits")
	var out []usage
	if fds, err := os.ReadDir(proc + "/fd"); err == nil {
		out = append(out, usage{
			what: "file descriptors", hint: "raise them where the daemon starts (ulimit -n, LimitNOFILE), then tenon daemon restart",
			used: int64(len(fds)), limit: limits["Max open files"], always: true,
		})
	}
	if os.Getuid() != 0 { // who may ignore it
		out = append(out, usage{
			what: "processes and threads of this user", hint: "end some, or raise the limit (ulimit -u), then tenon daemon restart",
			used: threadsOf(os.Getuid()), limit: limits["Max processes"],
		})
	}
	for _, dir := range groupsOf(proc + "/cgroup") {
		out = append(out, usage{
			what: "processes of the control group " + dir, hint: "raise TasksMax of the unit, or pids.max of the container",
			used: numberIn(filepath.Join(dir, "pids.current")), limit: numberIn(filepath.Join(dir, "pids.max")),
		})
	}
	return out
}

// limitsOf reads the soft limits by their name; unlimited ones are left out.
func limitsOf(path string) map[string]int64 {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	out := map[string]int64{}
	for line := range strings.Lines(string(raw)) {
		if len(line) < 26 {
			continue
		}
		fields := strings.Fields(line[26:]) // names have 26 columns
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			out[strings.TrimSpace(line[:26])] = n
		}
	}
	return out
}

// threadsOf counts the threads of a user's processes, which RLIMIT_NPROC bounds.
func threadsOf(uid int) int64 {
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	total := int64(0)
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		mine, threads := false, int64(0)
		for line := range strings.Lines(string(raw)) {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			switch fields[0] {
			case "Uid:":
				mine = fields[1] == strconv.Itoa(uid)
			case "Threads:":
				threads, _ = strconv.ParseInt(fields[1], 10, 64)
			}
		}
		if mine {
			total += threads
		}
	}
	return total
}

// groupsOf lists where the processes of a control group are counted: its own
// directory and those above it, each of which may have a limit. They are those of
// version 2, and of the controller pids of version 1 (cgroups(7)), where these are
// usually mounted.
func groupsOf(path string) []string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, group
		if len(fields) < 3 {
			continue
		}
		top := "/sys/fs/cgroup"
		switch controllers := strings.Split(fields[1], ","); {
		case slices.Contains(controllers, "pids"):
			top += "/pids"
		case fields[1] != "":
			continue
		}
		for dir := filepath.Join(top, fields[2]); strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// numberIn is the number that a file holds; 0: none, or "max".
func numberIn(path string) int64 {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return n
}
