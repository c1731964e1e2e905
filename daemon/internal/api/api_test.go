package api

import (
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

func TestEachRouteReachesItsService(t *testing.T) {
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/v1/status", "", "status"},
		{"POST", "/v1/stop", "{}", "stop"},
		{"POST", "/v1/trust", `{"directory":"/p"}`, "trust"},
		{"GET", "/v1/presets", "", "presets"},
		{"POST", "/v1/presets", `{"name":"yolo"}`, "use yolo"},
		{"GET", "/v1/servers", "", "servers"},
		{"GET", "/v1/servers/a%2Fb", "", "server a/b"},
		{"GET", "/v1/servers/x?learn=true", "", "server x learnt"},
		{"POST", "/v1/servers/x/restart", "", "restart x"},
		{"GET", "/v1/auth", "", "logins"},
		{"DELETE", "/v1/servers/x/auth", "", "logout x"},
		{"GET", "/v1/search?query=q&limit=3", "", "search q"},
		{"GET", "/v1/catalog?budget=500&since=f", "", "catalog since f, start true"},
		{"GET", "/v1/catalog?noStart=true", "", "catalog since , start false"},
		{"GET", "/v1/types?path=fs&path=gh.get", "", `types ["fs" "gh.get"]`},
		{"GET", "/v1/sessions", "", "sessions"},
		{"POST", "/v1/sessions", `{"id":"w"}`, "create w"},
		{"DELETE", "/v1/sessions/s", "", "end s"},
		{"GET", "/v1/leases", "", "leases"},
		{"DELETE", "/v1/leases/l", "", "release l"},
		{"POST", "/v1/call", `{"server":"s","tool":"t","arguments":{"a":1}}`, "call s t"},
		{"GET", "/v1/runs?live=true", "", "runs"},
		{"GET", "/v1/runs/r", "", "run r"},
		{"GET", "/v1/runs/r/output", "", "output r"},
		{"POST", "/v1/runs/r/cancel", "", "cancel r"},
		{"GET", "/metrics", "", "metrics"},
		{"GET", "/v1/approvals", "", "approvals"},
		{"POST", "/v1/approvals/a", `{"decision":"always"}`, "always a"},
		{"POST", "/v1/questions/a", `{"result":{"action":"decline"}}`, `reply {"action":"decline"} a`},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			d := &double{}
			w := ask(t, newServer(d), c.method, c.path, c.body)
			if w.Code >= 300 {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if got := d.seen(); len(got) != 2 || got[1] != c.want {
				t.Errorf("work %q", got)
			}
			if w.Header().Get(proto.HeaderProtocol) != "1" || w.Header().Get(proto.HeaderBuild) == "" {
				t.Error("the answer lacks our half of the handshake")
			}
		})
	}
}

func TestListsAreNeverNull(t *testing.T) {
	for _, path := range []string{"servers", "sessions", "leases", "runs", "approvals", "auth"} {
		if got := ask(t, newServer(&double{}), "GET", "/v1/"+path, "").Body.String(); got != "[]\n" {
			t.Errorf("%s answers %s", path, got)
		}
	}
}

func TestAnotherProtocolIsRefusedBeforeAnyWork(t *testing.T) {
	for _, c := range []struct{ number, want string }{{"2", "this side is older"}, {"0", "the other side is older"}} {
		d := &double{}
		w := ask(t, newServer(d), "POST", "/v1/call", `{"server":"s","tool":"t"}`, proto.HeaderProtocol, c.number, proto.HeaderBuild, "9.9.9")
		p := problemOf(t, w)
		if p.Kind != string(fault.ProtocolMismatch) || !strings.Contains(p.Detail, c.want) || !strings.Contains(p.Detail, "9.9.9") {
			t.Errorf("got %+v", p)
		}
		if got := d.seen(); len(got) != 0 {
			t.Errorf("work was done: %q", got)
		}
	}
}

func TestANewerBuildIsServedAndNoticed(t *testing.T) {
	d := &double{}
	newer := local.OwnStamp()
	newer.ID, newer.Time = "other", newer.Time+1
	if w := ask(t, newServer(d), "GET", "/v1/servers", "", proto.HeaderProtocol, "1", proto.HeaderBuild, newer.String()); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if len(d.newer) != 1 {
		t.Errorf("noticed %v", d.newer)
	}
	ask(t, newServer(d), "GET", "/v1/servers", "", proto.HeaderProtocol, "1", proto.HeaderBuild, local.OwnStamp().String())
	if len(d.newer) != 1 {
		t.Error("our own build counted as newer")
	}
}

