package outbound

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"tenon/daemon/internal/fault"
)

// Describe gives a request the name "METHOD host" and its URL without what may
// be a secret: the values of its query. Where the URL cannot be read, the name is
// the method alone and the URL empty.
func Describe(r Request) (name, shown string) {
	s, err := begin(Request{Method: r.Method, URL: r.URL})
	if err != nil {
		return clip(r.Method, 40), ""
	}
	u := *s.url
	var query []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if key, _, ok := strings.Cut(pair, "="); ok {
			query = append(query, key+"=…")
		} else if pair != "" {
			query = append(query, "…")
		}
	}
	u.RawQuery = ""
	shown = u.String()
	if text := strings.Join(query, "&"); text != "" {
		shown += "?" + text
	}
	return s.method + " " + s.to.place(), shown
}

// step is the request that goes out next.
type step struct {
	method string
	url    *url.URL
	to     target
	header http.Header
	body   []byte
	before string // what Before has heard of
}

// begin reads a request.
func begin(r Request) (*step, error) {
	s := &step{method: r.Method, header: http.Header{}, body: r.Body}
	if s.method == "" {
		s.method = http.MethodGet
	}
	bad := func(format string, a ...any) error {
		return fault.New(fault.InvalidToolInput, "fetch: "+format, a...)
	}
	switch {
	case !isToken(s.method):
		return nil, bad("%q is no method", clip(s.method, 40))
	case strings.EqualFold(s.method, "CONNECT"), strings.EqualFold(s.method, "TRACE"), strings.EqualFold(s.method, "TRACK"):
		return nil, bad("the method %s is not allowed", s.method)
	case s.body != nil && (s.method == http.MethodGet || s.method == http.MethodHead):
		return nil, bad("a %s has no body", s.method)
	case r.Redirect != "" && r.Redirect != "follow" && r.Redirect != redirectError && r.Redirect != redirectManual:
		return nil, bad("redirect is follow, error or manual, not %q", clip(r.Redirect, 40))
	case len(r.URL) > maxURL:
		return nil, bad("the URL has %d bytes; %d are allowed", len(r.URL), maxURL)
	}
	u, err := url.Parse(r.URL)
	if err != nil || !u.IsAbs() {
		return nil, bad("the URL cannot be read")
	}
	if err := s.aim(u); err != nil {
		return nil, bad("%w", err)
	}
	size := 0
	for _, h := range r.Header {
		name, value := h[0], strings.Trim(h[1], " \t\r\n")
		switch {
		case !isToken(name):
			return nil, bad("%q is no name of a header", clip(name, 60))
		case strings.ContainsAny(value, "\x00\r\n"):
			return nil, bad("the value of the header %s has a line break in it", name)
		case forbidden(name):
			continue // as in a browser: they are the connection's, not the program's
		}
		if size += len(name) + len(value); size > maxRequest {
			return nil, bad("the headers have more than %d bytes", maxRequest)
		}
		s.header.Add(name, value)
	}
	for name, value := range map[string]string{"Accept": "*/*", "User-Agent": "tenon"} {
		if s.header.Get(name) == "" {
			s.header.Set(name, value)
		}
	}
	return s, nil
}

// aim sets where the request goes.
func (s *step) aim(u *url.URL) error {
	to, err := targetOf(u)
	if err != nil {
		return err
	}
	own := *u // in the one form in which it was checked
	own.Scheme, own.Host, own.Fragment, own.RawFragment = to.scheme, to.place(), "", ""
	if own.Path == "" {
		own.Path = "/"
	}
	s.url, s.to = &own, to
	return nil
}

// leave asks whether the request may go out.
func (s *step) leave(ctx context.Context, terms Terms) error {
	if err := terms.Allow.check(s.to); err != nil {
		return err
	}
	where := s.method + " " + s.to.origin()
	if terms.Before == nil || s.before == where {
		return nil
	}
	s.before = where
	return terms.Before(ctx, Step{Method: s.method, URL: s.url, Place: s.to.place()})
}

// credentials are the headers that go to no other origin than the one they were
// given for.
var credentials = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// follow turns the request into the one that a redirect asks for.
func (s *step) follow(status int, location string) error {
	from := s.to
	fail := func(reason string) error {
		return fault.New(fault.ToolFailure, "fetch %s: it redirects to a place that cannot be reached: %s", from.origin(), reason)
	}
	if len(location) > maxURL {
		return fail("the URL is too long")
	}
	u, err := s.url.Parse(location)
	if err != nil {
		return fail("the URL cannot be read")
	}
	if err := s.aim(u); err != nil {
		return fail(err.Error())
	}
	if (status == 301 || status == 302) && s.method == http.MethodPost ||
		status == 303 && s.method != http.MethodGet && s.method != http.MethodHead {
		s.method, s.body = http.MethodGet, nil
		for _, name := range []string{"Content-Encoding", "Content-Language", "Content-Location", "Content-Type"} {
			s.header.Del(name)
		}
	}
	if s.to.origin() != from.origin() {
		for _, name := range credentials {
			s.header.Del(name)
		}
	}
	return nil
}

// forbidden are the headers that a program does not set: they belong to the
// connection or the body (the standard's forbidden request-headers, without those
// that only mean something in a page).
func forbidden(name string) bool {
	switch name = strings.ToLower(name); name {
	case "accept-charset", "accept-encoding", "connection", "content-length", "date", "expect", "host", "keep-alive",
		"te", "trailer", "transfer-encoding", "upgrade", "via":
		return true
	}
	return strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "sec-")
}

// isToken is whether s is a token of HTTP, as methods and names of headers are.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
