package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/proctree"
	"tenon/proto"
)

// absent reports whether a failure to connect means that nobody serves the
// socket.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// Start brings the daemon up if it is not serving. started is false when one
// was there already.
func (c *Client) Start(ctx context.Context) (started bool, err error) {
	if err := c.setup(); err != nil {
		return false, err
	}
	if c.Serving(ctx) {
		return false, nil
	}
	if c.Socket != c.Paths.Socket {
		return false, c.unreachable(nil)
	}
	return true, c.start(ctx)
}

// Serving reports whether a daemon takes work, however slowly it answers. It starts
// none.
func (c *Client) Serving(ctx context.Context) bool {
	if c.setup() != nil {
		return false
	}
	res, err := c.send(ctx, "GET", "/v1/health", nil, "application/json")
	if err != nil {
		var dial *dialError
		return !errors.As(err, &dial)
	}
	defer res.Body.Close()
	var h proto.Health
	return json.NewDecoder(res.Body).Decode(&h) != nil || !h.Draining
}

// start starts a daemon and returns when it serves. One starter at a time
// holds the start lock; the daemon inherits it and gives it back when it
// serves, so those who waited find it running, and the death of a starter
// at any moment leaves either nobody or a daemon with the lock.
func (c *Client) start(ctx context.Context) error {
	if err := c.Paths.Ensure(); err != nil {
		return err
	}
	wait := c.StartWait
	if wait == 0 {
		wait = DefaultStartWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait,
		fault.New(fault.DaemonUnavailable, "the daemon did not start within %s", wait).
			WithHint("its log says more: %s", c.Paths.LogFile()))
	defer cancel()
	lock, err := c.Paths.TakeStart(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	if c.Serving(ctx) {
		return nil
	}
	return c.spawn(ctx, lock)
}

// ready is the one line that a started daemon writes to its pipe.
type ready struct {
	OK    bool         `json:"ok"`
	Error *proto.Error `json:"error,omitempty"`
}

// Ready writes the line that tells the starter how the start went; err nil
// means that the daemon serves. Package serve calls it, once.
func Ready(w io.Writer, err error) error {
	r := ready{OK: err == nil}
	if err != nil {
		r.Error = fault.From(err).Wire()
	}
	return json.NewEncoder(w).Encode(r)
}

// spawn runs the daemon's command away from us: own session (no signal of our
// terminal reaches it), working directory /, none of our three streams.
func (c *Client) spawn(ctx context.Context, lock *local.Lock) error {
	command := c.Command
	if len(command) == 0 {
		exe, err := os.Executable()
		if err != nil {
			return fault.New(fault.DaemonUnavailable, "cannot find this executable: %w", err)
		}
		command = []string{exe, "daemon", "run"}
	}
	logFile, err := local.OpenRegular(c.Paths.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fault.New(fault.DaemonUnavailable, "cannot open the daemon's log: %w", err)
	}
	defer logFile.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return fault.New(fault.DaemonUnavailable, "cannot start the daemon: %w", err)
	}
	defer r.Close()
	defer w.Close()
	before, _ := logFile.Seek(0, io.SeekEnd)

	cmd := exec.Command(command[0], command[1:]...)
	// File descriptors 3 and 4 of the daemon are the entries of ExtraFiles.
	cmd.Args = append(cmd.Args, "--background", "--start-fd", strconv.Itoa(3), "--ready-fd", strconv.Itoa(4))
	cmd.ExtraFiles = []*os.File{lock.File(), w}
	cmd.Dir = "/"
	environ := c.Environ
	if environ == nil {
		environ = os.Environ()
	}
	cmd.Env = daemonEnv(environ)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return fault.New(fault.DaemonUnavailable, "cannot start the daemon: %w", err)
	}
	_ = w.Close() // ours; the pipe ends when the daemon's copy does
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }() // its pipe says how it went

	line := make(chan ready, 1)
	go func() {
		defer close(line)
		var got ready
		if json.NewDecoder(r).Decode(&got) == nil {
			line <- got
		}
	}()
	select {
	case got, ok := <-line:
		if ok && got.OK {
			return nil
		}
		select { // a failed start is over when its process is gone
		case <-ended:
		case <-ctx.Done():
		}
		if !ok {
			return c.died(before)
		}
		return fault.FromWire(got.Error)
	case <-ctx.Done():
		return fault.From(context.Cause(ctx))
	}
}

