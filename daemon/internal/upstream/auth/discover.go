package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tenon/daemon/internal/fault"
)

// resourceMeta is metadata of a protected resource (RFC 9728), as far as it is
// of use here.
type resourceMeta struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// serverMeta is metadata of an authorization server (RFC 8414, OpenID Connect
// Discovery 1.0), likewise.
type serverMeta struct {
	Issuer      string   `json:"issuer"`
	Authorize   string   `json:"authorization_endpoint"`
	Token       string   `json:"token_endpoint"`
	Register    string   `json:"registration_endpoint"`
	Device      string   `json:"device_authorization_endpoint"`
	Revoke      string   `json:"revocation_endpoint"`
	Scopes      []string `json:"scopes_supported"`
	Methods     []string `json:"token_endpoint_auth_methods_supported"`
	Grants      []string `json:"grant_types_supported"`
	Challenges  []string `json:"code_challenge_methods_supported"`
	Documents   bool     `json:"client_id_metadata_document_supported"`
	NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
}

// place is where to log in, and for what.
type place struct {
	resource string
	scopes   []string // that the resource names
	meta     serverMeta
}

// discover finds the authorization server of a server: by the metadata that the
// refusal named, at the well-known places, else on the server's own host as the
// protocol had it before 2025-06-18.
func (w *web) discover(ctx context.Context, t Target, c challenge) (*place, error) {
	p := &place{resource: t.resource()}
	res, err := w.resource(ctx, t, c.metadata)
	if err != nil {
		return nil, err
	}
	var issuers []string
	if res != nil {
		p.resource, p.scopes, issuers = res.Resource, res.Scopes, res.Servers
		if len(issuers) == 0 && t.Metadata == "" {
			return nil, fmt.Errorf("its metadata names no authorization server")
		}
	}
	switch {
	case t.Metadata != "":
		found, err := w.get(ctx, "oauth.authServerMetadataUrl", t.Metadata, &p.meta)
		if err == nil && !found {
			err = fmt.Errorf("oauth.authServerMetadataUrl: there is no metadata")
		}
		if err != nil {
			return nil, err
		}
	case res == nil:
		u, err := url.Parse(p.resource)
		if err != nil {
			return nil, err
		}
		origin := u.Scheme + "://" + u.Host
		found, err := w.server(ctx, origin, true, &p.meta)
		if err != nil {
			return nil, err
		}
		if !found { // the places of protocol 2025-03-26
			p.meta = serverMeta{
				Issuer: origin, Authorize: origin + "/authorize", Token: origin + "/token", Register: origin + "/register",
				Challenges: []string{"S256"},
			}
		}
	default:
		if err := w.anyServer(ctx, issuers, &p.meta); err != nil {
			return nil, err
		}
	}
	return p, w.usable(&p.meta)
}

// anyServer takes the first authorization server that says what it is.
func (w *web) anyServer(ctx context.Context, issuers []string, into *serverMeta) error {
	var last error
	for _, issuer := range issuers[:min(len(issuers), 5)] {
		found, err := w.server(ctx, issuer, false, into)
		if found {
			return nil
		}
		if last = err; err == nil {
			last = fmt.Errorf("the authorization server %s publishes no metadata", clip(issuer, 200))
		}
		*into = serverMeta{}
	}
	return last
}

// resource reads the metadata of the server itself; nil where there is none.
func (w *web) resource(ctx context.Context, t Target, named string) (*resourceMeta, error) {
	u, err := url.Parse(t.resource())
	if err != nil {
		return nil, err
	}
	origin := u.Scheme + "://" + u.Host
	const well = "/.well-known/oauth-protected-resource"
	places := []string{origin + well + strings.TrimSuffix(u.EscapedPath(), "/"), origin + well}
	if named != "" {
		// The server has said where: guessing would find what it does not mean.
		places = []string{named}
	}
	for _, at := range slices.Compact(places) {
		var m resourceMeta
		found, err := w.get(ctx, "the metadata of the server", at, &m)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if !within(m.Resource, u) {
			return nil, fmt.Errorf("its metadata is of another resource, %s", clip(m.Resource, 200))
		}
		return &m, nil
	}
	if named != "" {
		return nil, fmt.Errorf("there is no metadata at %s, which the server names", clip(named, 200))
	}
	return nil, nil
}

