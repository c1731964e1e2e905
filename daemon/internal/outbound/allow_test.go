package outbound

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

func TestPatternsAdmitWhatTheySay(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"api.example.com", []string{"https://api.example.com/x", "https://API.Example.com./", "https://api.example.com:443"},
			[]string{"http://api.example.com", "https://api.example.com:8443", "https://example.com", "https://x.api.example.com", "https://api.example.com.evil.org"}},
		{"*.example.com", []string{"https://a.example.com", "https://a.b.example.com"},
			[]string{"https://example.com", "https://notexample.com", "http://a.example.com", "https://a.example.com.evil.org"}},
		{"*", []string{"https://anything.example", "https://1.1.1.1"}, []string{"http://anything.example", "https://10.0.0.1", "https://[::1]", "https://127.1"}},
		{"https://host:8443", []string{"https://host:8443/"}, []string{"https://host", "http://host:8443"}},
		{"https://host:*", []string{"https://host:8443/", "https://host"}, []string{"http://host"}},
		{"http://localhost:3000", []string{"http://localhost:3000/"}, []string{"https://localhost:3000", "http://localhost", "http://127.0.0.1:3000"}},
		{"http://10.0.0.0/8:8080", []string{"http://10.1.2.3:8080"}, []string{"http://10.1.2.3", "https://10.1.2.3:8080", "http://11.0.0.1:8080"}},
		{"10.0.0.5", []string{"https://10.0.0.5", "https://0x0a.5", "https://[::ffff:10.0.0.5]"}, []string{"https://10.0.0.6", "http://10.0.0.5"}},
		{"[fd00::]/8:8443", []string{"https://[fd12::1]:8443"}, []string{"https://[fe80::1]:8443", "https://[fd12::1]"}},
		{"fd00::1", []string{"https://[fd00:0:0::1]"}, []string{"https://[fd00::2]"}},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for want, list := range map[bool][]string{true: c.yes, false: c.no} {
			for _, text := range list {
				if to := targetFor(t, text); p.admits(to) != want {
					t.Errorf("%s admits %s (%+v): %v", c.pattern, text, to, !want)
				}
			}
		}
	}
}

func targetFor(t testing.TB, text string) target {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	to, err := targetOf(u)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return to
}

func TestPatternsThatMeanNothingAreRefused(t *testing.T) {
	for pattern, has := range map[string]string{
		"":                        "names no host",
		"https://":                "names no host",
		"ftp://host":              "http or https",
		"https://host/path":       "without a path",
		"host/":                   "without a path",
		"user@host":               "a host only",
		"host?q":                  "a host only",
		"a b":                     "a host only",
		"host:0":                  "1 to 65535",
		"host:65536":              "1 to 65535",
		"host:x":                  "1 to 65535",
		"a.*.com":                 "stands alone",
		"ex*mple.com":             "stands alone",
		"*.10.0.0.1":              "before a name",
		"münchen.example":         "xn--",
		"a..b":                    "no name of a host",
		strings.Repeat("a.", 200): "at most 253",
		"10.0.0.256":              "no address",
		"1.2.3.4.5":               "no address",
		"10.0.0.0/33":             "range of addresses",
		"::ffff:10.0.0.0/104":     "IPv4 range itself",
		"0.0.0.0":                 "address of no host",
		"224.0.0.1":               "address of no host",
		"[fe80::1%25eth0]":        "a host only",
	} {
		if _, err := ParsePattern(pattern); err == nil || !strings.Contains(err.Error(), has) {
			t.Errorf("%q: %v, want one with %q", pattern, err, has)
		}
	}
	_, err := ParseAllow([]string{"fine.example", "not/fine"}, false)
	if fault.KindOf(err) != fault.ConfigError || fault.From(err).Hint == "" {
		t.Errorf("%v", err)
	}
}

// Each of these is an address of the machine, of its network or of what it asks
// about itself, in one of the forms that get past a comparison of texts.
var inward = []string{
	"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.0.0.1", "127.0.0.1.", "[::1]", "[::ffff:127.0.0.1]",
	"[0:0:0:0:0:ffff:7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[::127.0.0.1]", "0.0.0.0", "0", "[::]",
	"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200", "169.254.169.254", "[fe80::1]",
	"[fd00:ec2::254]", "[fc00::1]", "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "[ff02::1]", "[64:ff9b:1::1]",
	"[2001:0:1::1]", "[fec0::1]", "198.18.0.1",
}