// died explains a daemon that ended without a word by the end of its log.
func (c *Client) died(from int64) error {
	e := fault.New(fault.DaemonUnavailable, "the daemon ended while it started").
		WithHint("its log is %s; run it by hand with: tenon daemon run", c.Paths.LogFile())
	f, err := local.OpenRegular(c.Paths.LogFile(), os.O_RDONLY, 0)
	if err != nil {
		return e
	}
	defer f.Close()
	const tail = 2 << 10
	if st, err := f.Stat(); err == nil && st.Size()-from > tail {
		from = st.Size() - tail
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return e
	}
	raw, _ := io.ReadAll(io.LimitReader(f, tail))
	if text := strings.TrimSpace(string(raw)); text != "" {
		e.Message += ": " + text
	}
	return e
}

// daemonEnv is the environment of a daemon: ours without what belongs to one
// session or caller. The daemon serves many; servers get the caller's values.
func daemonEnv(environ []string) []string {
	out := make([]string, 0, len(environ))
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "TENON_SESSION_ID", name == "TENON_TICKET", name == "TENON_SOCKET", name == "TENON_CONFIG", name == "TENON_TOKEN":
		case name == proctree.Marker: // started from a server: not one of its tree, and not to end with it
		case name == "AGENT", strings.HasPrefix(name, "OPENCODE"):
		default:
			out = append(out, kv)
		}
	}
	return out
}

// waitGone is how long a stop may take from the client's side: the daemon's
// own bounds end before it.
const waitGone = 2 * time.Minute

// exitWait is how long the end of a process that has given its lock back is waited
// for, and exitLook the time between two looks.
const (
	exitWait = 2 * time.Second
	exitLook = 2 * time.Millisecond
)

// lookForNext is how often WaitGone looks whether the next daemon serves.
const lookForNext = 50 * time.Millisecond

// errNext ends WaitGone: another daemon has the lock.
var errNext = errors.New("the next daemon serves")

// WaitGone returns when the daemon with this process id has given its lock back and
// ended; 0 is any daemon, of which only the lock is known. Somebody else may start the next one before we see the lock free,
// and then its daemon.json, which only the holder of the lock writes, says so.
func (c *Client) WaitGone(ctx context.Context, pid int) error {
	if err := c.setup(); err != nil {
		return err
	}
	if _, err := os.Stat(c.Paths.Runtime); err != nil {
		return nil // never started
	}
	ctx, cancel := context.WithTimeoutCause(ctx, waitGone,
		fault.New(fault.DaemonUnavailable, "the daemon did not end within %s", waitGone))
	defer cancel()
	ctx, next := context.WithCancelCause(ctx)
	defer next(nil)
	if pid != 0 {
		go func() {
			look := time.NewTicker(lookForNext)
			defer look.Stop()
			for {
				if info, ok := c.Paths.Info(); ok && info.PID != pid {
					next(errNext)
					return
				}
				select {
				case <-look.C:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	lock, err := c.Paths.TakeLock(ctx)
	switch {
	case err == nil:
		err = lock.Remove()
	case errors.Is(context.Cause(ctx), errNext):
		err = nil
	}
	if err != nil || pid == 0 {
		return err
	}
	// It gives the lock back as the last thing that it does, and then ends.
	look := time.NewTicker(exitLook)
	defer look.Stop()
	for limit := time.After(exitWait); syscall.Kill(pid, 0) == nil; {
		select {
		case <-look.C:
		case <-limit:
			return nil
		}
	}
	return nil
}
