package outbound

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// fixed is a resolver with a fixed answer for each name.
type fixed map[string][]string

func (n fixed) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, a := range n[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func TestWhatAServerPointsAtIsNoNearerThanTheServer(t *testing.T) {
	for _, tc := range []struct {
		near Near
		url  string
		ok   bool
	}{
		{Internet, "https://login.example.com/x", true},
		{Internet, "https://login.example.com:8443/x", true},
		{Internet, "http://login.example.com/x", false},
		{Internet, "https://127.0.0.1/x", false},
		{Internet, "https://[::1]/x", false},
		{Internet, "https://localhost/x", false},
		{Internet, "https://0x7f.1/x", false},
		{Internet, "https://[::ffff:10.0.0.1]/x", false},
		{Internet, "https://10.0.0.1/x", false},
		{Internet, "https://169.254.169.254/latest", false},
		{Internet, "http://169.254.169.254/latest", false},
		{Internet, "ftp://login.example.com/x", false},
		{Internet, "javascript:alert(1)", false},
		{Internet, "file:///etc/passwd", false},
		{Internet, "https://user:secret@login.example.com/", false},
		{Local, "https://10.0.0.1/x", true},
		{Local, "http://10.0.0.1/x", false},
		{Local, "https://127.0.0.1/x", false},
		{Local, "https://localhost/x", false},
		{Local, "https://169.254.169.254/x", false},
		{Machine, "http://127.0.0.1:9/x", true},
		{Machine, "http://localhost:9/x", true},
		{Machine, "https://login.example.com/x", true},
		{Machine, "http://login.example.com/x", false},
		{Machine, "http://169.254.169.254/x", false},
		{Machine, "https://169.254.169.254/x", false},
	} {
		u, err := url.Parse(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		err = MayReach(u, tc.near)
		if (err == nil) != tc.ok {
			t.Errorf("near %d, %s: %v, want reachable %v", tc.near, tc.url, err, tc.ok)
		}
		if err != nil && fault.KindOf(err) != fault.PermissionDenied {
			t.Errorf("%s: kind %s", tc.url, fault.KindOf(err))
		}
	}
}

func TestWhereAServerStands(t *testing.T) {
	n := New(Options{Resolver: fixed{
		"mcp.example.com": {"93.184.216.34"}, "intranet.example.com": {"10.1.2.3"},
		"mixed.example.com": {"10.1.2.3", "93.184.216.34"}, "metadata.example.com": {"169.254.169.254"},
	}})
	defer n.Close()
	for text, want := range map[string]Near{
		"https://mcp.example.com": Internet, "https://intranet.example.com": Local, "https://mixed.example.com": Internet,
		"https://metadata.example.com": Internet, "http://127.0.0.1:8080": Machine, "http://localhost": Machine, "http://[::1]:1": Machine,
		"https://192.168.1.2": Local, "https://8.8.8.8": Internet,
	} {
		u, _ := url.Parse(text)
		if got, err := n.Locate(t.Context(), u); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestANameThatResolvesToAForbiddenAddressIsNotDialled(t *testing.T) {
	reached := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer srv.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	n := New(Options{Resolver: fixed{"evil.example.com": {"127.0.0.1"}, "meta.example.com": {"169.254.169.254"}, "in.example.com": {"10.0.0.1"}}})
	defer n.Close()
	for _, near := range []Near{Internet, Local} {
		for _, host := range []string{"evil.example.com", "meta.example.com", "in.example.com"} {
			if near == Local && host == "in.example.com" {
				continue
			}
			c := http.Client{Transport: n.Beside(near)}
			res, err := c.Get("https://" + host + ":" + port + "/")
			if err == nil {
				_ = res.Body.Close()
				t.Fatalf("near %d: %s was reached", near, host)
			}
			if fault.KindOf(err) != fault.PermissionDenied || strings.Contains(fault.From(err).Message, "net.allow") {
				t.Errorf("near %d, %s: %v", near, host, err)
			}
		}
	}
	if reached {
		t.Fatal("a connection was made")
	}
}

func TestARedirectIsHeldToTheSameRule(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	}))
	defer srv.Close()
	n := New(Options{})
	defer n.Close()
	c := http.Client{Transport: n.Beside(Machine)}
	res, err := c.Get(srv.URL)
	if err == nil {
		_ = res.Body.Close()
		t.Fatal("the redirect was followed")
	}
	if fault.KindOf(err) != fault.PermissionDenied {
		t.Fatalf("%v", err)
	}
}
