package cases

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is one entry of the process table.
type process struct {
	pid, parent int
	state       string // R, S, Z …
	command     string // words separated by blanks
}

func (p process) String() string {
	return fmt.Sprintf("%d (parent %d, state %s): %s", p.pid, p.parent, p.state, p.command)
}

// processes lists the living processes that belong to the case: those whose
// executable or environment names one of its directories. Servers and their
// children are found too, since HOME is on the list of what they inherit.
func (s *scene) processes() []process {
	var mine []process
	for _, p := range processTable() {
		if p.state != "Z" && s.owns(p) {
			mine = append(mine, p)
		}
	}
	return mine
}

// zombies lists the dead children that a process of the case has not reaped.
func (s *scene) zombies() []process {
	owners := map[int]bool{}
	for _, p := range s.processes() {
		owners[p.pid] = true
	}
	var dead []process
	for _, p := range processTable() {
		if p.state == "Z" && owners[p.parent] {
			dead = append(dead, p)
		}
	}
	return dead
}

func (s *scene) owns(p process) bool {
	if p.pid == os.Getpid() {
		return false
	}
	dir := filepath.Join("/proc", strconv.Itoa(p.pid))
	if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil && strings.HasPrefix(exe, s.work+"/") {
		return true
	}
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	return err == nil && (bytes.Contains(env, []byte("="+s.work)) || bytes.Contains(env, []byte("="+s.runtime)))
}

func processTable() []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var all []process
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
		p := process{state: fields[0], command: strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		p.parent, _ = strconv.Atoi(fields[1])
		all = append(all, p)
	}
	return all
}

// memory reads one line of /proc/PID/status in bytes: VmRSS or VmHWM.
func memory(pid int, line string) (int64, error) {
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
