// Package api serves the daemon's HTTP interface: one route table, one place
// where failures become problem documents, and event streams. Work is done
// behind the small interfaces of Services; every request is tied to its Caller
// before anything else happens.
package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path"
	"sync"
	"time"

	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// Limits of requests, in bytes (docs/daemon.md prints them).
const (
	MaxBody     = 1 << 20  // of any request
	MaxWorkBody = 32 << 20 // of exec and call, which carry programs and inputs
	MaxHeader   = 1 << 20  // of all headers together; the environment travels there
)

// Callers decides who sent a request; *peer.Resolver does.
type Callers interface {
	FromHTTP(r *http.Request) (*peer.Caller, error)
}

// Servers answers for the configured servers of a caller's directory.
type Servers interface {
	List(ctx context.Context, c *peer.Caller) ([]proto.Server, error)
	// Get shows one with its tools; learn starts one that was never listed.
	Get(ctx context.Context, c *peer.Caller, name string, learn bool) (*proto.Server, error)
	Restart(ctx context.Context, c *peer.Caller, name string) (*proto.Server, error)
	Search(ctx context.Context, c *peer.Caller, q proto.Search) (*proto.SearchResult, error)
	Catalog(ctx context.Context, c *peer.Caller, q proto.CatalogQuery) (*proto.Catalog, error)
	Types(ctx context.Context, c *peer.Caller, q proto.TypesQuery) (*proto.Types, error)
	Resources(ctx context.Context, c *peer.Caller, q proto.OfferQuery) (*proto.Resources, error)
	Templates(ctx context.Context, c *peer.Caller, q proto.OfferQuery) (*proto.ResourceTemplates, error)
	Prompts(ctx context.Context, c *peer.Caller, q proto.OfferQuery) (*proto.Prompts, error)
}

// Sessions answers for live sessions.
type Sessions interface {
	List(ctx context.Context, c *peer.Caller) ([]proto.Session, error)
	// Create makes or joins the named session and gives its ticket.
	Create(ctx context.Context, c *peer.Caller, r proto.SessionCreate) (*proto.SessionTicket, error)
	End(ctx context.Context, c *peer.Caller, id string) error
}

// Leases answers for bindings and those who wait for one.
type Leases interface {
	List(ctx context.Context, c *peer.Caller) ([]proto.Lease, error)
	Release(ctx context.Context, c *peer.Caller, id string) error
}

// Run is one program being run.
type Run interface {
	// Frames replays the run's frames from the first on and ends with the run
	// or with ctx.
	Frames(ctx context.Context) <-chan proto.Frame
	// Wait returns the result when the run has ended.
	Wait() *proto.RunResult
}

// Runs starts programs and answers for present and past runs.
type Runs interface {
	// Exec starts a run that is cancelled when ctx ends.
	Exec(ctx context.Context, c *peer.Caller, r proto.ExecRequest) (Run, error)
	// Beside reports whether the program is to be executed beside its caller, who
	// can do that; ExecAttached starts it at the other end of d.
	Beside(c *peer.Caller, r proto.ExecRequest) (bool, error)
	ExecAttached(ctx context.Context, c *peer.Caller, r proto.ExecRequest, d *attached.Daemon) (attached.Run, error)
	// Call makes one call; asked, when not nil, hears of a question that it
	// waits for.
	Call(ctx context.Context, c *peer.Caller, r proto.CallRequest, asked func(proto.Frame)) (*proto.CallResult, error)
	// ReadResource and GetPrompt are calls as well.
	ReadResource(ctx context.Context, c *peer.Caller, r proto.ResourceRead, asked func(proto.Frame)) (*proto.CallResult, error)
	GetPrompt(ctx context.Context, c *peer.Caller, r proto.PromptGet, asked func(proto.Frame)) (*proto.CallResult, error)
	List(ctx context.Context, c *peer.Caller, q RunQuery) ([]proto.Run, error)
	Get(ctx context.Context, c *peer.Caller, id string) (*proto.Run, error)
	// Output gives a run's whole output, or one artifact of it; the reader is
	// closed by the API.
	Output(ctx context.Context, c *peer.Caller, id, artifact string) (Output, error)
	Cancel(ctx context.Context, c *peer.Caller, id, reason string) error
	// Stats counts what came of calls and runs; see history.Store.Stats.
	Stats(ctx context.Context, c *peer.Caller, by string, since time.Time) (*proto.RunStats, error)
}

