package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
)

// ErrTooNear is the cause of a request that a Guard has refused.
var ErrTooNear = errors.New("it is an address of this machine or of a private network, which only the configuration may name")

// Guard is a transport for requests whose addresses others may have chosen: a
// document that was fetched, the redirect of an answer. Origins that the user has
// named are reached wherever they are. All others may stand as near as the
// nearest of those and no nearer, whatever their names resolve to at that moment;
// at the addresses by which machines ask about themselves never. It is safe for
// concurrent use.
type Guard struct {
	network *Network        // finds out how near the named ones are
	free    *http.Transport // to what is named
	held    *http.Transport // checks each address before it connects
	relay   *http.Transport // through a proxy, which resolves names by itself

	mu    sync.Mutex
	named map[string]*url.URL // guarded by mu; by origin
	near  map[string]Near     // guarded by mu; of those that have been located
}

// NewGuard makes a guard. Base says how connections are made; its dialling is not
// used for what is not named.
func NewGuard(base *http.Transport) *Guard {
	g := &Guard{
		network: New(Options{}), free: base.Clone(), held: base.Clone(), relay: base.Clone(),
		named: map[string]*url.URL{}, near: map[string]Near{},
	}
	d := net.Dialer{Timeout: dialTimeout, ControlContext: g.control}
	g.held.Proxy, g.held.DialContext, g.held.DialTLSContext = nil, d.DialContext, nil
	return g
}

// Name lets requests go to the origin of a URL. What is no URL of http or https
// names nothing.
func (g *Guard) Name(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	u.User = nil
	t, err := targetOf(u)
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.named[t.origin()] = u
}

func (g *Guard) names(t target) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.named[t.origin()] != nil
}

// nearest is how near the nearest of the named origins stands. One that cannot be
// located now counts as one of the internet.
func (g *Guard) nearest(ctx context.Context) Near {
	g.mu.Lock()
	open := map[string]*url.URL{}
	nearest := Internet
	for origin, u := range g.named {
		if near, known := g.near[origin]; known {
			nearest = max(nearest, near)
		} else {
			open[origin] = u
		}
	}
	g.mu.Unlock()
	for origin, u := range open {
		near, err := g.network.Locate(ctx, u)
		if err != nil {
			continue
		}
		nearest = max(nearest, near)
		g.mu.Lock()
		g.near[origin] = near
		g.mu.Unlock()
	}
	return nearest
}

// tooNear is whether an address stands nearer than near.
func tooNear(addr netip.Addr, near Near) bool {
	switch classOf(addr) {
	case public:
		return false
	case private:
		return near == Internet || inner(addr).IsLoopback() && near != Machine
	default:
		return true
	}
}

// control looks at the address that is about to be connected to: nothing resolves
// it again.
func (g *Guard) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q cannot be read: %w", address, err)
	}
	if tooNear(at.Addr(), g.nearest(ctx)) {
		return ErrTooNear
	}
	return nil
}

// RoundTrip makes one request; ErrTooNear is in the error of one that is refused.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	plain := *r.URL
	plain.User = nil
	t, err := targetOf(&plain)
	switch {
	case err != nil:
		return nil, refuse(r, err)
	case g.names(t):
		return g.free.RoundTrip(r)
	case t.local() && g.nearest(r.Context()) != Machine, t.addr.IsValid() && tooNear(t.addr, g.nearest(r.Context())):
		return nil, refuse(r, fmt.Errorf("%s: %w", t.origin(), ErrTooNear))
	}
	if g.relay.Proxy != nil && !t.addr.IsValid() && !t.inside() {
		if proxy, err := g.relay.Proxy(r); err == nil && proxy != nil {
			return g.relay.RoundTrip(r)
		}
	}
	answer, err := g.held.RoundTrip(r)
	if errors.Is(err, ErrTooNear) {
		return nil, fmt.Errorf("%s: %w", t.origin(), ErrTooNear)
	}
	return answer, err
}

// inside is whether a name is one that only a network around the machine knows: a
// proxy within it would know it too.
func (t target) inside() bool {
	return t.local() || !strings.Contains(t.host, ".") || strings.HasSuffix(t.host, ".internal") ||
		strings.HasSuffix(t.host, ".local") || strings.HasSuffix(t.host, ".home.arpa")
}

// refuse ends a request that is not made: a transport has to close its body.
func refuse(r *http.Request, err error) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return err
}

// CloseIdleConnections ends the connections that no request uses.
func (g *Guard) CloseIdleConnections() {
	for _, t := range []*http.Transport{g.free, g.held, g.relay} {
		t.CloseIdleConnections()
	}
	g.network.Close()
}
