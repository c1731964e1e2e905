package threats

import (
	"net"
	"strings"
	"testing"
)

const token = "t0ken-t0ken-t0ken"

// tcp starts a daemon that listens on TCP as well and gives its address.
func tcp(t *testing.T) (*target, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return attack(t, map[string]any{"listen": map[string]any{"address": address, "token": token}}), address
}

func TestAWebPageReachesNothing(t *testing.T) {
	x, address := tcp(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ours, bearer := "Host: "+address, "Authorization: Bearer "+token
	if a := x.ask(address, "GET", "/v1/health", "", ours, bearer); a.status != 200 {
		t.Fatalf("with all that is asked for: %d %s", a.status, a.body)
	}
	upgrade := []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	for what, do := range map[string][]string{
		"without a token":          {"/v1/health", ours},
		"another token":            {"/v1/health", ours, bearer + "x"},
		"a part of the token":      {"/v1/health", ours, bearer[:len(bearer)-1]},
		"an empty token":           {"/v1/health", ours, "Authorization: Bearer "},
		"the token as a password":  {"/v1/health", ours, "Authorization: Basic " + token},
		"the token in the address": {"/v1/health?token=" + token + "&access_token=" + token, ours},
		"the token as a cookie":    {"/v1/health", ours, "Cookie: token=" + token},
		"a name that rebinds":      {"/v1/health", "Host: evil.example:" + port, bearer},
		"a name that begins alike": {"/v1/health", "Host: localhost.evil.example:" + port, bearer},
		"another port":             {"/v1/health", "Host: 127.0.0.1:1", bearer},
		"no port":                  {"/v1/health", "Host: 127.0.0.1", bearer},
		"a user before the host":   {"/v1/health", "Host: evil@" + address, bearer},
		"a whole address":          {"http://evil.example/v1/health", ours, bearer},
		"a foreign page":           {"/v1/health", ours, bearer, "Origin: https://evil.example"},
		"a page without an origin": {"/v1/health", ours, bearer, "Origin: null"},
		"a page of another port":   {"/v1/health", ours, bearer, "Origin: http://127.0.0.1:1"},
		"an extension":             {"/v1/health", ours, bearer, "Origin: chrome-extension://abcdefghijklmnop"},
		"a socket of a page":       append([]string{"/v1/bridge", ours, bearer, "Origin: https://evil.example"}, upgrade...),
		"a socket without a token": append([]string{"/v1/bridge", ours}, upgrade...),
		"a socket, token inside":   append([]string{"/v1/bridge", ours, "Sec-WebSocket-Protocol: " + token}, upgrade...),
	} {
		a := x.ask(address, "GET", do[0], "", do[1:]...)
		if a.status != 401 && a.status != 400 || strings.Contains(a.body, token) {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
		for _, h := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Set-Cookie"} {
			if a.header.Get(h) != "" {
				t.Errorf("%s: the answer has %s", what, h)
			}
		}
	}
	// A page may send this much without asking first, and still has no token.
	for _, method := range []string{"OPTIONS", "POST", "PUT"} {
		if a := x.ask(address, method, "/v1/call", `{"server":"fake","tool":"echo"}`, ours, "Origin: https://evil.example", "Access-Control-Request-Method: POST"); a.status != 401 {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
	// Who holds the token and no ticket is a stranger all the same.
	if a := x.ask(address, "POST", "/v1/stop", `{}`, ours, bearer); a.status != 403 {
		t.Errorf("the token alone stops the daemon: %d %s", a.status, a.body)
	}
	if a := x.get("/v1/leases"); strings.Contains(a.body, "fake") {
		t.Errorf("something was started: %s", a.body)
	}
}
