package proctree

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Options says what to start.
type Options struct {
	Command []string   // [0] is the program's path, absolute; it is not searched for
	Env     []string   // the complete environment, KEY=value; nil is an empty one
	Dir     string     // working directory; empty: ours
	Label   string     // what this is, for the record and logs
	Stdin   *os.File   // nil: a pipe, Proc.Stdin
	Stdout  *os.File   // nil: a pipe, Proc.Stdout
	Stderr  *os.File   // nil: a pipe, Proc.Stderr
	Files   []*os.File // further files, from descriptor 3 on
}

// Proc is one started process and the tree below it.
type Proc struct {
	Stdin  io.WriteCloser // nil when Options named a file; likewise below
	Stdout io.ReadCloser
	Stderr io.ReadCloser

	record *Record
	cmd    *exec.Cmd
	tree   tree
	label  string
	done   chan struct{}          // closed when the leader is reaped
	state  atomic.Pointer[string] // set before done is closed
	stdin  sync.Once

	stop    sync.Mutex // one Stop at a time
	stopped bool       // guarded by stop: the tree is gone
}

// Start starts a process as the leader of a new group and writes it to the
// record. On Linux the leader gets KILL when we die in whatever way; what it
// leaves behind is for [Record.Sweep]. The pipes are the caller's to close;
// Stop closes stdin. Every Proc needs a Stop, also after Done, since the tree
// may outlive its leader.
func (r *Record) Start(o Options) (*Proc, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("empty command")
	}
	p := &Proc{record: r, label: o.Label, done: make(chan struct{}), tree: tree{token: newToken(), orphans: new(atomic.Bool)}}
	p.cmd = &exec.Cmd{
		Path: o.Command[0], Args: o.Command, Dir: o.Dir,
		Env:        append(slices.Clone(o.Env), Marker+"="+p.tree.token),
		ExtraFiles: o.Files, SysProcAttr: groupAttr(),
	}
	theirs, ours, err := p.pipes(o)
	defer closeAll(theirs)
	if err != nil {
		return nil, err
	}
	if err := r.append(entry{Op: "begin", Token: p.tree.token, Label: o.Label, Boot: bootID()}); err != nil {
		closeAll(ours)
		return nil, fmt.Errorf("record the start: %w", err)
	}
	if err := errors.Join(r.onThread(func() { err = p.cmd.Start() }), err); err != nil {
		closeAll(ours)
		_ = r.append(entry{Op: "ended", Token: p.tree.token}) // nothing runs: a leftover line does no harm
		return nil, err
	}
	p.tree.pgid = p.cmd.Process.Pid
	// An unreadable start time stays empty and matches no process: a sweep
	// then goes by the marker alone.
	p.tree.start, _ = StartTime(p.tree.pgid)
	err = r.append(entry{Op: "started", Token: p.tree.token, PID: p.tree.pgid, Start: p.tree.start})
	go p.reap() // ends with the leader, which Stop guarantees
	if err != nil {
		_ = p.cmd.Process.Kill()
		<-p.done
		closeAll(ours)
		return nil, fmt.Errorf("record the start: %w", err)
	}
	return p, nil
}

// pipes connects the child's standard streams and returns the ends to close
// in our process once it runs, and those that stay.
func (p *Proc) pipes(o Options) (theirs, ours []*os.File, err error) {
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	if o.Stdin == nil {
		r, w := pipe()
		p.cmd.Stdin, p.Stdin = r, w
		theirs, ours = append(theirs, r), append(ours, w)
	}
	if o.Stdout == nil {
		r, w := pipe()
		p.cmd.Stdout, p.Stdout = w, r
		theirs, ours = append(theirs, w), append(ours, r)
	}
	if o.Stderr == nil {
		r, w := pipe()
		p.cmd.Stderr, p.Stderr = w, r
		theirs, ours = append(theirs, w), append(ours, r)
	}
	if err != nil {
		closeAll(ours)
		return theirs, nil, fmt.Errorf("pipe for %s: %w", o.Label, err)
	}
	return theirs, ours, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (p *Proc) reap() {
	err := p.cmd.Wait()
	// Moments after the reaping the group's id cannot have gone to a stranger.
	p.tree.orphans.Store(syscall.Kill(-p.tree.pgid, 0) == nil)
	state := "exit status 0"
	if s := p.cmd.ProcessState; s != nil {
		state = s.String()
	} else if err != nil {
		state = err.Error()
	}
	p.state.Store(&state)
	close(p.done)
}

// PID is the leader's process id, which is also the id of its group.
func (p *Proc) PID() int { return p.tree.pgid }

// Done is closed when the leader has ended and is reaped. Others of its tree
// may still live.
func (p *Proc) Done() <-chan struct{} { return p.done }

// ExitState says how the leader ended ("exit status 3", "signal: killed"), and
// is empty while it lives.
func (p *Proc) ExitState() string {
	if s := p.state.Load(); s != nil {
		return *s
	}
	return ""
}

// ExitCode is the leader's exit code, and -1 while it lives or when a signal
// ended it.
func (p *Proc) ExitCode() int {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	default:
		return -1
	}
}

// Ended is how the leader ended and what it used, and nil while it lives.
func (p *Proc) Ended() *os.ProcessState {
	select {
	case <-p.done:
		return p.cmd.ProcessState
	default:
		return nil
	}
}
