package fakeserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// Exit codes of the fake server, besides those given to --exit.
const (
	exitUsage  = 2
	exitLocked = 21 // --lock: somebody else holds the profile
)

// Main runs the fake server with args (flags only, no program name) and
// returns its exit code: 0 at the end of stdin, 2 for a wrong command line,
// 21 when --lock is held by another process, else what --exit says. With
// --exit the process itself exits, since a crash asks nobody.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		fmt.Fprintln(stderr, "fake-server:", err)
		return exitUsage
	}
	if o.help {
		fmt.Fprint(stdout, usage+toolHelp())
		return 0
	}
	s, err := newServer(o)
	if err != nil {
		fmt.Fprintln(stderr, "fake-server:", err)
		if errors.Is(err, errLocked) {
			return exitLocked
		}
		return exitUsage
	}
	defer s.close()
	s.stderr = stderr
	if o.ignore["term"] {
		signal.Ignore(syscall.SIGTERM)
	}
	if err := startChildren(o.children, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "fake-server:", err)
		return exitUsage
	}
	flood(stderr, o.stderr)
	s.exitAt("start")
	if o.http != "" {
		return s.serveHTTP(stdout)
	}
	p := newPeer(s, newLineWriter(stdout))
	defer p.close()
	s.sayAt("start", p.out)
	s.readLines(stdin, p)
	if o.ignore["eof"] {
		select {} // the end of input goes unnoticed; only a signal ends this
	}
	return 0
}

// readLines feeds every line of stdin to the peer until its end.
func (s *server) readLines(stdin io.Reader, p *peer) {
	r := bufio.NewReaderSize(stdin, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			whole := bytes.Clone(line)
			var rest []byte
			rest, err = r.ReadBytes('\n')
			line = append(whole, rest...)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			s.handle(p, p.out, line)
		}
		if err != nil {
			return
		}
	}
}

// startChildren starts n sleepers in our process group that keep our stdout
// and stderr open, as browsers under a dead server do.
func startChildren(n int, stdout, stderr io.Writer) error {
	for range n {
		c := exec.Command("sleep", "86400")
		if f, ok := stdout.(*os.File); ok {
			c.Stdout = f
		}
		if f, ok := stderr.(*os.File); ok {
			c.Stderr = f
		}
		if err := c.Start(); err != nil {
			return fmt.Errorf("start a child: %w", err)
		}
		// Reaped here so that a child that is ended alone leaves no zombie.
		go func() { _ = c.Wait() }()
	}
	return nil
}

func flood(w io.Writer, n int) {
	line := strings.Repeat("x", 99) + "\n"
	for n > 0 {
		k := min(n, len(line))
		if _, err := io.WriteString(w, line[len(line)-k:]); err != nil {
			return
		}
		n -= k
	}
}
