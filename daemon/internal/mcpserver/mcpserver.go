// Package mcpserver is tenon as an MCP server, for any MCP client: the tools of
// code mode, every upstream tool flat, or one upstream server passed through.
// It speaks Streamable HTTP and, for the pump of tenon mcp, lines over an
// upgraded connection. All work is done by the rooms below: whoever calls takes
// the same path as a plugin or a shell.
package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/run"
	"tenon/daemon/internal/session"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// Limits of connections (docs/mcp.md prints them).
const (
	// PageSize is how many tools stand on one page of a list.
	PageSize = 100
	// MaxMessage bounds one message of a client, in bytes.
	MaxMessage = 32 << 20
	// MaxConnections bounds how many clients are connected at once.
	MaxConnections = 1024
	// DefaultIdle is how long an HTTP client may be silent, without a stream of
	// notifications, until its connection counts as over.
	DefaultIdle = 30 * time.Minute
	// streamGrace is how long an HTTP client may take to open its stream of
	// notifications again.
	streamGrace = 15 * time.Second
	// rootsWait bounds the question to a client for its directories.
	rootsWait = 2 * time.Second
	// lookEvery is how often silent HTTP clients are looked at.
	lookEvery = 2 * time.Second
)

// textLimits bound the text of one result: as much as a plugin gives.
var textLimits = proto.TextLimits{Bytes: 48 << 10, Lines: 1900}

// Callers decides who is on the other side; *peer.Resolver is one.
type Callers interface {
	FromHTTP(r *http.Request) (*peer.Caller, error)
	Claim(ctx context.Context, r *http.Request, c *peer.Caller, id string) (*peer.Caller, bool)
}

// Runs runs programs and makes calls; *run.Manager is one.
type Runs interface {
	Start(ctx context.Context, spec run.Spec) (*run.Run, error)
	Call(ctx context.Context, spec run.CallSpec) (*proto.CallResult, error)
}

// Path knows what can be called; *call.Path is one.
type Path interface {
	Tools(ctx context.Context, r call.Request) (*catalog.List, error)
	Seen(ctx context.Context, r call.Request) *catalog.List
	Search(ctx context.Context, r call.Request, q proto.Search) proto.SearchResult
	Catalog(ctx context.Context, r call.Request, q proto.CatalogQuery) (*proto.Catalog, error)
	Types(ctx context.Context, r call.Request, q proto.TypesQuery) (*proto.Types, error)

	Hello(ctx context.Context, r call.Request) (*catalog.Hello, error)
	Offered(ctx context.Context, r call.Request, kind catalog.Kind, fresh bool) (*catalog.OfferedList, error)
	OfferedSeen(ctx context.Context, r call.Request, kind catalog.Kind) *catalog.OfferedList
	OfferedAll(ctx context.Context, r call.Request, kind catalog.Kind) []call.OfferedBy
	Complete(ctx context.Context, r call.Request, params json.RawMessage) (json.RawMessage, error)
	Listen(hear func(server string, n upstream.Notice)) *call.Listener
	Subscribe(ctx context.Context, r call.Request, uri string, on bool) error
	SetLevel(ctx context.Context, r call.Request, level string) error
}

// Options configure a Server. All are required but those that say otherwise.
type Options struct {
	Callers  Callers
	Sessions *session.Manager
	Runs     Runs
	Path     Path
	// View is the configuration that a caller sees.
	View func(c *peer.Caller) (*config.View, error)
	// Status is what one session holds.
	Status func(ctx context.Context, c *peer.Caller) (*proto.SessionStatus, error)
	// Artifact gives the bytes of an artifact, and their type, to a caller who may
	// read the run that it is of; nil: there are none.
	Artifact func(ctx context.Context, c *peer.Caller, id string) (data []byte, mimeType string, err error)
	// Enter announces work to a daemon that may be about to end; nil: always in.
	Enter func() (leave func(), err error)
	// Home is the directory of a caller that names none.
	Home string
	// StartTime tells whether a client's process is still the same; nil: not asked.
	StartTime func(pid int) (string, error)
	Idle      time.Duration // 0: DefaultIdle
	Version   string        // told to clients
	Log       *slog.Logger  // nil: discarded
}