func TestAddressesThatAreNotPublicAreRefusedInEveryForm(t *testing.T) {
	r := newRig(t, nil)
	for _, all := range [][]string{{"*"}, {"*", "0.0.0.0/0", "::/0"}, {"api.example.com"}} {
		a, err := ParseAllow(all, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range inward {
			if _, err := r.get(a, "https://"+host+"/"); err == nil || err.Kind != fault.PermissionDenied && err.Kind != fault.InvalidToolInput {
				t.Errorf("%v: %s: %v", all, host, err)
			}
		}
	}
	if got := r.dialled(); len(got) != 0 {
		t.Errorf("dialled %v", got)
	}
}

func TestPrivateAddressesAreReachedWhereTheyAreNamed(t *testing.T) {
	for _, c := range []struct {
		allow   string
		private bool
		url     string
		addr    string
		may     bool
	}{
		{"https://10.0.0.5", false, "https://10.0.0.5", "10.0.0.5", true},
		{"10.0.0.0/8", false, "https://10.0.0.5", "10.0.0.5", true},
		{"10.0.0.0/8", false, "https://11.0.0.5", "10.0.0.5", true}, // a name admitted elsewhere may resolve into a range that is named
		{"0.0.0.0/0", false, "https://10.0.0.5", "10.0.0.5", false}, // names nothing private
		{"8.0.0.0/5", false, "https://10.0.0.5", "10.0.0.5", false},
		{"169.254.169.254", false, "https://169.254.169.254", "169.254.169.254", true},
		{"http://10.0.0.5", false, "https://10.0.0.5", "10.0.0.5", false},
		{"http://localhost:3000", false, "http://localhost:3000", "127.0.0.1", true},
		{"http://localhost:3000", false, "http://localhost:3000", "::1", true},
		{"http://localhost:3000", false, "http://localhost:3000", "10.0.0.1", false},
		{"http://localhost:3000", false, "http://localhost:3001", "127.0.0.1", false},
		{"db.internal", false, "https://db.internal", "10.0.0.5", false},
		{"db.internal", true, "https://db.internal", "10.0.0.5", true},
		{"db.internal", true, "https://db.internal", "::ffff:10.0.0.5", true},
		{"db.internal", true, "https://db.internal", "127.0.0.1", true},
		{"db.internal", true, "https://db.internal", "169.254.169.254", false},
		{"db.internal", true, "https://db.internal", "0.0.0.0", false},
		{"*.internal", true, "https://db.internal", "10.0.0.5", false},
		{"*", true, "https://db.internal", "10.0.0.5", false},
		{"db.internal", false, "https://db.internal", "1.1.1.1", true},
	} {
		a, err := ParseAllow([]string{c.allow}, c.private)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.may(targetFor(t, c.url), netip.MustParseAddr(c.addr)); got != c.may {
			t.Errorf("%s private=%v: %s at %s: %v", c.allow, c.private, c.url, c.addr, got)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"api.example.com", "*.example.com", "*", "https://host:8443", "http://localhost:*", "10.0.0.0/8:80", "[fd00::]/8:8443", "0x7f.1", "[::1]:1", "::/0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		again, err := ParsePattern(p.String())
		if err != nil || again != p {
			t.Fatalf("%q is %q, which is %+v, %v; want %+v", text, p, again, err, p)
		}
		for _, host := range inward[:20] {
			u, err := url.Parse("https://" + host + "/")
			if err != nil {
				continue
			}
			to, err := targetOf(u)
			if err != nil || !to.addr.IsValid() {
				continue
			}
			// Whatever is written, an address is reached only where one was named.
			if a := (&Allow{patterns: []Pattern{p}}); p.name != "" && a.may(to, to.addr) {
				t.Fatalf("%q lets %s through", text, host)
			}
		}
	})
}

func FuzzAddress(f *testing.F) {
	for _, s := range inward {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		addr, is, err := addressOf(host)
		if err != nil || !is {
			return
		}
		again, is, err := addressOf(addr.String())
		if err != nil || !is || again != addr {
			t.Fatalf("%q is %s, which is %s %v %v", host, addr, again, is, err)
		}
	})
}
