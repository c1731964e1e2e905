// Package bridge is the plugins' socket: JSON-RPC 2.0 over WebSocket, one
// connection for each directory that a host has open. It keeps the table of
// what is pending in both directions, and takes back what nobody waits for.
package bridge

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

// Limits of one connection. They are facts about the wire, not settings:
// docs/opencode.md prints them.
const (
	MaxFrame     = 8 << 20          // bytes of one message, both directions
	MaxRequests  = 256              // requests of one plugin in work at a time
	queueLength  = 512              // messages waiting to be written
	helloTimeout = 5 * time.Second  // from connecting to bridge/hello
	stallTimeout = 5 * time.Second  // a queue that stays full for so long closes the connection
	writeTimeout = 10 * time.Second // one message
	shownTimeout = 2 * time.Second  // until a question must be before the user (design.md §5)
)

// Peers decides who is on the other side; *peer.Resolver is one.
type Peers interface {
	FromHTTP(r *http.Request) (*peer.Caller, error)
}

// RunRequest is run/start with what the daemon knows about its sender.
type RunRequest struct {
	Caller  *peer.Caller // class session, Session set
	Bridge  session.Bridge
	Start   proto.RunStart
	OnFrame func(proto.Frame) // never blocks; nil when the plugin wants no events
}

// CallRequest is call/start with what the daemon knows about its sender.
type CallRequest struct {
	Caller *peer.Caller // class session, Session set
	Bridge session.Bridge
	Start  proto.CallStart
}

// Work is what the rooms above do for a plugin. The end of a context carries
// its reason as context.Cause: the text of the plugin's $/cancelRequest, or
// that the bridge was lost. Errors are read with fault.From.
type Work interface {
	Run(ctx context.Context, r RunRequest) (*proto.RunDone, error)
	CancelRun(ctx context.Context, caller *peer.Caller, run, reason string) error
	Call(ctx context.Context, r CallRequest) (*proto.CallResult, error)
	Status(ctx context.Context, caller *peer.Caller) (*proto.SessionStatus, error)
	Search(ctx context.Context, caller *peer.Caller, q proto.Search) (*proto.SearchResult, error)
	Catalog(ctx context.Context, caller *peer.Caller, q proto.CatalogQuery) (*proto.Catalog, error)
	Types(ctx context.Context, caller *peer.Caller, q proto.TypesQuery) (*proto.Types, error)
	// Outcome records what one of the host's own tools came to; it must not block.
	Outcome(caller *peer.Caller, o proto.ToolOutcome)
	// Wants lists the environment variables that the view of a directory names.
	Wants(dir, config string) []string
}

// Options configure a Server.
type Options struct {
	Sessions *session.Manager
	Peers    Peers
	Work     Work
	Build    proto.Build
	PID      int          // of the daemon
	Socket   string       // told to plugins, which tell it to their shells
	Log      *slog.Logger // nil: discarded
}

// Server answers GET /v1/bridge. It is safe for concurrent use.
type Server struct {
	o Options

	mu     sync.Mutex
	conns  map[*conn]struct{} // guarded by mu
	closed bool               // guarded by mu
	served sync.WaitGroup     // one for each connection in serve, and for each that is being closed
}

// New makes a server.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{o: o, conns: map[*conn]struct{}{}}
}

// ServeHTTP upgrades the request and serves the connection until it ends.
// Refusals before the upgrade are problem documents: a browser (Origin header),
// a caller that may not hold a bridge.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" {
		problem(w, fault.New(fault.PermissionDenied, "a web page cannot open a bridge"))
		return
	}
	caller, err := s.o.Peers.FromHTTP(r)
	if err == nil && !isHost(caller.PID) {
		err = caller.May(peer.Hello)
	}
	if err != nil {
		problem(w, fault.From(err))
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		s.o.Log.Debug("bridge: upgrade refused", "error", err)
		return // Accept has answered
	}
	ws.SetReadLimit(MaxFrame)
	c := newConn(r.Context(), s, ws, caller)
	if !s.add(c) { // pairs with remove
		c.end(nil)
		ws.Close(websocket.StatusGoingAway, "the daemon is stopping")
		return
	}
	defer s.remove(c)
	c.serve()
}

// Bridges lists the connections that have said hello, oldest first.
func (s *Server) Bridges() []proto.Bridge {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []proto.Bridge
	for c := range s.conns {
		if h := c.greeted.Load(); h != nil {
			out = append(out, proto.Bridge{
				Connection: c.id, Plugin: h.Plugin, Build: h.Build, Host: h.Host, PID: c.PID(), Directory: h.Directory,
			})
		}
	}
	slices.SortFunc(out, func(a, b proto.Bridge) int { return compareIDs(a.Connection, b.Connection) })
	return out
}

// CatalogChanged tells every plugin that a list of tools has changed. It never
// blocks: one whose queue is full misses it, and asks again at its next turn.
func (s *Server) CatalogChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.catalogChanged()
	}
}

// Close ends every connection, saying why, and returns when their handlers have
// ended or ctx has. New connections are refused.
func (s *Server) Close(ctx context.Context, reason string) error {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		s.served.Add(1)
		go func() {
			defer s.served.Done()
			c.close(websocket.StatusGoingAway, reason)
		}()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.served.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[c] = struct{}{}
	s.served.Add(1)
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.served.Done()
}

func problem(w http.ResponseWriter, e *fault.Error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(e.Kind.HTTPStatus())
	if raw, err := proto.Marshal(e.Problem()); err == nil { // strings and numbers always marshal
		_, _ = w.Write(append(raw, '\n')) // the peer may be gone
	}
}
