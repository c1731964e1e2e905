package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzChallenge: any WWW-Authenticate is a challenge of bounded words, on one line
// where they are scopes.
func FuzzChallenge(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://h.example/.well-known/oauth-protected-resource", scope="a  b", error="invalid_token"`)
	f.Add(`Basic realm="x", Bearer scope="\"", DPoP algs="ES256"`)
	f.Add("bearer =,,\"")
	f.Add(strings.Repeat(`Bearer a="`, 100))
	f.Fuzz(func(t *testing.T, value string) {
		c := readChallenge(http.Header{"Www-Authenticate": {value}})
		if len(c.metadata)+len(c.scope)+len(c.fault) > 3*len(value) || strings.Contains(c.scope, "  ") || c.scope != words(c.scope) {
			t.Fatalf("%q: %+v", value, c)
		}
		both := union(c.scope, value)
		if !covers(both, c.scope) || !covers(both, value) || union(both, value) != both {
			t.Fatalf("%q and %q are %q", c.scope, value, both)
		}
		if s := clip(value, 20); len(s) > 20+len("…") || strings.ContainsAny(s, "\n\x1b\x00") {
			t.Fatalf("%q", s)
		}
	})
}

// FuzzResource: metadata is of the server only where it has the server's origin and
// its path, or one above.
func FuzzResource(f *testing.F) {
	f.Add("https://h.example/mcp")
	f.Add("HTTPS://H.example")
	f.Add("https://h.example@evil.example/mcp")
	f.Add("https://h.example/mcp/../x")
	f.Add("https://h.example/m")
	server := &url.URL{Scheme: "https", Host: "h.example", Path: "/mcp/a"}
	f.Fuzz(func(t *testing.T, resource string) {
		if !within(resource, server) {
			return
		}
		u, err := url.Parse(resource)
		if err != nil || !strings.EqualFold(u.Scheme, "https") || !strings.EqualFold(u.Host, "h.example") || u.User != nil || !strings.HasPrefix("/mcp/a/", strings.TrimSuffix(u.EscapedPath(), "/")+"/") {
			t.Fatalf("%q is taken for the server", resource)
		}
	})
}

// FuzzAnswer: what comes back through the browser is a code of the server that was
// asked, or an error of bounded length.
func FuzzAnswer(f *testing.F) {
	f.Add("code=a&state=b", "https://as.example")
	f.Add("error=access_denied&error_description=%1b[2J", "")
	f.Add("code=a&iss=https://evil.example", "https://as.example")
	f.Fuzz(func(t *testing.T, query, issuer string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		for _, named := range []bool{true, false} {
			a := read(q, &serverMeta{Issuer: issuer, NamesItself: named})
			if (a.err == nil) == (a.code == "") {
				t.Fatalf("%+v", a)
			}
			if a.err != nil && len(a.err.Error()) > 1000 || a.err == nil && q.Get("iss") != "" && q.Get("iss") != issuer {
				t.Fatalf("%q of %q: %+v", query, issuer, a)
			}
		}
	})
}

// FuzzTokens: whatever an endpoint answers, the record has an end within bounds, and
// is the same when it is read from its file again.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{`{"access_token":"a","token_type":"Bearer","expires_in":3600}`, `{"access_token":"a","expires_in":"1e300","refresh_token":"r","scope":"x  y"}`, `{"expires_in":-1}`, `{"expires_in":[]}`, `{"error":"invalid_grant","error_description":"x"}`, `null`} {
		f.Add([]byte(s))
	}
	now := time.Unix(1_700_000_000, 0)
	f.Fuzz(func(t *testing.T, body []byte) {
		var e refusal
		if json.Unmarshal(body, &e) == nil && len(e.text()) > 400 {
			t.Fatalf("%q", e.text())
		}
		var got tokens
		if json.Unmarshal(body, &got) != nil {
			return
		}
		r := &record{Version: recordVersion}
		got.into(r, "asked", now)
		if !r.Expires.IsZero() && (r.Expires.Before(now) || r.Expires.After(now.Add(maxLife+time.Second))) {
			t.Fatalf("%s ends at %v", body, r.Expires)
		}
		_, _ = r.due(now), r.over(now)
		kept := &file{path: filepath.Join(t.TempDir(), "r.json")}
		if err := kept.write(r); err != nil {
			t.Fatal(err)
		}
		back, err := (&file{path: kept.path}).read()
		if err != nil || back == nil || back.Access != r.Access || back.Refresh != r.Refresh || !back.Expires.Equal(r.Expires) {
			t.Fatalf("%+v came back as %+v, %v", r, back, err)
		}
		if sendable(r.Access) && strings.ContainsAny(r.Access, "\r\n \x00") {
			t.Fatalf("%q would be sent", r.Access)
		}
	})
}

// FuzzRecord: a damaged file is no login, or one, and never a crash.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"access":"a"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		path := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := (&file{path: path}).read(); err == nil && r != nil {
			_, _ = r.due(time.Now()), r.hide(string(doc))
		}
	})
}
