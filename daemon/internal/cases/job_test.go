package cases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// slack multiplies every upper bound of a case: TENON_CASES_SLACK=4 for a
// machine that is busy with other things. It is 1 where nobody says otherwise.
var slack = slackOf(os.Getenv("TENON_CASES_SLACK"))

func slackOf(s string) time.Duration {
	n := time.Duration(1)
	_, _ = fmt.Sscan(s, &n)
	return max(n, 1)
}

// hung is when a command that has no bound of its own is given up.
const hung = 3 * time.Minute

// job is a command in the background.
type job struct {
	cancel   context.CancelFunc
	done     chan struct{}
	out      outcome
	err      error
	terminal *terminal // where it has one
	ask      int64     // request of a double, for bridge cancel
	host     *host
}

// start carries a plan out in the background under its name.
func (s *scene) start(p *plan) error {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	j := &job{cancel: cancel, done: make(chan struct{})}
	s.mu.Lock()
	_, taken := s.jobs[p.background]
	s.mu.Unlock()
	if taken {
		cancel()
		return fmt.Errorf("there is a job %q already", p.background)
	}
	if p.terminal {
		j.terminal = &terminal{ready: make(chan struct{})}
	}
	work, err := s.background(ctx, p, j)
	if err != nil {
		cancel()
		return err
	}
	s.mu.Lock()
	s.jobs[p.background] = j
	s.mu.Unlock()
	go func() {
		defer close(j.done)
		j.out, j.err = work()
	}()
	return nil
}

// background splits a verb into what must be done now and what may take time.
func (s *scene) background(ctx context.Context, p *plan, j *job) (func() (outcome, error), error) {
	switch {
	case p.verb == "bridge":
		return s.bridgeLater(p, j)
	case isProgram(p.verb):
		return func() (outcome, error) { return s.runProgram(ctx, p, j) }, nil
	}
	return nil, fmt.Errorf("%s cannot run in the background", p.verb)
}

func (s *scene) job(name string) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[name]; j != nil {
		return j, nil
	}
	return nil, fmt.Errorf("no job %q", name)
}

// join waits for a job; its name is free again afterwards.
func (s *scene) join(name string) (outcome, error) {
	j, err := s.job(name)
	if err != nil {
		return outcome{}, err
	}
	start := time.Now()
	<-j.done
	s.mu.Lock()
	delete(s.jobs, name)
	s.mu.Unlock()
	o := j.out
	o.took = time.Since(start)
	return o, j.err
}

func isProgram(verb string) bool { return verb == "tenon" || verb == "sh" }

// argv is the command line of a program verb.
func (p *plan) argv(words []string) []string {
	if p.verb == "sh" {
		return append([]string{"/bin/sh", "-c"}, words...)
	}
	return append([]string{p.verb}, words...)
}

// runProgram runs tenon or a shell command line, in a session's shell, on a
// terminal or in several copies as the plan says. Copies see their number as
// {i}; their outputs follow each other in that order.
func (s *scene) runProgram(ctx context.Context, p *plan, j *job) (outcome, error) {
	if p.parallel == 0 {
		return s.runOnce(ctx, p, p.argv(p.words), j)
	}
	outs, errs := make([]outcome, p.parallel), make([]error, p.parallel)
	var all sync.WaitGroup
	for i := range p.parallel {
		all.Go(func() {
			words := make([]string, len(p.words))
			for k, w := range p.words {
				words[k] = strings.ReplaceAll(w, "{i}", fmt.Sprint(i))
			}
			outs[i], errs[i] = s.runOnce(ctx, p, p.argv(words), nil)
		})
	}
	all.Wait()
	var whole outcome
	for _, o := range outs {
		whole.stdout = append(whole.stdout, o.stdout...)
		whole.stderr = append(whole.stderr, o.stderr...)
		if o.code != 0 {
			whole.code = o.code
		}
		whole.took = max(whole.took, o.took)
	}
	return whole, errors.Join(errs...)
}

func (s *scene) runOnce(ctx context.Context, p *plan, argv []string, j *job) (outcome, error) {
	if p.as != "" {
		return s.runAs(ctx, p, argv)
	}
	path, err := s.find(argv[0])
	if err != nil {
		return outcome{}, err
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Dir, cmd.Env = p.dir, s.environ(p.env...)
	if p.input != "" {
		f, err := os.Open(p.input)
		if err != nil {
			return outcome{}, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	if p.terminal {
		var t *terminal
		if j != nil {
			t = j.terminal
		}
		return runOnTerminal(ctx, cmd, t)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return runCommand(ctx, cmd)
}

// find looks a program up on the case's own PATH.
func (s *scene) find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for dir := range strings.SplitSeq(s.env["PATH"], string(os.PathListSeparator)) {
		path := dir + "/" + name
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH of the case", name)
}

// runCommand runs cmd, the leader of a session, until its end or until ctx
// ends, when its whole group is killed.
func runCommand(ctx context.Context, cmd *exec.Cmd) (outcome, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	return finish(ctx, cmd, &out, &errs)
}

func finish(ctx context.Context, cmd *exec.Cmd, out, errs *bytes.Buffer) (outcome, error) {
	start := time.Now()
	// Somebody who keeps our pipes open after the command ended is the fault
	// of the program under test and shows as ErrWaitDelay.
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	ended := stop()
	o := outcome{stdout: out.Bytes(), stderr: errs.Bytes(), code: exitCode(cmd.ProcessState), took: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case !ended && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return o, fmt.Errorf("hung for %s and was killed; stderr: %s", hung, tail(o.stderr, 600))
	case err == nil || errors.As(err, &exit):
		return o, nil
	default:
		return o, err
	}
}

// exitCode is the shell's: 128 + the signal for a killed process.
func exitCode(st *os.ProcessState) int {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// terminal is the far end of a job's pseudo-terminal.
type terminal struct {
	ready chan struct{} // closed once keys can be pressed
	keys  io.Writer
}

// runOnTerminal runs cmd as the foreground of a new terminal; everything it
// writes there is its stdout.
func runOnTerminal(ctx context.Context, cmd *exec.Cmd, t *terminal) (outcome, error) {
	keys, screen, err := pty.Open()
	if err != nil {
		return outcome{}, err
	}
	defer keys.Close()
	if cmd.Stdin == nil {
		cmd.Stdin = screen
	}
	cmd.Stdout, cmd.Stderr = screen, screen
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	var shown bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&shown, keys) // ends with EIO when nobody has the screen
	}()
	if t != nil {
		t.keys = keys
		close(t.ready)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		_ = screen.Close()
		<-read
		return outcome{}, err
	}
	_ = screen.Close()
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	_ = cmd.Wait()
	stop()
	took := time.Since(start)
	select {
	case <-read:
	case <-time.After(5 * time.Second):
		return outcome{}, errors.New("somebody still holds the terminal 5 s after the command ended")
	}
	return outcome{stdout: shown.Bytes(), code: exitCode(cmd.ProcessState), took: took}, nil
}
