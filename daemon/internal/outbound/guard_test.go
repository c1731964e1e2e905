package outbound

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func guarded(t *testing.T, resolver Resolver, named ...string) *http.Client {
	t.Helper()
	base := &http.Transport{}
	g := NewGuard(base)
	g.network = New(Options{Resolver: resolver})
	for _, name := range named {
		g.Name(name)
	}
	t.Cleanup(g.CloseIdleConnections)
	return &http.Client{Transport: g}
}

func fetched(t *testing.T, c *http.Client, address string) (string, error) {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), nil
}

func TestWhatOthersNameIsNoNearerThanWhatTheUserNames(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inner") }))
	defer inner.Close()
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL, http.StatusTemporaryRedirect)
	}))
	defer outer.Close()

	c := guarded(t, fixed{}, inner.URL)
	if got, err := fetched(t, c, inner.URL); err != nil || got != "inner" {
		t.Errorf("what is named: %q, %v", got, err)
	}
	c = guarded(t, fixed{"api.example.com": {"93.184.216.34"}}, "https://api.example.com")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(inner.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "x.localhost", "[::1]", "0x7f.1", "2130706433", "0", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "169.254.169.254", "10.0.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]", "[fd00::1]", "100.64.0.1"} {
		for _, dot := range []string{"", "."} {
			if dot != "" && strings.HasSuffix(host, "]") {
				continue
			}
			if got, err := fetched(t, c, "http://"+host+dot+":"+port+"/"); err == nil || !errors.Is(err, ErrTooNear) {
				t.Errorf("%s%s: %q, %v", host, dot, got, err)
			}
		}
	}
	for _, address := range []string{"ftp://127.0.0.1/", "file:///etc/passwd"} {
		if _, err := fetched(t, c, address); err == nil {
			t.Errorf("%s was reached", address)
		}
	}
	// A redirect, from a server of the machine to another port of it, is no nearer.
	if got, err := fetched(t, guarded(t, fixed{}, outer.URL), outer.URL); err != nil || got != "inner" {
		t.Errorf("redirect to a neighbour: %q, %v", got, err)
	}
}

func TestAnAddressIsCheckedWhenItIsConnectedTo(t *testing.T) {
	g := NewGuard(&http.Transport{})
	defer g.CloseIdleConnections()
	for address, want := range map[string]bool{
		"127.0.0.1:80": false, "[::1]:80": false, "10.1.2.3:443": false, "169.254.169.254:80": false, "[fe80::1%eth0]:80": false, "93.184.216.34:443": true,
	} {
		if err := g.control(t.Context(), "tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	// Whatever is named, nobody is led to where machines ask about themselves.
	for _, near := range []Near{Internet, Local, Machine} {
		for _, address := range []string{"169.254.169.254", "168.63.129.16", "0.0.0.0", "::", "224.0.0.1", "fe80::1"} {
			if !tooNear(netip.MustParseAddr(address), near) {
				t.Errorf("%s may be reached beside something near %d", address, near)
			}
		}
	}
	if tooNear(netip.MustParseAddr("10.0.0.1"), Local) || !tooNear(netip.MustParseAddr("127.0.0.1"), Local) {
		t.Error("a document of a private network names private addresses, and none of this machine")
	}
}
