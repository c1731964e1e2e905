// Package client speaks to the user's daemon over its HTTP interface, and
// brings the daemon up when it is not running. It has one method per route.
package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// DefaultStartWait bounds how long bringing a daemon up may take, the end of a
// predecessor included.
const DefaultStartWait = 45 * time.Second

// DefaultAnswerWait is when a daemon that does not answer counts as hanging.
const DefaultAnswerWait = 20 * time.Second

// Client talks to one daemon. Its zero value is valid: it finds the socket by
// the process's environment, starts a daemon when there is none, and speaks
// for nobody in particular. It is safe for concurrent use; do not change its
// fields after the first request.
type Client struct {
	// Socket is a path, or tcp://HOST:PORT; empty means that of Paths. A daemon
	// is only ever started for the socket of Paths.
	Socket string
	// Token is the bearer token that a TCP address needs.
	Token string
	// Paths are the user's places; zero means local.Resolve(os.Getenv).
	Paths local.Paths
	// Dial replaces the way to the socket (tests).
	Dial func(ctx context.Context) (net.Conn, error)
	// NoStart forbids starting a daemon.
	NoStart bool
	// Command starts a daemon; empty means this executable with "daemon run".
	// The options that pass the start lock and the ready pipe are appended.
	Command []string
	// Environ is the environment of a daemon that is started, KEY=value; nil
	// means this process's.
	Environ []string
	// StartWait bounds a start; 0 means DefaultStartWait.
	StartWait time.Duration
	// AnswerWait bounds the wait for an answer that takes a daemon no time; 0
	// means DefaultAnswerWait. Where it works, it is asked for a sign of life after
	// this long in silence.
	AnswerWait time.Duration
	// Identity says for whom and for where requests are made.
	Identity Identity
	// Notice hears things the user should know, such as a daemon of another
	// build; nil drops them.
	Notice func(message string)

	once     sync.Once
	setupErr error

	mu     sync.Mutex
	daemon local.Stamp // of the last response
}

// Identity names the session and place of requests. Empty fields are not sent.
type Identity struct {
	Session     string
	Ticket      string
	Dir         string
	Config      string
	Env         map[string]string
	Interactive bool // somebody at a terminal can answer a question
}

// Daemon is the build of the daemon that answered last; ok is false before
// the first answer.
func (c *Client) Daemon() (s local.Stamp, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.daemon, c.daemon.Version != ""
}

// setup resolves what the zero value left open.
func (c *Client) setup() error {
	c.once.Do(func() {
		if c.Paths.Runtime == "" && !strings.HasPrefix(c.Socket, "tcp://") {
			c.Paths, c.setupErr = local.Resolve(os.Getenv)
		}
		if c.Socket == "" {
			c.Socket = c.Paths.Socket
		}
	})
	return c.setupErr
}

// dialError is a failure to connect: nothing was sent.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx)
	}
	var d net.Dialer
	if addr, ok := strings.CutPrefix(c.Socket, "tcp://"); ok {
		return d.DialContext(ctx, "tcp", addr)
	}
	conn, err := d.DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return nil, err
	}
	if err := own(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// strangerError is a socket that another user serves.
type strangerError struct{ uid int }

func (e *strangerError) Error() string {
	return fmt.Sprintf("user %d serves it, and not user %d", e.uid, os.Getuid())
}

// own refuses a socket that another user serves, before a word is sent: whoever
// may write to a directory on its path could have put one there, and would read
// the ticket, the environment and the program.
func own(conn net.Conn) error {
	creds, err := local.PeerOf(conn)
	switch {
	case errors.Is(err, local.ErrNoCreds):
		return nil // the system does not tell
	case err != nil:
		return err
	case creds.UID != os.Getuid():
		return &strangerError{creds.UID}
	}
	return nil
}

// host is the authority of requests: the daemon checks it on TCP.
func (c *Client) host() string {
	if addr, ok := strings.CutPrefix(c.Socket, "tcp://"); ok {
		return addr
	}
	return "localhost"
}

// headers of every request.
func (c *Client) headers(h http.Header) {
	h.Set(proto.HeaderProtocol, strconv.Itoa(proto.Protocol))
	h.Set(proto.HeaderBuild, local.OwnStamp().String())
	h.Set("User-Agent", "tenon")
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	id := c.Identity
	set(proto.HeaderSession, id.Session)
	set(proto.HeaderTicket, id.Ticket)
	set(proto.HeaderDir, id.Dir)
	set(proto.HeaderConfig, id.Config)
	if len(id.Env) > 0 {
		if raw, err := json.Marshal(id.Env); err == nil {
			h.Set(proto.HeaderEnv, base64.RawURLEncoding.EncodeToString(raw))
		}
	}
	if id.Interactive {
		h.Set(proto.HeaderInteractive, "1")
	}
	if c.Token != "" {
		h.Set("Authorization", "Bearer "+c.Token)
	}
}

// unreachable turns a failed connection into what the user can do about it.
func (c *Client) unreachable(err error) error {
	e := fault.New(fault.DaemonUnavailable, "no daemon answers at %s", c.Socket).Because(err)
	var stranger *strangerError
	if errors.As(err, &stranger) {
		return fault.New(fault.DaemonUnavailable, "socket %s is not that of your daemon: %w", c.Socket, stranger).
			WithHint("use your own daemon: unset TENON_SOCKET, and point TENON_RUNTIME_DIR at a directory of your own")
	}
	if strings.HasPrefix(c.Socket, "tcp://") {
		return e.WithHint("check the address, and that listen.address is set in the daemon's configuration")
	}
	if c.Socket != c.Paths.Socket {
		return e.WithHint("only the daemon at %s is started by itself; unset TENON_SOCKET or --socket to use it", c.Paths.Socket)
	}
	if errors.Is(err, os.ErrPermission) {
		return fault.New(fault.DaemonUnavailable, "socket %s may not be opened: it belongs to another user", c.Socket).Because(err).
			WithHint("use your own daemon: unset TENON_SOCKET and TENON_RUNTIME_DIR")
	}
	return e.WithHint("start it: tenon daemon start")
}
