//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package mcpserver

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// hangUpGrace is how long a client that hung up may take to say why.
const hangUpGrace = 100 * time.Millisecond

// sessionKey is the field of _meta in which opencode names the calling session.
const sessionKey = "ai.opencode/sessionID"

// requestHeader carries the number of a request from the transport, which knows
// who sent it, through the SDK to its handler. What a client sends is replaced.
const requestHeader = "Tenon-Request"

// conn is one connection of a client.
type conn struct {
	s    *Server
	id   string
	mode mode
	sdk  *mcp.Server
	http http.Handler // of Streamable HTTP; nil for lines
	life context.Context
	kill context.CancelCauseFunc
	next atomic.Int64 // numbers requests

	log atomic.Bool    // the client wants log messages
	ear *call.Listener // what servers say beside their answers; nil in code mode

	mu       sync.Mutex
	requests map[string]*request     // by number
	byID     map[string]*request     // calls in work, by the JSON of their id
	answered chan struct{}           // closed when the last of them is; nil: nobody waits
	own      *held                   // the connection's own session
	named    map[string]*held        // sessions that are named by requests, but prove nothing
	roots    string                  // the client's directory
	asked    bool                    // roots were asked for
	shown    string                  // digest of the list that the client has
	lister   *peer.Caller            // who listed it
	watched  map[string]bool         // resources that it subscribed to
	offers   map[catalog.Kind]string // digests of the other lists that it has
	heard    []heard                 // what servers said and it was not told yet
	hearing  bool                    // it is being told
	telling  bool                    // it is being told of a change
	news     bool                    // there was another one meanwhile
	busy     int                     // HTTP requests under way
	quiet    time.Time               // since when busy is 0
	peer     process                 // who sent the newest HTTP request
	streamed bool                    // it has had a stream of notifications
}

// process is a client's process.
type process struct {
	pid   int
	start string
}

// held is a session that lives as long as the connection, and its grace.
type held struct {
	session *session.Session
	release func()
}

// request is one message of a client with what the transport knows of it.
type request struct {
	number string
	caller *peer.Caller
	http   *http.Request // whose connection is the client's
	gone   <-chan struct{}
	deaf   bool // the client reads nothing but the answer

	mu    sync.Mutex
	cause *fault.Error // why it was cancelled
}

// newConn makes a connection in a mode; it is not entered yet.
func (s *Server) newConn(m mode) *conn {
	c := &conn{s: s, id: rand.Text(), mode: m, requests: map[string]*request{}, byID: map[string]*request{},
		named: map[string]*held{}, watched: map[string]bool{}, offers: map[catalog.Kind]string{}, quiet: time.Now()}
	if !m.code() {
		c.ear = s.o.Path.Listen(c.hear)
	}
	c.life, c.kill = context.WithCancelCause(context.Background())
	c.sdk = mcp.NewServer(&mcp.Implementation{Name: "tenon", Title: "tenon", Version: s.o.Version}, &mcp.ServerOptions{
		Instructions: m.instructions(), Capabilities: m.capabilities(), Logger: s.sdkLog, SupportedProtocolVersions: versions(),
		GetSessionID:            func() string { return c.id },
		RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) { c.forgetRoots() },
		SubscribeHandler:        func(_ context.Context, r *mcp.SubscribeRequest) error { c.watch(r.Params.URI, true); return nil },
		UnsubscribeHandler:      func(_ context.Context, r *mcp.UnsubscribeRequest) error { c.watch(r.Params.URI, false); return nil },
	})
	c.sdk.AddReceivingMiddleware(c.receive)
	return c
}

// admit notes a message that came over the wire, and marks it for its handler;
// leave pairs with it. ids are those of the calls in it.
func (c *conn) admit(r *request, h http.Header, ids []string) (leave func()) {
	r.number = strconv.FormatInt(c.next.Add(1), 10)
	h.Set(requestHeader, r.number)
	c.mu.Lock()
	c.requests[r.number] = r
	for _, id := range ids {
		c.byID[id] = r
	}
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.requests, r.number)
		for _, id := range ids {
			if c.byID[id] == r {
				delete(c.byID, id)
			}
		}
		if c.answered != nil && len(c.byID) == 0 {
			close(c.answered)
			c.answered = nil
		}
	}
}

// settled is closed once every call that was admitted has its answer on the wire.
func (c *conn) settled() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered != nil {
		return c.answered
	}
	all := make(chan struct{})
	if len(c.byID) == 0 {
		close(all)
	} else {
		c.answered = all
	}
	return all
}

// of finds the request that a handler serves; nil when it is over.
func (c *conn) of(extra *mcp.RequestExtra) *request {
	if extra == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[extra.Header.Get(requestHeader)]
}

// cancelled notes why the client takes a call back. The SDK ends its context.
func (c *conn) cancelled(id, reason string) {
	c.mu.Lock()
	r := c.byID[id]
	c.mu.Unlock()
	if r == nil {
		return
	}
	text := "cancelled by the client"
	if reason != "" {
		text = reason
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cause = fault.New(fault.Cancelled, "%s", text)
}

func (r *request) why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause != nil {
		return r.cause
	}
	return fault.New(fault.Cancelled, "cancelled by the client")
}

