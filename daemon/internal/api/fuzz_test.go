package api

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// FuzzRequest: whatever is asked of whatever route, the answer is JSON or a problem
// document that agrees with itself, and the request's fault is never an internal one.
func FuzzRequest(f *testing.F) {
	for i, route := range table {
		body := ""
		if route.takes != nil {
			raw, err := proto.Marshal(route.takes)
			if err != nil {
				f.Fatal(err)
			}
			body = string(raw)
		}
		f.Add(i, "a", "dir=/x", body, "1")
	}
	f.Add(0, "..%2f", "since=x&limit=-1&live=maybe&%zz", `{"code":"1","tiemout":1}`, "99999999999999999999")
	f.Add(1, "\x00", "limit=1;limit=2", `{"origin":{"session":null}}`, "2;x")
	s := newServer(&double{})
	f.Fuzz(func(t *testing.T, at int, word, query, body, protocol string) {
		route := table[max(0, at)%len(table)]
		if route.as != asDocument || route.Path == "/v1/openapi.json" {
			return // streams end with their caller; the other has no input
		}
		path := route.Path
		for strings.Contains(path, "{") {
			begin, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
			path = path[:begin] + url.PathEscape(word) + path[end+1:]
		}
		r := httptest.NewRequest(route.Method, "/", strings.NewReader(body))
		u, err := url.Parse(path)
		if err != nil {
			return
		}
		r.URL, r.RequestURI = u, path
		r.URL.RawQuery = query
		r.Header.Set(proto.HeaderProtocol, protocol)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 300 && w.Code < 400 {
			return // net/http cleans paths
		}
		var p proto.Problem
		switch kind := w.Header().Get("Content-Type"); {
		case w.Code < 300 && w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()):
			t.Fatalf("%s %s: %d %q", route.Method, path, w.Code, w.Body)
		case w.Code < 300:
		case kind != "application/problem+json" || json.Unmarshal(w.Body.Bytes(), &p) != nil:
			t.Fatalf("%s %s?%s: %d, %s: %q", route.Method, path, query, w.Code, kind, w.Body)
		case p.Kind == string(fault.InternalError) || p.Status != w.Code || p.Message == "" || len(w.Body.Bytes()) > 8*(len(body)+len(query)+len(word)+len(protocol))+2000:
			t.Fatalf("%s %s?%s: %+v", route.Method, path, query, p)
		}
	})
}

// FuzzQuery: a parameter that is read is what was written, or a UsageError.
func FuzzQuery(f *testing.F) {
	f.Add("5", "2026-01-31T12:00:00Z")
	f.Add("-0", "0000-01-01T00:00:00+14:00")
	f.Add(" 1", "2026-02-30T00:00:00Z")
	f.Fuzz(func(t *testing.T, n, at string) {
		q := url.Values{"n": {n}, "at": {at}}
		if got, err := number(q, "n"); err == nil && got < 0 || err != nil && fault.KindOf(err) != fault.UsageError {
			t.Fatalf("%q: %d, %v", n, got, err)
		}
		got, err := moment(q, "at")
		if err != nil {
			if fault.KindOf(err) != fault.UsageError {
				t.Fatalf("%q: %v", at, err)
			}
			return
		}
		if at != "" && got.Year() < 9999 && got.Year() > 0 {
			if back, err := time.Parse(time.RFC3339Nano, got.Format(time.RFC3339Nano)); err != nil || !back.Equal(got) {
				t.Fatalf("%q is %v, %v", at, got, err)
			}
		}
	})
}

// FuzzGuard: over TCP nothing passes but what names the daemon's own host, comes
// from no page of another, and knows the token.
func FuzzGuard(f *testing.F) {
	const token = "0123456789abcdef0123456789abcdef"
	g, err := NewGuard(newServer(&double{}), "127.0.0.1:4242", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4242}, token)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("127.0.0.1:4242", "", "Bearer "+token)
	f.Add("localhost:4242", "http://localhost:4242", "Bearer "+token)
	f.Add("evil.example:4242", "", "Bearer "+token)
	f.Add("localhost:4242", "http://localhost:4242@evil.example", "Bearer "+token)
	f.Add("[::1]:4242", "null", "bearer "+token)
	f.Fuzz(func(t *testing.T, host, origin, authorization string) {
		r := &http.Request{Method: "POST", Host: host, Header: http.Header{"Origin": {origin}, "Authorization": {authorization}}, URL: &url.URL{Path: "/v1/exec"}}
		if g.check(r) != nil {
			return
		}
		own := regexp.MustCompile(`^(?i)(localhost|127\.0\.0\.1|\[::1\]):4242$`)
		from := regexp.MustCompile(`^(?i)(http://([^/?#]*@)?(localhost|127\.0\.0\.1|\[::1\]):4242([/?#].*)?)?$`)
		if !own.MatchString(host) || !from.MatchString(origin) || authorization != "Bearer "+token {
			t.Fatalf("%q from %q with %q passes", host, origin, authorization)
		}
	})
}
