//go:build linux

package faults

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tenon/daemon/internal/fault"
)

// command is a tenon that runs.
type command struct {
	g        *stage
	cmd      *exec.Cmd
	out, err bytes.Buffer
	ended    chan struct{}
}

// begin starts tenon with these words.
func (g *stage) begin(words ...string) *command {
	g.Helper()
	c := &command{g: g, ended: make(chan struct{})}
	c.cmd = exec.Command(filepath.Join(g.s.Work, "bin", "tenon"), words...)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	g.start(c)
	return c
}

// start starts a command that was made ready.
func (g *stage) start(c *command) {
	g.Helper()
	c.cmd.Dir, c.cmd.Env = g.s.Work, g.s.Environ()
	if c.cmd.SysProcAttr == nil {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	c.cmd.WaitDelay = 5 * time.Second
	if err := c.cmd.Start(); err != nil {
		g.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait()
	}()
	g.Cleanup(c.kill)
}

// kill kills the command alone, not what it has started.
func (c *command) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

// wait waits for the end, within a bound; one that hangs is killed.
func (c *command) wait() {
	c.g.Helper()
	select {
	case <-c.ended:
	case <-time.After(unhurried):
		c.kill()
		c.g.Fatalf("%q hung for %s: %s", c.cmd.Args, unhurried, c.err.String())
	}
}

func (c *command) code() int { return c.cmd.ProcessState.ExitCode() }

// failed reports whether a command failed with the kind.
func (c *command) failed(kind fault.Kind) bool {
	return c.code() == kind.ExitCode() && strings.Contains(c.err.String()+c.out.String(), string(kind))
}
