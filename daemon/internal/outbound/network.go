package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
)

// Bounds of connections.
const (
	dialTimeout   = 10 * time.Second // to one address, and for the handshake of TLS
	maxAddresses  = 8                // of one name that are tried
	idleTime      = 30 * time.Second // how long a connection is kept for the next request
	maxIdle       = 32               // of one list of hosts
	maxHeader     = 64 << 10         // bytes of a response's header
	maxTransports = 16               // lists of hosts whose connections are kept
)

// Resolver turns a name into addresses; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options of a Network. The zero value is what a daemon uses.
type Options struct {
	Resolver Resolver       // nil: the system's
	Roots    *x509.CertPool // who may sign certificates; nil: whom the system trusts
}

// Network holds the connections of all programs. It is safe for concurrent use.
type Network struct {
	o       Options
	connect func(ctx context.Context, network, address string) (net.Conn, error)

	mu         sync.Mutex
	transports map[string]*http.Transport // by what may be reached: a connection is used by nobody who could not have made it
	closed     bool
}

// New makes a network; nothing is opened before the first request.
func New(o Options) *Network {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	d := net.Dialer{Timeout: dialTimeout}
	return &Network{o: o, connect: d.DialContext, transports: map[string]*http.Transport{}}
}

// Close closes the connections that no request uses, and from then on keeps none.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, t := range n.transports {
		t.CloseIdleConnections()
	}
	clear(n.transports)
}

// transport is the one for what a allows.
func (n *Network) transport(a *Allow) *http.Transport {
	key := a.String()
	n.mu.Lock()
	defer n.mu.Unlock()
	if t := n.transports[key]; t != nil {
		return t
	}
	t := n.newTransport(a)
	t.DisableKeepAlives = n.closed
	if n.closed {
		return t
	}
	if len(n.transports) >= maxTransports {
		for old, t := range n.transports { // any: lists change seldom
			t.CloseIdleConnections()
			delete(n.transports, old)
			break
		}
	}
	n.transports[key] = t
	return t
}

// newTransport dials nothing but addresses that a admits. It has no proxy: the
// proxy would resolve the names again, and could reach what the list forbids.
func (n *Network) newTransport(a *Allow) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			t, ok := ctx.Value(targetKey{}).(target)
			if !ok {
				return nil, errors.New("a connection without a target")
			}
			return n.dial(ctx, a, t)
		},
		TLSClientConfig:        &tls.Config{RootCAs: n.o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxIdle,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// targetKey leads to the target of a request in its context. Requests that share
// a connection have the same.
type targetKey struct{}

// dial resolves the name once, checks what it resolves to, and connects to just
// these addresses, so that a second answer of the name's server has no say.
func (n *Network) dial(ctx context.Context, a *Allow, t target) (net.Conn, error) {
	addrs, err := n.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	var last error
	tried := 0
	for _, addr := range addrs {
		if addr = addr.Unmap(); !a.may(t, addr) || tried == maxAddresses {
			continue
		}
		tried++
		conn, err := n.connect(ctx, "tcp", net.JoinHostPort(addr.String(), t.port))
		if err == nil {
			return conn, nil
		}
		if last = err; ctx.Err() != nil {
			break
		}
	}
	if tried == 0 {
		return nil, a.refused(t)
	}
	return nil, last
}

// resolve gives the addresses of t.
func (n *Network) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
	switch {
	case t.addr.IsValid():
		return []netip.Addr{t.addr}, nil
	case t.local():
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	addrs, err := n.o.Resolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: t.host, IsNotFound: true}
	}
	return addrs, nil
}

// explain is a failure of the network in words that are safe to show: no address
// and nothing of the URL but its origin.
func explain(ctx context.Context, t target, err error) *fault.Error {
	var own *fault.Error
	if errors.As(err, &own) {
		return own
	}
	if ctx.Err() != nil {
		return fault.From(context.Cause(ctx))
	}
	return fault.New(fault.ToolFailure, "fetch %s: %s", t.origin(), reason(err)).Because(err)
}

// reason says in a few words why a request failed.
func reason(err error) string {
	reason := "the connection failed"
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		reason = "there is no such host"
	case errors.As(err, &dns):
		reason = "the name cannot be resolved now"
	case errors.As(err, &cert):
		reason = "the certificate is not valid: " + clip(cert.Err.Error(), 200)
	case errors.As(err, &timeout) && timeout.Timeout():
		reason = "it does not answer in time"
	case errors.As(err, &op) && op.Op == "dial":
		reason = "no connection can be made"
		if op.Err != nil {
			reason += ": " + sysError(op.Err)
		}
	case errors.Is(err, net.ErrClosed), errors.As(err, &op):
		reason = "the connection was lost"
	}
	return reason
}

// sysError is the system's own word for an error of a connection.
func sysError(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
