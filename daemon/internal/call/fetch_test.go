package call

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/outbound"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// loopback resolves every name to the machine itself.
type loopback struct{}

func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// web gives the rig a network and a server, whose port it returns.
func (r *rig) web(h http.HandlerFunc) (port string) {
	r.t.Helper()
	s := httptest.NewServer(h)
	n := outbound.New(outbound.Options{Resolver: loopback{}})
	r.t.Cleanup(func() {
		n.Close()
		s.Close()
	})
	r.path.o.Network = n
	port = s.URL[strings.LastIndexByte(s.URL, ':')+1:]
	r.view.Permissions.Net = config.Net{Private: true, Allow: []string{"http://a.example:" + port, "http://b.example:" + port}}
	return port
}

func (r *rig) fetch(method, url string) (*outbound.Response, *fault.Error) {
	res, err := r.path.Fetch(r.t.Context(), r.request("", ""), outbound.Request{Method: method, URL: url})
	return res, fault.From(err)
}

func TestAFetchStandsBehindTheRulesLikeACall(t *testing.T) {
	r := newRig(t)
	served := 0
	port := r.web(func(http.ResponseWriter, *http.Request) { served++ })
	if _, err := r.fetch("GET", "http://a.example:"+port+"/x"); err != nil || served != 1 {
		t.Fatalf("%v, %d served", err, served)
	}
	for _, c := range []struct {
		pattern, action, method string
		kind                    fault.Kind
	}{
		{"webfetch", "deny", "GET", fault.PermissionDenied},
		{"webfetch", "ask", "GET", fault.ApprovalRequired}, // nobody is there
		{"*", "deny", "GET", fault.PermissionDenied},
		{"webfetch/POST *", "deny", "POST", fault.PermissionDenied},
		{"webfetch/POST *", "deny", "GET", ""},
		{"webfetch/* a.example:" + port, "deny", "GET", fault.PermissionDenied},
		{"webfetch/* b.example:" + port, "deny", "GET", ""},
	} {
		r.view.Permissions.Rules = nil
		r.rule(c.pattern, c.action)
		_, err := r.fetch(c.method, "http://a.example:"+port+"/x")
		if fault.KindOf(orNil(err)) != c.kind || err != nil && (err.Server != WebFetch || !strings.HasPrefix(err.Tool, c.method+" a.example")) {
			t.Errorf("%s %s: %+v, want %s", c.pattern, c.action, err, c.kind)
		}
	}
	r.view.Permissions.Rules = nil
	r.caller.Class = peer.Stranger
	if _, err := r.fetch("GET", "http://a.example:"+port+"/x"); err == nil || err.Kind != fault.PermissionDenied {
		t.Errorf("a stranger: %v", err)
	}
	r.rule("webfetch", "allow")
	if _, err := r.fetch("GET", "http://a.example:"+port+"/x"); err != nil {
		t.Errorf("a stranger with a rule: %v", err)
	}
}

