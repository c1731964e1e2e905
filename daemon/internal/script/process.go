package script

import (
	"io"
	"os"
	"os/exec"
)

// HelperProc is a running helper.
type HelperProc struct {
	Stdin  io.Writer
	Stdout io.Reader
	// Kill ends the process at once, makes reads and writes fail and returns
	// when the process is gone. It may be called more than once, from any
	// goroutine.
	Kill func()
}

// Starter starts a helper. Whoever owns the process groups of the daemon gives
// its own; nil in Options means StartChild.
type Starter func(command []string) (HelperProc, error)

// StartChild starts the helper as a plain child of this process.
func StartChild(command []string) (HelperProc, error) {
	c := exec.Command(command[0], command[1:]...)
	// Nothing of the environment matters to the helper, and a crash of it on a
	// hostile source is not worth a dump of every stack.
	c.Env = append(helperEnv(), "GOTRACEBACK=none")
	stdin, err := c.StdinPipe()
	if err != nil {
		return HelperProc{}, err
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return HelperProc{}, err
	}
	if err := c.Start(); err != nil {
		return HelperProc{}, err
	}
	gone := make(chan struct{})
	go func() {
		c.Process.Wait()
		close(gone)
	}()
	return HelperProc{Stdin: stdin, Stdout: stdout, Kill: func() {
		c.Process.Kill()
		<-gone
		stdin.Close()
		stdout.Close()
	}}, nil
}

// helperEnv is what a Windows process cannot start without; empty elsewhere.
func helperEnv() []string {
	if root, ok := os.LookupEnv("SYSTEMROOT"); ok {
		return []string{"SYSTEMROOT=" + root}
	}
	return []string{}
}
