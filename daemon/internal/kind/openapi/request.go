package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
)

// client sends the requests of one server of kind openapi. What proves who asks
// goes to the origin of its base address only.
type client struct {
	spec *config.OpenAPISpec
	http *http.Client
	mask *strings.Replacer // takes secrets out of texts; nil: there are none
}

// maxRedirects is how many redirects are followed.
const maxRedirects = 10

func newClient(spec *config.OpenAPISpec, transport http.RoundTripper) *client {
	c := &client{spec: spec}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if origin(r.URL) != origin(via[0].URL) { // another host learns nothing of who asks
			for _, name := range c.authHeaders() {
				r.Header.Del(name)
			}
			r.Header.Del("Cookie")
		}
		// The address before may hold a proof in its query.
		r.Header.Del("Referer")
		return nil
	}}
	c.mask = masker(spec)
	return c
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

func (c *client) authHeaders() []string {
	names := []string{"Authorization", "Proxy-Authorization"}
	for name := range c.spec.Header {
		names = append(names, name)
	}
	return names
}

// proves reports whether requests carry anything that others must not see.
func proves(spec *config.OpenAPISpec) bool {
	return spec.Bearer != "" || spec.Password != "" || len(spec.Header) > 0 || len(spec.Query) > 0
}

// authorize adds what proves who asks.
func (c *client) authorize(r *http.Request) {
	if c.spec.Bearer != "" {
		r.Header.Set("Authorization", "Bearer "+c.spec.Bearer)
	}
	if c.spec.User != "" || c.spec.Password != "" {
		r.SetBasicAuth(c.spec.User, c.spec.Password)
	}
	for name, value := range c.spec.Header {
		r.Header.Set(name, value)
	}
	if len(c.spec.Query) == 0 {
		return
	}
	pairs := []string{}
	if r.URL.RawQuery != "" {
		pairs = append(pairs, r.URL.RawQuery)
	}
	for name, value := range c.spec.Query {
		pairs = append(pairs, escape(name)+"="+escape(value))
	}
	slices.Sort(pairs[len(pairs)-len(c.spec.Query):])
	r.URL.RawQuery = strings.Join(pairs, "&")
}

// hidden reports whether a parameter is one that auth gives, so that no caller
// has to.
func hidden(spec *config.OpenAPISpec) func(parameter) bool {
	return func(p parameter) bool {
		switch p.in {
		case "header":
			for name := range spec.Header {
				if strings.EqualFold(name, p.name) {
					return true
				}
			}
		case "query":
			_, given := spec.Query[p.name]
			return given
		}
		return false
	}
}

// request writes the request of a call. Its error is the caller's mistake.
func (o *operation) request(ctx context.Context, base string, arguments json.RawMessage) (*http.Request, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &args); err != nil {
		return nil, fmt.Errorf("arguments are no object")
	}
	path := o.path
	var query, cookies []string
	header := http.Header{}
	for _, p := range o.parameters {
		value, given := args[p.property]
		if !given || string(value) == "null" && !p.required {
			if p.required {
				return nil, fmt.Errorf("argument %s is missing", p.property)
			}
			continue
		}
		var err error
		switch p.in {
		case "path":
			var text string
			if text, err = p.inPath(value); err == nil {
				path = strings.ReplaceAll(path, "{"+p.name+"}", text)
			}
		case "query":
			var pairs []string
			pairs, err = p.query(value)
			query = append(query, pairs...)
		case "header":
			var text string
			text, err = p.inHeader(value, same)
			header.Set(p.name, text)
		case "cookie":
			var text string
			text, err = p.inHeader(value, escape)
			cookies = append(cookies, p.name+"="+text)
		}
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", p.property, err)
		}
	}
	if err := whole(o.path, path); err != nil {
		return nil, err
	}
	var data []byte
	contentType := ""
	if o.body != nil {
		value, given := args[bodyProperty]
		if !given && o.body.required {
			return nil, fmt.Errorf("argument %s is missing", bodyProperty)
		}
		if given {
			var err error
			if data, contentType, err = o.body.encode(value); err != nil {
				return nil, err
			}
		}
	}
	address := strings.TrimSuffix(base, "/") + path
	if len(query) > 0 {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + strings.Join(query, "&")
	}
	r, err := http.NewRequestWithContext(ctx, o.method, address, bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the address cannot be written: %w", err)
	}
	r.Header = header
	r.Header.Set("Accept", o.accept)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "tenon")
	}
	if len(cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	return r, nil
}

// whole refuses a path in which arguments have made a part "." or "..": whoever
// resolves it asks for something else. One argument alone is looked at before; a
// style, a text beside it or a second one may add the dots.
func whole(template, path string) error {
	parts := strings.Split(path, "/") // what an argument brings is escaped
	for i, written := range strings.Split(template, "/") {
		if i < len(parts) && written != parts[i] && (parts[i] == "." || parts[i] == "..") {
			return fmt.Errorf("the arguments make %q of %q in the path: it would be another request", parts[i], written)
		}
	}
	return nil
}

// base is the address that an operation's requests go to, and whether they may
// prove who asks.
func (d *document) base(spec *config.OpenAPISpec, servers any) (address string, trusted bool, err error) {
	own := spec.BaseURL
	if own == "" {
		if own, err = d.server(d.root["servers"]); err != nil {
			return "", false, err
		}
	}
	if servers == nil || spec.BaseURL != "" { // the configuration's word counts
		return own, true, nil
	}
	if address, err = d.server(servers); err != nil {
		return "", false, err
	}
	a, errA := url.Parse(address)
	b, errB := url.Parse(own)
	return address, errA == nil && errB == nil && origin(a) == origin(b), nil
}

// server is the first of a list of servers, absolute, its variables replaced by
// their defaults.
func (d *document) server(list any) (string, error) {
	servers := anyList(list)
	address := "/"
	if len(servers) > 0 {
		s := d.object(servers[0])
		if text, ok := s["url"].(string); ok {
			address = text
		}
		variables, _ := s["variables"].(map[string]any)
		for name, v := range variables {
			if value, ok := d.object(v)["default"].(string); ok {
				address = strings.ReplaceAll(address, "{"+name+"}", value)
			}
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", d.wrong([]string{"servers", "0", "url"}, "is no address")
	}
	if !u.IsAbs() {
		from, err := url.Parse(d.name)
		if err != nil || !config.IsAddress(d.name) {
			return "", fault.New(fault.ConfigError, "%s names no absolute server address (%q)", d.name, address).
				WithHint(`set "baseUrl" in the server's entry`)
		}
		u = from.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", d.wrong([]string{"servers", "0", "url"}, "must start with http:// or https://")
	}
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return u.String(), nil
}
