// Package proctree starts child processes in process groups of their own and
// ends whole trees of them, also those a killed predecessor left behind.
//
// What counts as one tree: every process of the group, and on Linux every
// process of ours that carries the group's marker, the environment variable
// [Marker] with a random value, wherever it has moved itself. Browsers start
// in a session of their own, so the group alone would miss them. A process
// that both leaves the group and drops the variable is found where it was started
// through the sandbox's helper, whose mark ([sandbox.Mark]) it cannot drop as
// easily, and in a strict mode not at all; any other is not found.
package proctree

import (
	"sync/atomic"
	"time"

	"tenon/daemon/internal/sandbox"
)

// Marker names the environment variable that every started process carries.
// Its value is random per group. Whoever starts a process that must outlive
// the tree (a daemon started from within a server) removes it first.
const Marker = sandbox.GroupVariable

// Steps are the bounded waits of [Proc.Stop]. A zero field takes its default.
type Steps struct {
	Stdin time.Duration // after closing stdin; default 1.5 s
	Term  time.Duration // after TERM; default 2 s
	Kill  time.Duration // after KILL; default 1.5 s
}

// DefaultSteps add up to the 5 s that a stop may take in all.
var DefaultSteps = Steps{Stdin: 1500 * time.Millisecond, Term: 2 * time.Second, Kill: 1500 * time.Millisecond}

func (s Steps) withDefaults() Steps {
	if s.Stdin == 0 {
		s.Stdin = DefaultSteps.Stdin
	}
	if s.Term == 0 {
		s.Term = DefaultSteps.Term
	}
	if s.Kill == 0 {
		s.Kill = DefaultSteps.Kill
	}
	return s
}

// tree identifies one started group.
type tree struct {
	pgid  int    // the leader's pid
	start string // the leader's start time, as StartTime gives it
	token string // value of Marker

	// orphans is set when the leader was reaped while others of its group
	// lived: then the group is known to be ours without further proof, as long
	// as no new leader has taken its id. Nil for a predecessor's tree.
	orphans *atomic.Bool
}

// member is one live process of a tree; zombies are not members.
type member struct {
	pid    int
	start  string
	group  bool // in the process group
	marked bool // carries the marker, or the mark
}