// tie is the context of a call's work. It ends, with the true reason, when the
// client cancels the call or hangs up, or the connection ends. Messages sent
// with it reach the client on the stream of its call.
func (c *conn) tie(ctx context.Context, r *request) (context.Context, func()) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	client := context.AfterFunc(ctx, func() {
		if c.life.Err() != nil {
			cancel(context.Cause(c.life))
			return
		}
		cancel(r.why())
	})
	life := context.AfterFunc(c.life, func() { cancel(context.Cause(c.life)) })
	over := make(chan struct{})
	if r.gone != nil {
		go func() {
			select {
			case <-r.gone:
			case <-over:
				return
			}
			// Many clients hang up and say why at once, on another connection.
			late := time.NewTimer(hangUpGrace)
			defer late.Stop()
			select {
			case <-late.C:
				cancel(fault.New(fault.Cancelled, "the client hung up"))
			case <-over:
			}
		}()
	}
	return work, func() { close(over); client(); life(); cancel(nil) }
}

// speaker is the caller of one request, in its session: that of its ticket, else
// the one that its _meta names, else the connection's own.
func (c *conn) speaker(ctx context.Context, ss *mcp.ServerSession, r *request, meta map[string]any) *peer.Caller {
	caller := *r.caller
	caller.Surface, caller.Interactive = "mcp", false
	if caller.Session != nil {
		return &caller
	}
	dir := c.directory(ctx, ss, r)
	if dir == "" {
		dir = caller.Dir
	}
	if dir == "" {
		dir = c.s.o.Home
	}
	caller.Dir = dir
	id, _ := meta[sessionKey].(string)
	if id != "" {
		if claimed, ok := c.s.o.Callers.Claim(ctx, r.http, &caller, id); ok {
			return claimed
		}
	}
	caller.Session = c.session(ss, id, &caller)
	return &caller
}

// maxNamed bounds the sessions that requests of one connection may name.
const maxNamed = 256

// session is the connection's own, or the one that its requests call id.
func (c *conn) session(ss *mcp.ServerSession, id string, caller *peer.Caller) *session.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.own
	if id != "" {
		at = c.named[id]
		if at == nil && len(c.named) >= maxNamed {
			at = c.own
		}
	}
	if at != nil {
		select {
		case <-at.session.Ended(): // by hand: the next call begins anew
			at.release()
			at = nil
		default:
		}
	}
	title := ""
	if p := ss.InitializeParams(); p != nil && p.ClientInfo != nil {
		title = p.ClientInfo.Name
	}
	if id != "" {
		title += " " + id
	}
	if at == nil {
		made := c.s.o.Sessions.Ephemeral("mcp", caller.Dir, caller.Env)
		at = &held{made, c.s.o.Sessions.Ref(made.ID)}
		if id != "" && len(c.named) < maxNamed {
			c.named[id] = at
		} else {
			c.own = at
		}
	}
	c.s.o.Sessions.Move(at.session.ID, caller.Dir, title)
	if c.life.Err() != nil { // it ended meanwhile
		at.release()
	}
	return at.session
}

// directory is the first of the client's roots, which are asked for once and
// again after it says that they have changed.
func (c *conn) directory(ctx context.Context, ss *mcp.ServerSession, r *request) string {
	p := ss.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.RootsV2 == nil || r.deaf {
		return ""
	}
	c.mu.Lock()
	dir, asked := c.roots, c.asked
	c.mu.Unlock()
	if asked {
		return dir
	}
	ctx, cancel := context.WithTimeout(ctx, rootsWait)
	defer cancel()
	list, err := ss.ListRoots(ctx, nil)
	if err != nil {
		c.s.log.Debug("the client's roots are not known", "connection", c.id, "error", err)
		return dir
	}
	dir = ""
	for _, root := range list.Roots {
		if u, err := url.Parse(root.URI); err == nil && u.Scheme == "file" && filepath.IsAbs(u.Path) {
			dir = filepath.Clean(u.Path)
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roots, c.asked = dir, true
	return dir
}

func (c *conn) forgetRoots() {
	c.mu.Lock()
	c.asked = false
	c.mu.Unlock()
	c.s.Changed() // another directory may have other servers
}

// notice passes a message for the user on as a log message.
func (c *conn) notice(ctx context.Context, ss *mcp.ServerSession, n proto.Notice) error {
	level := mcp.LoggingLevel("info")
	if n.Level == "warning" || n.Level == "error" {
		level = mcp.LoggingLevel(n.Level)
	}
	return ss.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "tenon", Data: n.Message})
}

// end cancels all work of the connection and lets its sessions go.
func (c *conn) end(why *fault.Error) {
	c.kill(why)
	if c.ear != nil {
		c.ear.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own != nil {
		c.own.release()
	}
	for _, h := range c.named {
		h.release()
	}
}

// close ends the SDK's session, which waits for what is under way.
func (c *conn) close() {
	for ss := range c.sdk.Sessions() {
		if err := ss.Close(); err != nil {
			c.s.log.Debug("connection not closed cleanly", "connection", c.id, "error", err)
		}
	}
}