// RunQuery selects runs.
type RunQuery struct {
	Session string
	Live    bool // only those that run now
	Status  string
	Since   time.Time // begun then or later
	Server  string    // that called it
	Tool    string    // that called a tool of that name
	Limit   int       // 0: the store's default
}

// Output is the bytes of a run.
type Output struct {
	Body     io.ReadCloser
	MimeType string
	Name     string // of an artifact
}

// Approvals answers for questions that wait for a human.
type Approvals interface {
	List(ctx context.Context, c *peer.Caller) ([]proto.Approval, error)
	Answer(ctx context.Context, c *peer.Caller, id string, r proto.ApprovalReply) error
	// Watch counts the caller as somebody who sees questions until stop.
	Watch(c *peer.Caller) (stop func())
	// Reply answers what a server asks in the middle of a call.
	Reply(ctx context.Context, c *peer.Caller, id string, a proto.Answer) error
}

// MCP is the daemon as an MCP server; *mcpserver.Server is one.
type MCP interface {
	// Serve answers one request, whose caller stands in its context. After an
	// error nothing was written.
	Serve(w http.ResponseWriter, r *http.Request) error
}

// Life is the daemon itself.
type Life interface {
	Health() proto.Health
	Status(ctx context.Context, c *peer.Caller) (*proto.Status, error)
	// Stop begins to end the daemon and returns what that will end; the daemon
	// goes after the answer.
	Stop(ctx context.Context, r proto.StopRequest) (*proto.StopResult, error)
	Trust(ctx context.Context, r proto.TrustRequest) (*proto.TrustResult, error)
	// Newer hears that a client of a later build of the same protocol called.
	Newer(s local.Stamp)
}

// Services are what the routes are made of. All are required, but for Bridge.
type Services struct {
	Callers   Callers
	Life      Life
	Servers   Servers
	Sessions  Sessions
	Leases    Leases
	Runs      Runs
	Approvals Approvals
	Presets   Presets
	Logins    Logins
	Scripts   Scripts
	Events    *Hub
	Bridge    http.Handler // GET /v1/bridge; nil: there is none
	MCP       MCP          // /mcp and /mcp/{server}; nil: there is none
	Metrics   http.Handler // GET /metrics
}

// Options configure a Server.
type Options struct {
	Services
	Gate *Gate        // closed when the daemon drains; nil: never
	Log  *slog.Logger // nil: discarded
	// PeerLimit is how long a body may take to arrive, and how long a peer may
	// read nothing of its answer; 0: DefaultPeerLimit.
	PeerLimit time.Duration
}

// Server is the HTTP side of the daemon. It is safe for concurrent use.
type Server struct {
	o        Options
	mux      *http.ServeMux
	contents func() document // of OpenAPI
}

// New makes the server of the unix socket; see Guard for TCP.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Gate == nil {
		o.Gate = NewGate()
	}
	if o.PeerLimit <= 0 {
		o.PeerLimit = DefaultPeerLimit
	}
	if o.Events == nil {
		o.Events = NewHub(0)
	}
	s := &Server{o: o, mux: http.NewServeMux()}
	s.contents = sync.OnceValue(func() document {
		d, err := describe(table)
		if err != nil {
			panic(err) // of what is compiled in: the tests describe every route
		}
		return d
	})
	for _, r := range table {
		s.mux.Handle(r.Method+" "+r.Path, s.handle(r))
	}
	s.mux.Handle("/", http.HandlerFunc(s.serveNothing))
	return s
}

// ServeHTTP serves the routes. A path with parts such as ".." leads nowhere: it is
// not redirected to another, since somebody took the part for a name or an id.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if at := r.URL.Path; at != "*" && at != path.Clean("/"+at) {
		s.serveNothing(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}
