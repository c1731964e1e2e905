package rig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Process is one entry of the process table.
type Process struct {
	PID, Parent int
	State       string // R, S, Z …
	Command     string // words separated by blanks
}

func (p Process) String() string {
	return fmt.Sprintf("%d (parent %d, state %s): %s", p.PID, p.Parent, p.State, p.Command)
}

// Processes lists the living processes that belong to the case: those whose
// executable or environment names one of its directories. Servers and their
// children are found too, since HOME is on the list of what they inherit.
func (s *Scene) Processes() []Process {
	var mine []Process
	for _, p := range table() {
		if p.State != "Z" && s.owns(p) {
			mine = append(mine, p)
		}
	}
	return mine
}

// Zombies lists the dead children that a process of the case has not reaped.
func (s *Scene) Zombies() []Process {
	owners := map[int]bool{}
	for _, p := range s.Processes() {
		owners[p.PID] = true
	}
	var dead []Process
	for _, p := range table() {
		if p.State == "Z" && owners[p.Parent] {
			dead = append(dead, p)
		}
	}
	return dead
}

func (s *Scene) owns(p Process) bool {
	if p.PID == os.Getpid() {
		return false
	}
	dir := filepath.Join("/proc", strconv.Itoa(p.PID))
	if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil && strings.HasPrefix(exe, s.Work+"/") {
		return true
	}
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	return err == nil && (bytes.Contains(env, []byte("="+s.Work)) || bytes.Contains(env, []byte("="+s.Runtime)))
}

func table() []Process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var all []Process
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // ended meanwhile
		}
		// pid (name) state ppid …; the name may hold anything.
		rest := stat[bytes.LastIndexByte(stat, ')')+1:]
		fields := strings.Fields(string(rest))
		if len(fields) < 2 {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		p := Process{State: fields[0], Command: strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))}
		p.PID, _ = strconv.Atoi(filepath.Base(dir))
		p.Parent, _ = strconv.Atoi(fields[1])
		all = append(all, p)
	}
	return all
}

// Memory reads one line of /proc/PID/status in bytes: VmRSS or VmHWM.
func Memory(pid int, line string) (int64, error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(l, line+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no %s of process %d", line, pid)
}

// daemonWord stands for the daemon's own process in patterns.
const daemonWord = "daemon"

// DaemonPID reads the process id that the daemon left in its runtime folder.
func (s *Scene) DaemonPID() (int, error) {
	raw, err := os.ReadFile(filepath.Join(s.Runtime, "daemon.json"))
	if err != nil {
		return 0, err
	}
	var info struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(raw, &info); err != nil || info.PID == 0 {
		return 0, fmt.Errorf("daemon.json names no process: %s", raw)
	}
	return info.PID, nil
}

// Matching lists the test's processes whose command line matches the regular
// expression; "daemon" is the daemon alone.
func (s *Scene) Matching(pattern string) ([]Process, error) {
	if pattern == daemonWord {
		pid, err := s.DaemonPID()
		if err != nil {
			return nil, nil // no file, no daemon
		}
		for _, p := range s.Processes() {
			if p.PID == pid {
				return []Process{p}, nil
			}
		}
		return nil, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, p := range s.Processes() {
		if re.MatchString(p.Command) {
			found = append(found, p)
		}
	}
	return found, nil
}
