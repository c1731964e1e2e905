package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"tenon/daemon/internal/sandbox"
)

func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// bootID tells one boot of the machine from another: start times are counted
// from it.
var bootID = sync.OnceValue(func() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(data))
})

// stat is the part of /proc/PID/stat that we read.
type stat struct {
	state  byte
	parent int
	group  int
	start  string // clock ticks since boot
}

func readStat(pid int) (stat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return parseStat(data)
}

// parseStat reads the fields after the command name, which is in parentheses
// and may itself hold blanks and parentheses (proc_pid_stat(5)).
func parseStat(data []byte) (stat, error) {
	_, rest, ok := bytes.Cut(data, []byte("("))
	end := bytes.LastIndexByte(rest, ')')
	if !ok || end < 0 {
		return stat{}, errors.New("unreadable process status")
	}
	f := bytes.Fields(rest[end+1:])
	const startField = 19 // field 22 of the line; state, field 3, is our field 0
	if len(f) <= startField {
		return stat{}, errors.New("short process status")
	}
	parent, err1 := strconv.Atoi(string(f[1]))
	group, err2 := strconv.Atoi(string(f[2]))
	return stat{f[0][0], parent, group, string(f[startField])}, errors.Join(err1, err2)
}

// StartTime returns when the process started, as an opaque text to compare:
// together with the pid it names one process of this boot.
func StartTime(pid int) (string, error) {
	s, err := readStat(pid)
	return s.start, err
}

// Parent returns the process id of pid's parent.
func Parent(pid int) (int, error) {
	s, err := readStat(pid)
	return s.parent, err
}

// Environ returns the environment that the process was started with. It fails
// for processes of other users.
func Environ(pid int) (map[string]string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil, fmt.Errorf("environment of process %d: %w", pid, err)
	}
	env := map[string]string{}
	for kv := range bytes.SplitSeq(data, []byte{0}) {
		if k, v, ok := bytes.Cut(kv, []byte("=")); ok {
			env[string(k)] = string(v)
		}
	}
	return env, nil
}

// members returns the live processes of the tree, nobody when the group is not
// certainly ours any more. Zombies are dead: where nobody reaps orphans (a
// container's first process may not) they would keep a group alive for ever.
func (t tree) members() []member {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	mark, limit := []byte("\x00"+Marker+"="+t.token+"\x00"), strconv.FormatUint(sandbox.Mark(t.token), 10)
	self := os.Getpid()
	var found []member
	strange := false
	ours := t.orphans != nil && t.orphans.Load()
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		s, err := readStat(pid)
		if err != nil || s.state == 'Z' || s.state == 'X' {
			continue
		}
		m := member{pid: pid, start: s.start, group: t.pgid != 0 && s.group == t.pgid}
		if !m.group && before(s.start, t.start) {
			continue // older than the tree: spares reading its environment
		}
		m.marked = marked(pid, mark) || limited(pid, limit)
		switch {
		case pid == t.pgid && s.start != t.start:
			strange = true // the id was given to a new leader
		case m.group && m.marked, pid == t.pgid:
			ours = true
		}
		if m.group || m.marked {
			found = append(found, m)
		}
	}
	if ours && !strange {
		return found
	}
	kept := found[:0]
	for _, m := range found {
		if !m.group {
			kept = append(kept, m)
		}
	}
	return kept
}

func marked(pid int, mark []byte) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, data...), mark)
}

// limited reports whether a process has the mark of the sandbox's helper. Unlike
// its environment, its limits can be read of a process that hides itself.
func limited(pid int, mark string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/limits")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte("\nMax file locks"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(line) // soft, hard, unit
	return len(fields) > 1 && string(fields[1]) == mark
}

// before compares start times; they are decimal numbers without leading zeros.
func before(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && a < b
}
