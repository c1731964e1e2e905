package peer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// Options configure a Resolver.
type Options struct {
	Sessions  *session.Manager
	Processes Processes
	// HoldsBridge reports whether a process holds a bridge; nil: Sessions.Holds.
	HoldsBridge func(pid int, start string) bool
	UID         int          // the daemon's own: nobody else is served
	Log         *slog.Logger // nil: discarded
}

const (
	// aboveFor is how long the look at a peer's ancestors is believed: a
	// connection may outlive the moment in which an ancestor opens a bridge.
	aboveFor = 2 * time.Second
	// maxAncestors bounds the walk up the process tree.
	maxAncestors = 128
	// maxEnv bounds the environment header, in bytes.
	maxEnv = 256 << 10
)

// markers are variables that mark an agent's shell or terminal.
var markers = []struct{ name, value string }{
	{"OPENCODE", "1"}, {"OPENCODE_PID", ""}, {"OPENCODE_TERMINAL", ""}, {"AGENT", "1"},
}

// Resolver makes callers. It is safe for concurrent use.
type Resolver struct{ o Options }

// New makes a resolver.
func New(o Options) *Resolver {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HoldsBridge == nil {
		o.HoldsBridge = o.Sessions.Holds
	}
	return &Resolver{o: o}
}

// FromHTTP decides who sent a request, from the connection (ConnContext) and
// the headers. Errors: Unauthorized for another user's process or a connection
// without credentials; UsageError for headers that cannot be read.
//
//   - a valid ticket: that session (a directory's ticket: a user);
//   - a ticket that is not valid, or the ticket of another session than the one
//     named: a stranger without a session;
//   - no ticket, and an agent above: a stranger without a session;
//   - else a user, in the session it names, if any.
//
// A request over TCP has no process behind it: without a ticket it is a
// stranger, whatever its bearer token, which the edge has checked.
func (r *Resolver) FromHTTP(req *http.Request) (*Caller, error) {
	c := &Caller{
		Dir:    given(req, proto.HeaderDir, "dir"),
		Config: given(req, proto.HeaderConfig, "config"),
	}
	state, _ := req.Context().Value(connKey{}).(*conn)
	if state == nil {
		return nil, fault.New(fault.InternalError, "the connection was not prepared for telling who calls")
	}
	if err := r.identify(c, state); err != nil {
		return nil, err
	}
	var err error
	if c.Env, err = state.environment(req.Header.Get(proto.HeaderEnv)); err != nil {
		return nil, err
	}
	return c, r.classify(c, state, req.Header.Get(proto.HeaderSession), req.Header.Get(proto.HeaderTicket))
}

func given(req *http.Request, header, query string) string {
	if v := req.Header.Get(header); v != "" {
		return v
	}
	if req.URL.RawQuery == "" {
		return ""
	}
	return req.URL.Query().Get(query)
}

// identify fills in who the kernel says it is.
func (r *Resolver) identify(c *Caller, state *conn) error {
	if errors.Is(state.err, local.ErrNoCreds) {
		return nil // TCP
	}
	if state.err != nil {
		return fault.New(fault.Unauthorized, "the system does not tell who is calling: %w", state.err)
	}
	c.PID, c.UID = state.creds.PID, state.creds.UID
	if c.UID != r.o.UID {
		return fault.New(fault.Unauthorized, "this daemon serves user %d only, and the caller is user %d", r.o.UID, c.UID).
			WithHint("each user has a daemon of their own")
	}
	return nil
}

// classify decides the class and the session.
func (r *Resolver) classify(c *Caller, state *conn, id, ticket string) error {
	c.Host = r.holdsBridge(state)
	if ticket != "" {
		return r.byTicket(c, id, ticket)
	}
	if above := r.above(state); above != "" {
		c.Class, c.Why = Stranger, above
		return nil
	}
	c.Class = User
	if id == "" {
		return nil
	}
	s, err := r.o.Sessions.Named(id, c.Dir, c.Env)
	c.Session = s
	return err
}

