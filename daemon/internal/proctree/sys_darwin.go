package proctree

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// macOS has no parent-death signal: what a killed daemon leaves behind ends
// with its stdin or with the next sweep.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// bootID tells one boot of the machine from another.
var bootID = sync.OnceValue(func() string {
	tv, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return "unknown"
	}
	return strconv.FormatInt(tv.Sec, 10)
})

func stateZombie(p *unix.KinfoProc) bool {
	const sZomb = 5 // SZOMB of sys/proc.h
	return p.Proc.P_stat == sZomb
}

func startOf(p *unix.KinfoProc) string {
	t := p.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec)
}

// StartTime returns when the process started, as an opaque text to compare:
// together with the pid it names one process of this boot.
func StartTime(pid int) (string, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	return startOf(p), nil
}

// Parent returns the process id of pid's parent.
func Parent(pid int) (int, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return int(p.Eproc.Ppid), nil
}

// Environ is not available on macOS, where a process cannot read another's.
func Environ(int) (map[string]string, error) {
	return nil, fmt.Errorf("environment of another process: %w", errors.ErrUnsupported)
}

// members returns the live processes of the group, nobody when it is not
// certainly ours any more: a leader with another start time is a stranger, and
// without a leader nobody may be older than the recorded one.
func (t tree) members() []member {
	if t.pgid == 0 {
		return nil
	}
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", t.pgid)
	if err != nil {
		return nil
	}
	var found []member
	for i := range all {
		p := &all[i]
		if stateZombie(p) {
			continue
		}
		pid, start := int(p.Proc.P_pid), startOf(p)
		if pid == t.pgid && start != t.start || start < t.start {
			return nil
		}
		found = append(found, member{pid: pid, start: start, group: true})
	}
	return found
}
