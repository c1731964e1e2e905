package run

import (
	"context"
	"encoding/json"
	"testing"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/outbound"
	"tenon/proto"
)

func TestAFetchIsACallOfTheRun(t *testing.T) {
	r := newRig(t)
	r.path.fetch = func(_ context.Context, req call.Request, q outbound.Request) (*outbound.Response, error) {
		req.OnStart(call.WebFetch, q.Method+" b.example") // where a redirect led
		return &outbound.Response{Status: 204, URL: q.URL}, nil
	}
	res := r.exec(proto.ExecRequest{MaxToolCalls: 1}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		got, err := h.Fetch(ctx, engine.FetchRequest{Method: "POST", URL: "https://a.example/x?key=hidden", Body: []byte("b")})
		if err != nil || got.Status != 204 {
			t.Errorf("%+v %v", got, err)
		}
		_, err = h.Fetch(ctx, engine.FetchRequest{URL: "https://a.example/"})
		if fault.KindOf(err) != fault.ToolCallLimitExceeded {
			t.Errorf("beyond the budget: %v", err)
		}
		return &engine.Outcome{Value: json.RawMessage("1")}
	})
	if len(res.Calls) != 1 || res.Calls[0].Server != "webfetch" || res.Calls[0].Tool != "POST b.example" || res.Calls[0].Status != "ok" {
		t.Errorf("%+v", res.Calls)
	}
}

func TestOnlyTheEmbeddedEngineHasFetchAndOnlyWhereHostsAreAllowed(t *testing.T) {
	for _, c := range []struct {
		hosts []string
		want  bool
	}{{nil, false}, {[]string{"a.example"}, true}} {
		r := newRig(t)
		r.view.Permissions.Net.Allow = c.hosts
		has := false
		r.exec(proto.ExecRequest{}, func(_ context.Context, p engine.Program, _ engine.Host) *engine.Outcome {
			has = p.Fetch
			return &engine.Outcome{}
		})
		if has != c.want {
			t.Errorf("%v: %v", c.hosts, has)
		}
	}
	if (&Run{}).fetches("node") {
		t.Error("a process has the fetch of its runtime")
	}
}
