package outbound

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"

	"tenon/daemon/internal/fault"
)

// Near is how near a server stands. What a server points at may stand as near as
// the server itself, and no nearer: a server on the internet has no business with
// what is in the user's network.
type Near int

// How near a server may stand.
const (
	Internet Near = iota // at a public address
	Local                // in a private network, by all addresses of its name
	Machine              // on this machine, by a loopback address or a name of the machine's own
)

// Locate says how near the host of u stands. Errors: ToolFailure where the name
// cannot be resolved, InvalidToolInput where u is no http or https address.
func (n *Network) Locate(ctx context.Context, u *url.URL) (Near, error) {
	t, err := targetOf(u)
	if err != nil {
		return Internet, fault.New(fault.InvalidToolInput, "%w", err)
	}
	if t.local() || t.addr.IsLoopback() {
		return Machine, nil
	}
	addrs, err := n.resolve(ctx, t)
	if err != nil {
		return Internet, explain(ctx, t, err)
	}
	for _, a := range addrs {
		if classOf(a) != private {
			return Internet, nil
		}
	}
	return Local, nil
}

// MayReach refuses an address that a server which stands that near may not point
// at, as far as its text tells: plain http and loopback are for servers of this
// machine, private addresses for those in a private network. Addresses at which
// hosts ask about themselves are for nobody. What a name resolves to is checked
// when it is dialled. The error is PermissionDenied.
func MayReach(u *url.URL, near Near) error {
	_, _, err := beside(u, near)
	return err
}

// beside reads a URL and gives the list that admits just what may be reached
// for it.
func beside(u *url.URL, near Near) (target, *Allow, error) {
	refuse := func(t target, reason string) (target, *Allow, error) {
		return target{}, nil, fault.New(fault.PermissionDenied, "may not reach %s: %s", t.origin(), reason)
	}
	t, err := targetOf(u)
	if err != nil {
		return target{}, nil, fault.New(fault.PermissionDenied, "may not reach that address: %w", err)
	}
	own := t.local() || t.addr.IsLoopback()
	class := public
	if t.addr.IsValid() {
		class = classOf(t.addr)
	}
	switch {
	case own && near != Machine:
		return refuse(t, "it is this machine, and the server is not on it")
	case t.scheme == "http" && !own:
		return refuse(t, "it is not https")
	case class == link || class == nowhere:
		return refuse(t, "it is the address of no server")
	case class == private && near == Internet:
		return refuse(t, "it is an address of a private network, and the server is not in it")
	}
	allow := &Allow{patterns: []Pattern{{scheme: "https", port: "*", name: "*"}}}
	if near != Internet {
		allow.private, allow.elsewhere = true, near == Local
		p := Pattern{scheme: t.scheme, port: t.port, name: t.host}
		if t.addr.IsValid() {
			p.name, p.prefix = "", netip.PrefixFrom(t.addr, t.addr.BitLen())
		}
		allow.patterns = append(allow.patterns, p)
	}
	return t, allow, nil
}

// Beside is a transport for what a server that stands that near points at. Each
// request, a followed redirect too, is held against MayReach; names are resolved
// once, and only addresses that may be reached are dialled. Failures are
// *fault.Error: PermissionDenied for what may not be reached, ToolFailure of the
// network; their messages name no address but the URL's origin.
func (n *Network) Beside(near Near) http.RoundTripper { return &neighbour{n, near} }

type neighbour struct {
	n    *Network
	near Near
}

// RoundTrip makes one request.
func (b *neighbour) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	t, allow, err := beside(req.URL, b.near)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	// A connection for each request: one that was kept may have been closed by the
	// other side meanwhile, and what is sent here is not sent twice.
	own := b.n.newTransport(allow)
	own.DisableKeepAlives = true
	res, err := own.RoundTrip(req.WithContext(context.WithValue(ctx, targetKey{}, t)))
	if err == nil {
		return res, nil
	}
	if errors.Is(err, fault.New(fault.PermissionDenied, "")) {
		return nil, fault.New(fault.PermissionDenied, "may not reach %s: it is at an address of this machine or of a private network, and the server is not", t.origin())
	}
	if ctx.Err() != nil {
		return nil, fault.From(context.Cause(ctx))
	}
	return nil, fault.New(fault.ToolFailure, "%s: %s", t.origin(), reason(err)).Because(err)
}
