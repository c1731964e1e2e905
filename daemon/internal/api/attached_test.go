package api

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// running is a double whose runs have a result and one frame before it.
func running() *double {
	return &double{exec: func(context.Context, proto.ExecRequest) Run {
		return &fakeRun{frames: []proto.Frame{{Type: "start"}}, result: &proto.RunResult{OK: true}}
	}}
}

func TestAProgramThatBelongsBesideItsCallerIsNotRun(t *testing.T) {
	d := running()
	w := ask(t, newServer(d), "POST", "/v1/exec", `{"code":"1","engine":"deno","where":"auto"}`)
	if p := problemOf(t, w); p.Kind != string(fault.UsageError) || w.Header().Get(proto.HeaderAttach) != "1" {
		t.Errorf("%+v, %v", p, w.Header())
	}
	if got := d.seen(); slices.Contains(got, "exec 1") || !slices.Contains(got, "beside auto") {
		t.Errorf("work %q", got)
	}
	for _, body := range []string{`{"code":"1","engine":"deno"}`, `{"code":"1","engine":"deno","where":"remote"}`, `{"code":"1","where":"auto"}`} {
		d := running()
		if w := ask(t, newServer(d), "POST", "/v1/exec", body); w.Code != 200 || !slices.Contains(d.seen(), "exec 1") {
			t.Errorf("%s: %d, work %q", body, w.Code, d.seen())
		}
	}
	if w := ask(t, newServer(&double{}), "POST", "/v1/exec", `{"code":"1","where":"elsewhere"}`); w.Code != 400 {
		t.Errorf("an unknown place: %d", w.Code)
	}
}

func TestTheRouteOfAttachedRunsNeedsItsUpgrade(t *testing.T) {
	w := ask(t, newServer(&double{}), "GET", "/v1/exec/attached", "")
	if p := problemOf(t, w); p.Kind != string(fault.UsageError) || !strings.Contains(p.Message, "Upgrade: tenon-attached") {
		t.Errorf("%+v", p)
	}
}

func TestAnUpgradedConnectionCarriesOneRun(t *testing.T) {
	d := running()
	srv := httptest.NewServer(newServer(d))
	defer srv.Close()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(srv.URL, "http://"), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /v1/exec/attached HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: "+proto.UpgradeAttached+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get(proto.HeaderProtocol) != "1" {
		t.Fatalf("%+v, %v", res, err)
	}
	var frames []string
	c := attached.Caller{Frame: func(f proto.Frame) { frames = append(frames, f.Type) }}
	result, err := c.Run(t.Context(), conn, in, proto.ExecRequest{Code: "1"}, 10*time.Second)
	if err != nil || result == nil || len(frames) == 0 {
		t.Errorf("%+v, frames %v, %v", result, frames, err)
	}
	if !slices.Contains(d.seen(), "attached 1") {
		t.Errorf("work %q", d.seen())
	}
}