func TestTheHostsRulesForWebfetchSeeTheURL(t *testing.T) {
	r := newRig(t)
	port := r.web(func(http.ResponseWriter, *http.Request) {})
	own := &bridge{id: "b", reply: func(context.Context, proto.Ask) (proto.AskReply, error) {
		return proto.AskReply{Reply: "unavailable"}, nil
	}}
	if _, err := r.manager.AddBridge(own); err != nil {
		t.Fatal(err)
	}
	s, _, err := r.manager.Attach(t.Context(), own, proto.Attach{Session: "ses_1", Directory: "/project", Rules: &proto.RuleList{Confirmed: true, Rules: []proto.Rule{
		{Permission: "*", Pattern: "*", Action: "ask"},
		{Permission: "webfetch", Pattern: "http://a.example:*", Action: "allow"},
		{Permission: "webfetch", Pattern: "http://a.example:" + port + "/secret*", Action: "deny"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r.session, r.caller = s, &peer.Caller{Class: peer.Agent, Session: s, Dir: "/project"}
	for url, kind := range map[string]fault.Kind{
		"http://a.example:" + port + "/open":     "",
		"http://a.example:" + port + "/secret/1": fault.PermissionDenied,
		"http://b.example:" + port + "/open":     fault.ApprovalRequired,
	} {
		_, err := r.fetch("GET", url)
		if got := fault.KindOf(orNil(err)); got != kind {
			t.Errorf("%s: %v, want %s", url, err, kind)
		}
	}
}

// orNil keeps a nil *fault.Error nil.
func orNil(e *fault.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func TestAnAskNamesTheRequestAndARedirectIsAskedForAnew(t *testing.T) {
	r := newRig(t)
	port := r.web(func(w http.ResponseWriter, q *http.Request) {
		if q.Host[0] == 'a' {
			http.Redirect(w, q, "http://b.example:"+q.Host[strings.IndexByte(q.Host, ':')+1:]+"/there", http.StatusTemporaryRedirect)
		}
	})
	r.rule("webfetch", "ask")
	var asks []proto.Ask
	req := r.request("", "")
	req.Bridge = &bridge{id: "b", human: true, reply: func(_ context.Context, a proto.Ask) (proto.AskReply, error) {
		asks = append(asks, a)
		if len(asks) == 2 {
			return proto.AskReply{Reply: "reject", Feedback: "not there"}, nil
		}
		return proto.AskReply{Reply: "once"}, nil
	}}
	_, err := r.path.Fetch(t.Context(), req, outbound.Request{Method: "POST", URL: "http://a.example:" + port + "/here?q=hunter2hunter2", Body: []byte("words")})
	failure := fault.From(err)
	if failure == nil || failure.Kind != fault.PermissionDenied || failure.Feedback != "not there" || failure.Tool != "POST b.example:"+port {
		t.Fatalf("%+v", failure)
	}
	r.history.Redactor().Add("hunter2hunter2")
	if len(asks) != 2 || asks[0].Key != "webfetch" || asks[0].Server != "webfetch" || asks[0].Tool != "POST a.example:"+port ||
		asks[0].Resource != "http://a.example:"+port+"/here?q=hunter2hunter2" || asks[1].Resource != "http://b.example:"+port+"/there" {
		t.Fatalf("%+v", asks)
	}
	var about map[string]string
	if err := json.Unmarshal(asks[0].Arguments, &about); err != nil || about["method"] != "POST" || about["body"] != "words" {
		t.Errorf("%s %v", asks[0].Arguments, err)
	}
}

func TestAnAlwaysOfAFetchIsForItsMethodAndHost(t *testing.T) {
	r := newRig(t)
	port := r.web(func(http.ResponseWriter, *http.Request) {})
	r.rule("webfetch", "ask")
	asked := 0
	get := func(method, host string) {
		t.Helper()
		req := r.request("", "")
		req.Bridge = &bridge{id: "b", human: true, reply: func(context.Context, proto.Ask) (proto.AskReply, error) {
			asked++
			return proto.AskReply{Reply: "always"}, nil
		}}
		if _, err := r.path.Fetch(t.Context(), req, outbound.Request{Method: method, URL: "http://" + host + ":" + port + "/"}); err != nil {
			t.Fatal(err)
		}
	}
	get("GET", "a.example")
	get("GET", "a.example")
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	get("POST", "a.example")
	get("GET", "b.example")
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

func TestHistoryKeepsAFetchWithoutWhatMayBeSecret(t *testing.T) {
	r := newRig(t)
	port := r.web(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	r.history.RunStarted(history.Run{ID: "run_1", Session: r.session.ID})
	if _, err := r.fetch("", "http://a.example:"+port+"/v1/x?token=tellnobody&page=2&justthis"); err != nil {
		t.Fatal(err)
	}
	_, _ = r.fetch("DELETE", "http://c.example/never")
	if err := r.history.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, name := range []string{"history.db", "history.db-wal"} { // as anybody would find it
		part, err := os.ReadFile(filepath.Join(r.state, name))
		if err != nil {
			t.Fatal(err)
		}
		text += string(part)
	}
	for _, want := range []string{"webfetch", "GET a.example:" + port, "/v1/x?token=…&page=…&…", `"status":418`, "DELETE c.example", "PermissionDenied"} {
		if !strings.Contains(text, want) {
			t.Errorf("history has no %q", want)
		}
	}
	if strings.Contains(text, "tellnobody") || strings.Contains(text, "justthis") {
		t.Error("a secret is kept")
	}
}

func TestAHostThatTheUserTakesAwayIsGoneAtOnce(t *testing.T) {
	r := newRig(t)
	port := r.web(func(http.ResponseWriter, *http.Request) {})
	now := *r.view
	now.Hash, now.Permissions.Net.Allow = "h2", []string{"http://b.example:" + port}
	r.current = &now
	if _, err := r.fetch("GET", "http://a.example:"+port+"/"); err == nil || err.Kind != fault.PermissionDenied || !strings.Contains(err.Hint, "net.allow") {
		t.Errorf("%+v", err)
	}
	if _, err := r.fetch("GET", "http://b.example:"+port+"/"); err != nil {
		t.Errorf("%+v", err)
	}
	r.view.Permissions.Net.Allow = nil
	if _, err := r.fetch("GET", "http://b.example:"+port+"/"); err == nil || err.Kind != fault.PermissionDenied {
		t.Errorf("%+v", err)
	}
}

func TestTheCatalogueNamesTheHostsOfFetch(t *testing.T) {
	r := newRig(t)
	text := func() string {
		t.Helper()
		c, err := r.path.Catalog(t.Context(), r.request("", ""), proto.CatalogQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Text
	}
	if got := text(); strings.Contains(got, "fetch(") {
		t.Errorf("without hosts: %s", got)
	}
	r.view.Permissions.Net.Allow = []string{"api.example.com", "*.docs.example.com"}
	if got := text(); !strings.Contains(got, "fetch(url, init) reaches api.example.com, *.docs.example.com.") {
		t.Errorf("%s", got)
	}
}
