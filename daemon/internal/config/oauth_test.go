package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

func TestTheLoginOfAnEntryIsReadAsEachHostWritesIt(t *testing.T) {
	w := newWorld(t)
	w.user(`{
	  "servers": {
	    "own": {"url": "https://h/mcp", "oauth": {"clientId": "id", "clientSecret": "${SECRET}", "scope": "a b", "callbackPort": 8976}},
	    "off": {"url": "https://h/mcp", "oauth": false},
	    "cimd": {"url": "https://h/mcp", "oauth": {"clientMetadataUrl": "https://me.example/tenon.json", "redirectUri": "http://localhost:1/cb"}}
	  },
	  "mcp": {
	    "one": {"type": "remote", "url": "https://h/mcp", "oauth": {"clientId": "id", "clientSecret": "s", "scope": "a b"}},
	    "two": {"type": "remote", "url": "https://h/mcp", "oauth": {"client_id": "id", "callback_port": 8976, "auth_server_metadata_url": "https://as/m"}}
	  },
	  "mcpServers": {
	    "claude": {"type": "http", "url": "https://h/mcp", "oauth": {"clientId": "id", "callbackPort": 8976, "scopes": "a b", "new": 1}},
	    "cursor": {"url": "https://h/mcp", "auth": {"CLIENT_ID": "id", "CLIENT_SECRET": "s", "scopes": ["a", "b"]}}
	  }}`)
	v := w.view()
	const back = "http://127.0.0.1:8976/callback"
	for name, want := range map[string]OAuth{
		"own":    {ClientID: "id", ClientSecret: "${SECRET}", Scope: "a b", Redirect: back},
		"off":    {Off: true},
		"cimd":   {Document: "https://me.example/tenon.json", Redirect: "http://localhost:1/cb"},
		"one":    {ClientID: "id", ClientSecret: "s", Scope: "a b"},
		"two":    {ClientID: "id", Redirect: back, Metadata: "https://as/m"},
		"claude": {ClientID: "id", Redirect: back, Scope: "a b"},
		"cursor": {ClientID: "id", ClientSecret: "s", Scope: "a b"},
	} {
		s := v.Servers[name]
		if s.OAuth == nil || !reflect.DeepEqual(*s.OAuth, want) || s.Problem != "" {
			t.Errorf("%s: %+v %s", name, s.OAuth, s.Problem)
		}
	}
	if notes := v.Servers["claude"].Notes; !slices.Equal(notes, []string{`key "new" of oauth is not used by tenon`}) {
		t.Errorf("notes: %v", notes)
	}
	d, err := v.Define("own", Env{"SECRET": "client-secret-7"}, Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	if d.OAuth.ClientSecret != "client-secret-7" || !slices.Contains(d.Secrets, "client-secret-7") {
		t.Errorf("expanded: %+v, secrets %v", d.OAuth, d.Secrets)
	}
	if _, err := v.Define("own", Env{}, Placeholders{}); fault.KindOf(err) != fault.ConfigError || !strings.Contains(err.Error(), "oauth.clientSecret") {
		t.Errorf("a missing variable: %v", err)
	}
}

func TestALoginThatCannotBeMadeIsAMistakeOfTheEntry(t *testing.T) {
	for entry, want := range map[string]string{
		`"url": "https://h/mcp", "oauth": true`:                                         "must be a false, or section",
		`"url": "https://h/mcp", "oauth": {"clientid": "x"}`:                            `nearest known key is "clientId"`,
		`"url": "https://h/mcp", "oauth": {"clientSecret": "x"}`:                        "needs oauth.clientId",
		`"url": "https://h/mcp", "oauth": {"redirectUri": "https://evil.example/cb"}`:   "must be a loopback address",
		`"url": "https://h/mcp", "oauth": {"redirectUri": "http://10.0.0.1:80/cb"}`:     "must be a loopback address",
		`"url": "https://h/mcp", "oauth": {"callbackPort": 70000}`:                      "no port",
		`"url": "https://h/mcp", "oauth": {"clientMetadataUrl": "http://me.example/x"}`: "https address with a path",
		`"command": ["sh"], "oauth": {"clientId": "x"}`:                                 "oauth is for servers with url",
	} {
		w := newWorld(t)
		w.user(`{"servers": {"s": {` + entry + `}}}`)
		_, err := w.store.View(w.project, "", nil)
		if err == nil || !strings.Contains(err.Error()+fault.From(err).Hint, want) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
}
