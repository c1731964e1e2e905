package auth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// evil is a server whose metadata say whatever a test wants.
type evil struct {
	srv      *httptest.Server
	resource map[string]any // nil: there is none
	server   map[string]any // what the authorization server says, in place of what is right
	raw      func(w http.ResponseWriter, r *http.Request) bool
	token    string // body of the token endpoint's answer
}

func newEvil(t *testing.T) *evil {
	e := &evil{resource: map[string]any{}, server: map[string]any{}}
	e.srv = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.srv.Close)
	return e
}

func (e *evil) serve(w http.ResponseWriter, r *http.Request) {
	if e.raw != nil && e.raw(w, r) {
		return
	}
	say := func(right, instead map[string]any) {
		for name, value := range instead {
			right[name] = value
		}
		_ = json.NewEncoder(w).Encode(right)
	}
	switch r.URL.Path {
	case "/mcp":
		w.WriteHeader(http.StatusUnauthorized)
	case "/.well-known/oauth-protected-resource/mcp":
		say(map[string]any{"resource": e.srv.URL + "/mcp", "authorization_servers": []string{e.srv.URL}}, e.resource)
	case "/.well-known/oauth-authorization-server":
		say(map[string]any{
			"issuer": e.srv.URL, "authorization_endpoint": e.srv.URL + "/authorize", "token_endpoint": e.srv.URL + "/token",
			"registration_endpoint": e.srv.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
		}, e.server)
	case "/register":
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"client_id": "c"}`))
	case "/authorize":
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=x&state="+q.Get("state"), http.StatusFound)
	case "/token":
		_, _ = w.Write([]byte(e.token))
	default:
		http.NotFound(w, r)
	}
}

func (e *evil) source(t *testing.T) *Source {
	return keeper(t, t.TempDir()).Source(Target{Server: "evil", URL: e.srv.URL + "/mcp"})
}

func TestWhatAServerSaysOfItsLoginIsNotBelievedBeyondItsReach(t *testing.T) {
	const cloud = "http://169.254.169.254/latest/meta-data"
	for name, c := range map[string]struct {
		set  func(e *evil)
		want string
	}{
		"an authorization server among the cloud's metadata": {func(e *evil) { e.resource["authorization_servers"] = []string{cloud} }, "may not reach http://169.254.169.254"},
		"a token endpoint there":                             {func(e *evil) { e.server["token_endpoint"] = cloud }, "token_endpoint: may not reach"},
		"a registration endpoint there":                      {func(e *evil) { e.server["registration_endpoint"] = "https://169.254.169.254/" }, "registration_endpoint: may not reach"},
		"a token endpoint over http":                         {func(e *evil) { e.server["token_endpoint"] = "http://login.example.com/token" }, "it is not https"},
		"a page that is a script":                            {func(e *evil) { e.server["authorization_endpoint"] = "javascript:alert(1)" }, "authorization_endpoint"},
		"a page that is a file":                              {func(e *evil) { e.server["authorization_endpoint"] = "file:///etc/passwd" }, "authorization_endpoint"},
		"a page that is an option":                           {func(e *evil) { e.server["authorization_endpoint"] = "--version" }, "authorization_endpoint is no address"},
		"no PKCE":                                            {func(e *evil) { e.server["code_challenge_methods_supported"] = []string{"plain"} }, "PKCE"},
		"another issuer":                                     {func(e *evil) { e.server["issuer"] = "https://accounts.example.com" }, "another issuer"},
		"another resource":                                   {func(e *evil) { e.resource["resource"] = "https://bank.example.com/mcp" }, "another resource"},
		"a resource beside it":                               {func(e *evil) { e.resource["resource"] = e.srv.URL + "/mc" }, "another resource"},
		"no authorization server":                            {func(e *evil) { e.resource["authorization_servers"] = []string{} }, "names no authorization server"},
		"metadata without an end": {func(e *evil) {
			e.raw = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasPrefix(r.URL.Path, "/.well-known/") {
					return false
				}
				for chunk := make([]byte, 64<<10); ; {
					if _, err := w.Write(chunk); err != nil {
						return true
					}
				}
			}
		}, "larger than"},
		"metadata that redirect into the cloud's": {func(e *evil) {
			e.raw = func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasPrefix(r.URL.Path, "/.well-known/") {
					http.Redirect(w, r, cloud, http.StatusFound)
					return true
				}
				return false
			}
		}, "may not reach http://169.254.169.254"},
		"a challenge that names the cloud's": {func(e *evil) {
			e.raw = func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+cloud+`"`)
				return false
			}
		}, "may not reach http://169.254.169.254"},
		"a token endpoint that redirects": {func(e *evil) {
			e.raw = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					http.Redirect(w, r, e.srv.URL+"/elsewhere", http.StatusTemporaryRedirect)
					return true
				}
				if r.URL.Path == "/elsewhere" {
					t.Error("a secret followed a redirect")
				}
				return false
			}
		}, "status 307"},
		"a token of another type":        {func(e *evil) { e.token = `{"access_token": "x", "token_type": "mac"}` }, "only Bearer"},
		"a token with a line break":      {func(e *evil) { e.token = `{"access_token": "x\r\nHost: y", "token_type": "bearer"}` }, "cannot be sent"},
		"an answer of the token in HTML": {func(e *evil) { e.token = `<html>` }, "no JSON"},
		"the answer of another server": {func(e *evil) {
			e.server["authorization_response_iss_parameter_supported"] = true
		}, "does not say which authorization server"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEvil(t)
			c.set(e)
			s := e.source(t)
			_, err := tryLogin(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if kind := fault.KindOf(err); kind != fault.Unauthorized && kind != fault.ServerUnavailable {
				t.Errorf("kind %s", kind)
			}
			if token, _ := s.Token(t.Context()); token != "" {
				t.Error("a token was kept")
			}
		})
	}
}

func TestWhoDoesNotKnowTheStateCannotEndALogin(t *testing.T) {
	e := newEvil(t)
	e.token = `{"access_token": "good-token-1", "token_type": "Bearer", "expires_in": "3600"}`
	s := e.source(t)
	ended := make(chan error, 1)
	_, err := s.Login(t.Context(), Browser, func(p Prompt) {
		go func() {
			back := strings.SplitN(strings.SplitN(p.URL, "redirect_uri=", 2)[1], "&", 2)[0]
			back = strings.NewReplacer("%3A", ":", "%2F", "/").Replace(back)
			for _, query := range []string{"?code=forged&state=wrong", "?error=access_denied", "?code=forged&state="} {
				status, _, err := browse(back + query)
				if err != nil || status != http.StatusBadRequest {
					ended <- fmt.Errorf("%s: %d %v", query, status, err)
					return
				}
			}
			_, _, err := browse(p.URL)
			ended <- err
		}()
	})
	if e := <-ended; e != nil {
		t.Error(e)
	}
	if err != nil {
		t.Fatal(err)
	}
	if token, err := s.Token(t.Context()); token != "good-token-1" || err != nil {
		t.Errorf("%q %v", token, err)
	}
	if got := s.Mask("it said good-token-1"); got != "it said [secret]" {
		t.Errorf("%s", got)
	}
}

func TestATokenOverPlainHTTPIsNeverAskedFor(t *testing.T) {
	s := keeper(t, t.TempDir()).Source(Target{Server: "evil", URL: "http://10.255.255.1/mcp"})
	if _, err := tryLogin(t.Context(), s); fault.KindOf(err) != fault.ConfigError || !strings.Contains(err.Error(), "plain http") {
		t.Errorf("%v", err)
	}
}