// within is whether the metadata's resource is the server, or what it lies in:
// tokens for another would be sent to whom they are not meant for (RFC 9728
// section 3.3, RFC 8707).
func within(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(r.Scheme, server.Scheme) || !strings.EqualFold(r.Host, server.Host) || r.User != nil {
		return false
	}
	above := strings.TrimSuffix(r.EscapedPath(), "/")
	path := strings.TrimSuffix(server.EscapedPath(), "/")
	return path == above || strings.HasPrefix(path, above+"/")
}

// server reads the metadata of an authorization server, at the places and in
// the order that the MCP specification gives. With old, for servers without
// metadata of their own, any issuer on the same host is taken: protocol 2025-03-26
// asked there and named no issuer.
func (w *web) server(ctx context.Context, issuer string, old bool, into *serverMeta) (bool, error) {
	u, err := w.address("the authorization server", issuer)
	if err != nil {
		return false, err
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		places = append(places, origin+path+"/.well-known/openid-configuration")
	}
	for _, at := range places {
		var m serverMeta
		found, err := w.get(ctx, "the metadata of the authorization server", at, &m)
		if err != nil {
			return false, err
		}
		if !found {
			continue
		}
		// RFC 8414 section 3.3: else one server could speak for another. A slash
		// at the end is forgiven, as real servers differ in it.
		if strings.TrimSuffix(m.Issuer, "/") != strings.TrimSuffix(issuer, "/") && !(old && strings.HasPrefix(m.Issuer, issuer+"/")) {
			return false, fmt.Errorf("the authorization server %s publishes the metadata of another issuer, %s", clip(issuer, 200), clip(m.Issuer, 200))
		}
		*into = m
		return true, nil
	}
	return false, nil
}

// usable holds what an authorization server says of itself to what is needed.
func (w *web) usable(m *serverMeta) error {
	if !slices.Contains(m.Challenges, "S256") {
		return fmt.Errorf("the authorization server %s does not offer PKCE with S256, without which a code can be stolen", clip(m.Issuer, 200))
	}
	for _, e := range []struct {
		name, address string
		needed        bool
	}{
		{"authorization_endpoint", m.Authorize, m.Device == ""}, {"token_endpoint", m.Token, true},
		{"registration_endpoint", m.Register, false}, {"device_authorization_endpoint", m.Device, false},
		{"revocation_endpoint", m.Revoke, false},
	} {
		if e.address == "" {
			if e.needed {
				return fmt.Errorf("the authorization server %s has no %s", clip(m.Issuer, 200), e.name)
			}
			continue
		}
		if _, err := w.address(e.name, e.address); err != nil {
			return err
		}
	}
	return nil
}

// probe asks the server without a token, to hear its challenge. A server that
// serves everybody may have metadata all the same.
func (w *web) probe(ctx context.Context, t Target) (challenge, bool, error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tenon","version":"1"}}}`
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, strings.NewReader(hello))
	if err != nil {
		return challenge{}, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("User-Agent", "tenon")
	for name, value := range t.Header {
		req.Header.Set(name, value)
	}
	c := http.Client{
		Transport:     w.o.Network.Beside(w.near),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := c.Do(req)
	if err != nil {
		return challenge{}, false, t.unavailable("server %s cannot be reached: %w", t.Server, plain(err))
	}
	_ = res.Body.Close() // a stream that it may be is not read
	return readChallenge(res.Header), res.StatusCode == http.StatusUnauthorized, nil
}

// failed gives what went wrong in a login its kind, with the server's name.
func (t Target) failed(err error) error {
	f := asFault(err)
	switch {
	case f != nil && f.Kind == fault.PermissionDenied:
		// What a server points at, and not what the caller may do.
		return t.unauthorized("login to server %s: %s", t.Server, err.Error()).Because(err).
			WithHint("the server or its authorization server is set up wrongly, or means no good")
	case f != nil && f.Kind != fault.ToolFailure:
		return f
	case f != nil:
		return t.unavailable("login to server %s: %s", t.Server, err.Error()).Because(err)
	}
	return t.unauthorized("login to server %s: %s", t.Server, err.Error()).Because(err).
		WithHint("docs/auth.md says what tenon needs of an authorization server")
}

// s256 is the challenge of a PKCE verifier (RFC 7636 section 4.2).
func s256(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
