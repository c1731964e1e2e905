package fakeserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// metadataPath is where a protected resource says what it is (RFC 9728), for the
// endpoint at /mcp.
const metadataPath = "/.well-known/oauth-protected-resource/mcp"

// login makes the server one that wants a login at an authorization server.
type login struct {
	issuer, client, secret string
	scope, callScope       string
}

// guard serves the metadata, and lets requests through whose token the issuer
// vouches for.
func (l login) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		self := "http://" + r.Host
		if r.URL.Path == metadataPath {
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(map[string]any{
				"resource": self + "/mcp", "authorization_servers": []string{l.issuer}, "scopes_supported": strings.Fields(l.scope),
			})
			return
		}
		refuse := func(status int, fault, scope string) {
			text := fmt.Sprintf("Bearer resource_metadata=%q", self+metadataPath)
			if fault != "" {
				text += fmt.Sprintf(", error=%q", fault)
			}
			if scope != "" {
				text += fmt.Sprintf(", scope=%q", scope)
			}
			rw.Header().Set("WWW-Authenticate", text)
			http.Error(rw, http.StatusText(status), status)
		}
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			refuse(http.StatusUnauthorized, "", l.scope)
			return
		}
		granted, active := l.ask(token, self+"/mcp")
		if !active {
			refuse(http.StatusUnauthorized, "invalid_token", l.scope)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(rw, "cannot read the body", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m envelope
		_ = json.Unmarshal(body, &m) // not JSON: no call
		if m.Method == "tools/call" && l.callScope != "" && !slices.Contains(granted, l.callScope) {
			refuse(http.StatusForbidden, "insufficient_scope", l.callScope)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// ask asks the issuer about a token, each time: one that was revoked is refused
// by the next request.
func (l login) ask(token, audience string) (scopes []string, active bool) {
	c := http.Client{Timeout: 10 * time.Second}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	req, err := http.NewRequest(http.MethodPost, l.issuer+"/token/introspection", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, false
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(l.client, l.secret)
	res, err := c.Do(req)
	if err != nil {
		return nil, false
	}
	defer res.Body.Close()
	defer c.CloseIdleConnections()
	var answer struct {
		Active   bool   `json:"active"`
		Scope    string `json:"scope"`
		Audience any    `json:"aud"`
	}
	if json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&answer) != nil || !answer.Active {
		return nil, false
	}
	// A token for another resource is none for this one.
	return strings.Fields(answer.Scope), fmt.Sprint(answer.Audience) == audience
}
