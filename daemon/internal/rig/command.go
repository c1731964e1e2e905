package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// Hung is when a command that has no bound of its own is given up.
const Hung = 3 * time.Minute

// Outcome is what came of a command or a request. Code is an exit code; a
// request that failed has the code of its kind on the command line.
type Outcome struct {
	Stdout, Stderr []byte
	Code           int
	Took           time.Duration
}

// No is the outcome of what is not so: code 1, with the reason on stderr.
func No(format string, args ...any) Outcome {
	return Outcome{Code: 1, Stderr: fmt.Appendf(nil, format, args...)}
}

// Command is a program to run in the scene. The zero value of all but Argv will
// do: the user's shell, in the current directory, without input.
type Command struct {
	Argv     []string // looked up on the scene's PATH
	Dir      string
	Env      []string // changes to the scene's environment
	Input    string   // file for standard input
	As       string   // session in whose agent's shell it runs
	Terminal *Terminal
}

// Terminal is the far end of the pseudo-terminal of a command.
type Terminal struct {
	Ready chan struct{} // closed once keys can be pressed
	Keys  io.Writer
}

// NewTerminal makes the terminal of one command.
func NewTerminal() *Terminal { return &Terminal{Ready: make(chan struct{})} }

// Run runs a command to its end, or until ctx ends, when it is killed with its
// group. An error says that it could not be run or that it hung; a command that
// failed is an outcome.
func (s *Scene) Run(ctx context.Context, c Command) (Outcome, error) {
	if c.As != "" {
		return s.runAs(ctx, c)
	}
	path, err := s.find(c.Argv[0])
	if err != nil {
		return Outcome{}, err
	}
	cmd := exec.Command(path, c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, s.Environ(c.Env...)
	if c.Input != "" {
		f, err := os.Open(c.Input)
		if err != nil {
			return Outcome{}, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	if c.Terminal != nil {
		return runOnTerminal(ctx, cmd, c.Terminal)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return runCommand(ctx, cmd)
}

// Tenon runs tenon with these words in dir as the user does, bounded by [Hung].
func (s *Scene) Tenon(dir string, words ...string) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Hung)
	defer cancel()
	return s.Run(ctx, Command{Argv: append([]string{"tenon"}, words...), Dir: dir})
}

// find looks a program up on the scene's own PATH.
func (s *Scene) find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for dir := range strings.SplitSeq(s.Get("PATH"), string(os.PathListSeparator)) {
		path := dir + "/" + name
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH of the test", name)
}

// runCommand runs cmd, the leader of a session, until its end or until ctx
// ends, when its whole group is killed.
func runCommand(ctx context.Context, cmd *exec.Cmd) (Outcome, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	// Somebody who keeps our pipes open after the command ended is the fault
	// of the program under test and shows as ErrWaitDelay.
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return Outcome{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	ended := stop()
	o := Outcome{Stdout: out.Bytes(), Stderr: errs.Bytes(), Code: exitCode(cmd.ProcessState), Took: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case !ended && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return o, fmt.Errorf("hung for %s and was killed; stderr: %s", Hung, Tail(o.Stderr, 600))
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

// runOnTerminal runs cmd as the foreground of a new terminal; everything it
// writes there is its stdout.
func runOnTerminal(ctx context.Context, cmd *exec.Cmd, t *Terminal) (Outcome, error) {
	keys, screen, err := pty.Open()
	if err != nil {
		return Outcome{}, err
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
	t.Keys = keys
	close(t.Ready)
	start := time.Now()
	if err := cmd.Start(); err != nil {
		_ = screen.Close()
		<-read
		return Outcome{}, err
	}
	_ = screen.Close()
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	_ = cmd.Wait()
	stop()
	took := time.Since(start)
	select {
	case <-read:
	case <-time.After(5 * time.Second):
		return Outcome{}, errors.New("somebody still holds the terminal 5 s after the command ended")
	}
	return Outcome{Stdout: shown.Bytes(), Code: exitCode(cmd.ProcessState), Took: took}, nil
}

// runBounded runs a command and kills its session when the bound is over.
func runBounded(cmd *exec.Cmd, bound time.Duration) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	over := time.AfterFunc(bound, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	if !over.Stop() && err != nil {
		err = fmt.Errorf("killed after %s: %w", bound, err)
	}
	return out.Bytes(), err
}