// byTicket believes a ticket, or makes its bearer a stranger.
func (r *Resolver) byTicket(c *Caller, id, ticket string) error {
	t, err := r.o.Sessions.Verify(ticket)
	if err != nil {
		c.Class, c.Why = Stranger, fault.From(err).Message
		return nil
	}
	if t.Kind == session.HostTicket {
		return r.byHost(c, id, t)
	}
	if id != "" && id != t.ID {
		c.Class, c.Why = Stranger, fmt.Sprintf("the ticket is not that of session %q", id)
		return nil
	}
	s, err := r.o.Sessions.FromTicket(t, c.Dir, c.Env)
	if err != nil {
		return err
	}
	c.Class, c.Session, c.Ticket = Agent, s, &t
	if t.Kind == session.DirectoryTicket {
		c.Class = User // a terminal is where the user sits
	}
	return nil
}

// byHost lets a host name a session that its own bridge has attached.
func (r *Resolver) byHost(c *Caller, id string, t session.Ticket) error {
	c.Class, c.Host, c.Ticket = Stranger, true, &t
	c.Why = "a host's ticket speaks only for the sessions that its bridge has attached"
	s, ok := r.o.Sessions.Get(id)
	if !ok {
		return nil
	}
	for _, b := range s.Bridges() {
		if b.ID() == t.ID {
			c.Class, c.Session, c.Why = Agent, s, ""
		}
	}
	return nil
}

// above says why the peer is inside an agent's shell, or "".
func (r *Resolver) above(state *conn) string {
	if state.err != nil {
		return "it calls over the network, without a ticket"
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	if !state.checked.IsZero() && time.Since(state.checked) < aboveFor {
		return state.above
	}
	state.above = r.look(state)
	state.checked = time.Now()
	return state.above
}

// look reads the peer's environment and walks up its ancestors. Called with
// state.mu held.
func (r *Resolver) look(state *conn) string {
	pid := state.creds.PID
	if !r.stillThere(state) {
		return "the calling process is gone, so that nothing can be told of it"
	}
	if env, err := r.o.Processes.Environ(pid); err == nil {
		for _, m := range markers {
			if v, set := env[m.name]; set && (m.value == "" || v == m.value) {
				return fmt.Sprintf("its environment has %s and no valid ticket", m.name)
			}
		}
	}
	for range maxAncestors {
		parent, err := r.o.Processes.Parent(pid)
		if err != nil || parent <= 1 {
			return ""
		}
		pid = parent
		start, err := r.o.Processes.StartTime(pid)
		if err == nil && r.o.HoldsBridge(pid, start) {
			return fmt.Sprintf("process %d above it holds a bridge, and it has no valid ticket", pid)
		}
	}
	return "it has too many ancestors to look at"
}

// holdsBridge reports whether the peer itself is a connected host.
func (r *Resolver) holdsBridge(state *conn) bool {
	if state.err != nil {
		return false
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.start == "" && !r.stillThere(state) {
		return false
	}
	return r.o.HoldsBridge(state.creds.PID, state.start)
}

// stillThere reports whether the peer's pid is still the process that
// connected, as far as it was ever seen. Called with state.mu held.
func (r *Resolver) stillThere(state *conn) bool {
	start, err := r.o.Processes.StartTime(state.creds.PID)
	if err != nil || state.start != "" && state.start != start {
		return false
	}
	state.start = start
	return true
}

// environment decodes the environment header; a connection mostly repeats it.
func (c *conn) environment(text string) (config.Env, error) {
	if text == "" {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if text == c.envText {
		return c.env, nil
	}
	if len(text) > maxEnv {
		return nil, fault.New(fault.UsageError, "header %s is larger than %d bytes", proto.HeaderEnv, maxEnv)
	}
	data, err := base64.RawURLEncoding.DecodeString(trimPadding(text))
	if err != nil {
		return nil, fault.New(fault.UsageError, "header %s is no base64url: %w", proto.HeaderEnv, err)
	}
	var env config.Env
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, fault.New(fault.UsageError, "header %s is no JSON object of strings: %w", proto.HeaderEnv, err)
	}
	c.envText, c.env = text, env
	return env, nil
}

func trimPadding(s string) string {
	for len(s) > 0 && s[len(s)-1] == '=' {
		s = s[:len(s)-1]
	}
	return s
}