func TestMistakesInRequestsAreNamed(t *testing.T) {
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/v1/call", `{"server":"s","tol":"t"}`, "tool"},
		{"POST", "/v1/call", `{"server":"s","tool":"t","argumets":{}}`, "argumets"},
		{"POST", "/v1/call", `{"server":null,"tool":"t"}`, "server"},
		{"POST", "/v1/call", `{"server":"s","tool":"t"} {}`, "JSON"},
		{"POST", "/v1/exec", ``, "JSON"},
		{"POST", "/v1/approvals/a", `{"decision":"maybe"}`, "approve, always, deny"},
		{"POST", "/v1/trust", `{}`, "directory"},
		{"POST", "/v1/presets", `{}`, "name"},
		{"GET", "/v1/search?qery=x", "", "qery"},
		{"GET", "/v1/search?limit=-1", "", "limit"},
	} {
		t.Run(c.path+c.body, func(t *testing.T) {
			d := &double{}
			p := problemOf(t, ask(t, newServer(d), c.method, c.path, c.body))
			if p.Kind != string(fault.UsageError) || !strings.Contains(p.Detail+p.Hint, c.want) {
				t.Errorf("got %+v", p)
			}
			if got := d.seen(); len(got) != 1 {
				t.Errorf("work was done: %q", got)
			}
		})
	}
}

func TestAnUnknownFieldNamesTheNearest(t *testing.T) {
	p := problemOf(t, ask(t, newServer(&double{}), "POST", "/v1/exec", `{"code":"1","timeoutMS":3}`))
	if !strings.Contains(p.Hint, "timeoutMs") {
		t.Errorf("hint %q", p.Hint)
	}
}

func TestABodyIsBounded(t *testing.T) {
	big := `{"decision":"` + strings.Repeat("x", MaxBody) + `"}`
	p := problemOf(t, ask(t, newServer(&double{}), "POST", "/v1/approvals/a", big))
	if p.Kind != string(fault.UsageError) || !strings.Contains(p.Detail, "bytes") {
		t.Errorf("got %+v", p)
	}
}

func TestEveryKindBecomesItsProblem(t *testing.T) {
	for _, k := range fault.Kinds() {
		e := fault.New(k, "it broke").WithHint("mend it").At("srv", "tl")
		e.Data = []byte(`{"holders":[1]}`)
		p := problemOf(t, ask(t, newServer(&double{err: nil, caller: nil}).failing(e), "GET", "/v1/servers", ""))
		if p.Kind != string(k) || p.Message != "it broke" || p.Hint != "mend it" || p.Server != "srv" || string(p.Data) != `{"holders":[1]}` {
			t.Errorf("%s: %+v", k, p)
		}
	}
}

// failing makes every service of s answer e.
func (s *Server) failing(e error) *Server {
	s.o.Servers.(doubleServers).err = e
	s.o.Callers = always{s.o.Callers.(*double).caller}
	return s
}

func TestAPanicIsAnAnswerAndNotTheEnd(t *testing.T) {
	s := newServer(&double{})
	s.o.Servers = nil
	p := problemOf(t, ask(t, s, "GET", "/v1/servers", ""))
	if p.Kind != string(fault.InternalError) || strings.Contains(p.Detail, "nil pointer") {
		t.Errorf("got %+v", p)
	}
}

// The mux would redirect them, which no client of ours follows: somebody took "..",
// say, for the id of a run.
func TestAPathThatNoNameMakesIsNotThereEither(t *testing.T) {
	for _, path := range []string{"/v1/runs/..", "/v1/runs/.", "/v1/runs/%2e%2e", "/v1/scripts/../x", "/v1/scripts//x", "/v1/sessions/../../etc", "/v1/runs/x/../y"} {
		if p := problemOf(t, ask(t, newServer(&double{}), "GET", path, "")); p.Kind != string(fault.NotFound) || !strings.Contains(p.Message, "no route GET") {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

func TestAnUnknownRouteSaysSo(t *testing.T) {
	p := problemOf(t, ask(t, newServer(&double{}), "PUT", "/v1/exec", ""))
	if p.Kind != string(fault.NotFound) || !strings.Contains(p.Hint, "POST") {
		t.Errorf("got %+v", p)
	}
}

func TestOnlyAUserIsInteractive(t *testing.T) {
	for class, want := range map[peer.Class]bool{peer.User: true, peer.Agent: false, peer.Stranger: false} {
		d := &double{caller: &peer.Caller{Class: class}}
		ask(t, newServer(d), "GET", "/v1/servers", "", proto.HeaderInteractive, "1")
		if d.caller.Interactive != want {
			t.Errorf("%s: interactive %v", class, d.caller.Interactive)
		}
	}
}

func TestADrainingDaemonRefusesWorkAndAnswersTheRest(t *testing.T) {
	d := &double{}
	s := newServer(d)
	s.o.Gate.Close()
	for _, r := range Routes() {
		path := strings.NewReplacer("{name}", "x", "{id}", "x").Replace(r.Path)
		if path == "/v1/events" {
			continue // would stay open
		}
		w := ask(t, s, r.Method, path, "{}")
		if refused := w.Header().Get(proto.HeaderDraining) == "1"; refused != r.work {
			t.Errorf("%s %s: refused %v, status %d", r.Method, r.Path, refused, w.Code)
		}
		if r.work {
			if p := problemOf(t, w); p.Kind != string(fault.DaemonUnavailable) {
				t.Errorf("got %+v", p)
			}
		}
	}
}
