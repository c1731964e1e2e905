// Package auth logs in to remote MCP servers with OAuth 2.1, as the MCP
// authorization specification has it, and owns the tokens: it finds the
// authorization server, registers, sends the user to a page, keeps what comes of
// it, and refreshes it once for all sessions and processes.
//
// Everything that a server says about where to log in is held to the rule of
// [outbound.MayReach]: it may stand as near as the server and no nearer.
package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/outbound"
)

const (
	// refreshWithin bounds one refresh, the wait for other processes included. It
	// goes on when its callers have gone, since the answer may hold the only copy
	// of the next refresh token.
	refreshWithin = 30 * time.Second
	// early is how long before its end a token is replaced; of tokens that live
	// shortly, a quarter of their life at most.
	early = 30 * time.Second
	// again is how long a refresh that failed for want of an answer is not tried
	// anew: every call would wait for the same.
	again = 2 * time.Second

	maxSources = 512 // beyond that all are forgotten, which costs reading their files
)

// Target is a server as its entry has it, expanded.
type Target struct {
	Server string            // its name, for messages
	URL    string            // absolute, http or https
	Header map[string]string // sent with the request that asks whether a login is wanted

	ClientID     string // of a client that the user has registered; empty: tenon registers itself
	ClientSecret string
	// Document is the https address of a client id metadata document, which is
	// the client's id at authorization servers that read such documents.
	Document string
	Scope    string // asked for in place of what the server names; words with blanks between
	// Redirect is the loopback address that a registered client must be sent
	// back to; empty: http://127.0.0.1:PORT/callback with any port.
	Redirect string
	// Metadata is the address of the authorization server's metadata, for
	// servers that do not tell it.
	Metadata string
}

// id names the login: one for each server and address.
func (t Target) id() string {
	sum := sha256.Sum256([]byte(t.Server + "\n" + t.URL))
	return hex.EncodeToString(sum[:12])
}

// resource is the canonical identifier of the server (RFC 8707): its address
// without a fragment, a query or a user.
func (t Target) resource() string {
	u, err := url.Parse(t.URL)
	if err != nil { // the configuration has read it
		return t.URL
	}
	own := url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	if own.Path == "/" {
		own.Path = ""
	}
	return own.String()
}

// Options of a Keeper.
type Options struct {
	Dir     string            // where tokens are kept; made when the first is (0700)
	Network *outbound.Network // that requests go out on
	// Secrets hears of the values that must not be shown of one login; they take
	// the place of those told before under the same name. May be nil.
	Secrets func(login string, values ...string)
	Log     *slog.Logger
}

// Keeper keeps the logins of one daemon. It is safe for concurrent use; others
// of other processes may use the same directory.
type Keeper struct {
	o    Options
	work sync.WaitGroup // refreshes

	mu      sync.Mutex
	sources map[string]*Source
	closed  bool
}

// New makes a keeper; nothing is read before the first use.
func New(o Options) *Keeper {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Secrets == nil {
		o.Secrets = func(string, ...string) {}
	}
	return &Keeper{o: o, sources: map[string]*Source{}}
}

// Close waits for refreshes under way, at most refreshWithin (30 s): what they
// bring has to reach the disk. None begins afterwards.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.work.Wait()
}

// Source is the login of a server, which exists before anybody has logged in.
func (k *Keeper) Source(t Target) *Source {
	id, err := json.Marshal(t)
	if err != nil { // plain data
		panic("auth: " + err.Error())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.sources[string(id)]; s != nil {
		return s
	}
	if len(k.sources) >= maxSources {
		clear(k.sources)
	}
	s := &Source{k: k, target: t, file: file{path: filepath.Join(k.o.Dir, t.id()+".json")}}
	k.sources[string(id)] = s
	return s
}

// begin runs f beside its caller; false once the keeper is closed.
func (k *Keeper) begin(f func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.work.Go(f)
	return true
}

// unauthorized is a failure that only a login mends.
func (t Target) unauthorized(format string, args ...any) *fault.Error {
	return fault.New(fault.Unauthorized, format, args...).At(t.Server, "").
		WithHint("the user logs in with: tenon auth %s", t.Server)
}

// unavailable is a failure that may pass by itself.
func (t Target) unavailable(format string, args ...any) *fault.Error {
	return fault.New(fault.ServerUnavailable, format, args...).At(t.Server, "")
}
