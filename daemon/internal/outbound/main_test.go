package outbound

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names is a resolver with a list of answers for each name, given in turn; the
// last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	list := n.answers[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		n.answers[host] = list[1:]
	}
	var out []netip.Addr
	for _, a := range list[0] {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// rig is a network whose names are the test's and whose connections all lead to
// servers of the test, by their ports.
type rig struct {
	*Network
	t     *testing.T
	names *names
	mu    sync.Mutex
	dials []string // addresses that were dialled
}

func newRig(t *testing.T, answers map[string][][]string) *rig {
	t.Helper()
	r := &rig{t: t, names: &names{answers: answers}}
	r.Network = New(Options{Resolver: r.names})
	r.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		r.mu.Lock()
		r.dials = append(r.dials, address)
		r.mu.Unlock()
		_, port, _ := net.SplitHostPort(address)
		var d net.Dialer
		return d.DialContext(ctx, network, "127.0.0.1:"+port)
	}
	t.Cleanup(r.Close)
	return r
}

func (r *rig) dialled() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.dials)
}

func (r *rig) get(allow *Allow, url string) (*Response, *fault.Error) {
	res, err := r.Do(r.t.Context(), Request{URL: url}, Terms{Allow: allow})
	return res, fault.From(err)
}

func allow(t testing.TB, patterns ...string) *Allow {
	t.Helper()
	a, err := ParseAllow(patterns, false)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// server is an HTTP server and its port.
func server(t *testing.T, h http.HandlerFunc) (port string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}