// Server answers /mcp and /mcp/{server}. It is safe for concurrent use.
type Server struct {
	o      Options
	log    *slog.Logger
	sdkLog *slog.Logger
	stop   chan struct{}
	work   sync.WaitGroup // the janitor, and one for each thing that outlives its caller
	wake   chan struct{}  // something that clients list has changed

	mu     sync.Mutex
	conns  map[string]*conn // guarded by mu; by id
	closed bool             // guarded by mu
}

// Connections counts the clients that are connected.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// New makes a server; pair with Close.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Enter == nil {
		o.Enter = func() (func(), error) { return func() {}, nil }
	}
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	s := &Server{o: o, log: o.Log, sdkLog: slog.New(quiet{o.Log.Handler()}), stop: make(chan struct{}), wake: make(chan struct{}, 1), conns: map[string]*conn{}}
	s.work.Add(1)
	go s.tend()
	return s
}

// Changed tells that tools or configuration have changed: clients whose list is
// another one now are told. It never blocks.
func (s *Server) Changed() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// settle is how long changes are gathered before clients are told.
const settle = 50 * time.Millisecond

// tend tells clients of changes and ends the connections of those that are gone.
func (s *Server) tend() {
	defer s.work.Done()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	later := time.NewTimer(settle)
	later.Stop()
	defer later.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
			later.Reset(settle)
		case <-later.C:
			for _, c := range s.all() {
				c.announceSoon()
			}
		case <-look.C:
			for _, c := range s.all() {
				if why := c.over(); why != nil {
					s.finish(c, why)
				}
			}
		}
	}
}

func (s *Server) all() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		out = append(out, c)
	}
	return out
}

// add enters a connection; finish pairs with it.
func (s *Server) add(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.New(fault.DaemonUnavailable, "the daemon is stopping").WithHint("connect again")
	}
	if len(s.conns) >= MaxConnections {
		return fault.New(fault.ServerUnavailable, "%d MCP clients are connected, no more are served", MaxConnections).
			WithHint("end clients that are not used, or let them share a connection")
	}
	s.conns[c.id] = c
	return nil
}

func (s *Server) get(id string) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[id]
}

// outlive does something beside its caller, which Close waits for. False: nothing
// begins any more.
func (s *Server) outlive(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(f)
	return true
}

// finish ends a connection: its work at once, its sessions after their grace.
func (s *Server) finish(c *conn, why *fault.Error) {
	s.mu.Lock()
	_, there := s.conns[c.id]
	delete(s.conns, c.id)
	if there {
		s.work.Add(1)
	}
	s.mu.Unlock()
	if !there {
		return
	}
	c.end(why)
	go func() { // it waits for what was under way, which has been told to end
		defer s.work.Done()
		c.close()
	}()
}

// answerGrace is how long calls that were told to end may take to say so.
const answerGrace = 2 * time.Second

// Close ends every connection and returns when all have ended, or with ctx. What
// is done already is answered: its client would repeat it otherwise.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if !already {
		close(s.stop)
	}
	why := fault.New(fault.Cancelled, "the daemon is stopping")
	all := s.all()
	for _, c := range all {
		c.kill(why)
	}
	late := time.NewTimer(answerGrace)
	defer late.Stop()
	for _, c := range all {
		select {
		case <-c.settled():
			continue
		case <-late.C:
		case <-ctx.Done():
		}
		break
	}
	for _, c := range all {
		s.finish(c, why)
	}
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// versions are those of the protocol that are spoken. The newest of the SDK's
// knows no connections: questions come as results of calls there, which the
// daemon does not do yet. Its clients fall back to what is listed here.
func versions() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v > "2025-11-25" })
}

// quiet makes what the SDK says a matter for debugging: each coming and going
// is news to it.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }
func (q quiet) WithGroup(name string) slog.Handler   { return quiet{q.Handler.WithGroup(name)} }

// raw is a result that goes to the client byte for byte.
type raw struct {
	resultBase
	json json.RawMessage
}

func (r *raw) MarshalJSON() ([]byte, error) { return r.json, nil }
